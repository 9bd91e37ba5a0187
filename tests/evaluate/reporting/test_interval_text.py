"""Figures that say nothing of a model are called too few to tell."""

import pytest

from medrcube.evaluate.reporting.interval_text import (
    TOO_FEW,
    accuracy_text,
    accuracy_words,
    interval_or_few,
    interval_text,
)

ROW = {
    "small": False, "chance": 0.5, "interval": (0.4, 0.6), "interval_reason": None,
    "unit_kinds": {"patient": 31},
}  # fmt: skip


@pytest.mark.parametrize("change", [{"small": True}, {"chance": 1.0}])
def test_few_items_and_a_chance_of_one_are_too_few_to_tell(change):
    row = ROW | change
    assert interval_or_few(row) == TOO_FEW
    assert interval_text(row) == f"95 % interval 40.0 to 60.0, 31 patients; {TOO_FEW}"
    without = row | {"interval": None, "interval_reason": "the same in all"}
    assert interval_text(without) == f"no interval: the same in all (31 patients); {TOO_FEW}"


@pytest.mark.parametrize("chance", [None, 0.5, 0.97])
def test_other_figures_have_their_interval(chance):
    row = ROW | {"chance": chance}
    assert interval_or_few(row) == "40.0 to 60.0"
    assert TOO_FEW not in interval_text(row)


def test_an_incomplete_run_has_bounds_written_as_an_interval():
    row = {"accuracy": None, "bounds": (0.021, 0.958)}
    assert accuracy_text(row) == "2.1 to 95.8"
    assert accuracy_words(row) == "between 2.1 and 95.8 %"

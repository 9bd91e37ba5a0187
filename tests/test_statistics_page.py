"""The figures of the page on statistics are those of the simulation that is kept."""

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def simulation():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        return importlib.import_module("statistics_cover")
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def figures(simulation):
    return json.loads(simulation.RESULT.read_text(encoding="utf-8"))


def test_the_page_tells_what_the_simulation_found(simulation, figures):
    page = simulation.PAGE.read_text(encoding="utf-8")
    assert simulation.page_with(page, figures) == page


def test_intervals_hold_between_93_and_97_of_a_hundred(simulation, figures):
    for shape in ("demo", "full"):
        for level in simulation.LEVELS:
            assert 0.93 <= figures[shape]["cover"][level]["cover"] <= 0.97, (shape, level)


def test_a_winner_between_equal_models_is_named_in_at_most_six_of_a_hundred(simulation, figures):
    for shape in ("demo", "full"):
        assert all(figures[shape]["equal"][level]["named"] <= 0.06 for level in simulation.LEVELS)


def test_power_is_what_is_promised_within_two_points_as_far_as_the_draws_tell(simulation, figures):
    for shape in ("demo", "full"):
        within = 0.02 + simulation.unsure(figures, shape)
        assert abs(figures[shape]["power"]["found"] - 0.8) <= within

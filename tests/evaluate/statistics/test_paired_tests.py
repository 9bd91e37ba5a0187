"""Paired tests: published values, and properties that hold for any counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from medrcube.evaluate.statistics.intervals import SMALL
from medrcube.evaluate.statistics.paired_tests import (
    AnswerPair,
    adjust,
    benjamini_hochberg,
    holm,
    paired_metrics,
)
from medrcube.evaluate.statistics.power import FEWEST_FOR_POWER, minimum_detectable_effect

p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm_has_the_textbook_values():
    # Holm 1979 steps: 4 x .005, 3 x .01, 2 x .03, 1 x .04, never falling.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(p_lists)
def test_holm_lies_between_the_raw_value_and_bonferronis(ps):
    for raw, adjusted in zip(ps, holm(ps), strict=True):
        assert raw <= adjusted <= min(1.0, len(ps) * raw) + 1e-12


@given(p_lists)
def test_the_false_discovery_rate_is_scipys(ps):
    assert benjamini_hochberg(ps) == pytest.approx(list(false_discovery_control(ps)))


@given(p_lists, st.randoms())
def test_adjusting_does_not_depend_on_the_order(ps, chance):
    order = list(range(len(ps)))
    chance.shuffle(order)
    for method in (holm, benjamini_hochberg):
        whole = method(ps)
        assert method([ps[i] for i in order]) == pytest.approx([whole[i] for i in order])


pairs = st.lists(
    st.builds(AnswerPair, st.sampled_from("abcdefghijklmnop"), st.booleans(), st.booleans())
)


@given(pairs)
def test_the_numbers_of_a_group_fit_together(answers):
    row = paired_metrics(answers)
    if not answers:
        assert (row["difference"], row["mcnemar_p"], row["interval"]) == (None, None, None)
        return
    assert row["first"] - row["second"] == pytest.approx(row["difference"])
    assert row["only_first"] - row["only_second"] == pytest.approx(row["difference"] * row["n"])
    assert row["units"] == len({pair.unit for pair in answers})


@given(pairs)
def test_exchanging_the_sides_turns_the_sign(answers):
    row = paired_metrics(answers)
    other = paired_metrics([AnswerPair(c, second, first) for c, first, second in answers])
    assert (other["only_first"], other["only_second"]) == (row["only_second"], row["only_first"])
    assert other["mcnemar_p"] == row["mcnemar_p"]
    assert other["design_effect"] == pytest.approx(row["design_effect"])


def test_small_groups_are_not_tested():
    rows = [
        {"small": True, "mcnemar_p": 0.001},
        {"small": False, "mcnemar_p": 0.02},
        {"small": False, "mcnemar_p": 0.03},
    ]
    adjust(rows)
    assert [row["mcnemar_p_holm"] for row in rows] == [None, pytest.approx(0.04), 0.04]


def simulated(rng, pictures, each):
    """Two equally good sides that differ by picture: one is right on all, the other on none."""
    answer_pairs = []
    for picture in range(pictures):
        first = rng.random() < 0.5
        answer_pairs += [AnswerPair(str(picture), first, not first)] * each
    return answer_pairs


def test_units_that_sway_whole_groups_fool_neither_interval_nor_test():
    rng = np.random.default_rng(5)
    rows = [paired_metrics(simulated(rng, 30, 6)) for _ in range(200)]
    false_alarms = [row["interval"][0] > 0 or row["interval"][1] < 0 for row in rows]
    assert np.mean(false_alarms) <= 0.09
    assert np.mean([row["mcnemar_p"] < 0.05 for row in rows]) <= 0.09


def test_few_units_promise_no_power():
    rng = np.random.default_rng(5)
    few, many = (paired_metrics(simulated(rng, units, 2)) for units in (29, 120))
    assert few["minimum_detectable_effect"] is None
    assert many["minimum_detectable_effect"] > 0


@pytest.mark.parametrize(("n", "small"), [(SMALL - 1, True), (SMALL, False)])
def test_ten_pairs_are_no_small_group(n, small):
    answer_pairs = [AnswerPair(str(i), first=True, second=False) for i in range(n)]
    assert paired_metrics(answer_pairs)["small"] is small


def clustered(units=40):
    """Of 5 units with two questions the first side wins 3 and the second 1; and one of three."""
    answer_pairs = []
    for unit in range(units):
        first, second = unit % 5 != 3, unit % 5 > 2
        answer_pairs += [AnswerPair(str(unit), first, second)] * 2
    return [*answer_pairs, *[AnswerPair("large", first=True, second=False)] * 3]


def test_the_numbers_of_clustered_pairs_are_those_of_their_units():
    row = paired_metrics(clustered())
    assert (row["n"], row["units"], row["only_first"], row["only_second"]) == (83, 41, 51, 16)
    assert (row["first"], row["second"]) == (67 / 83, 32 / 83)
    mean = 35 / 83
    sums = [(2, 2)] * 24 + [(-2, 2)] * 8 + [(0, 2)] * 8 + [(3, 3)]
    spread = sum((total - mean * size) ** 2 / (1 - size / 83) for total, size in sums)
    design = spread / 83**2 / ((67 - 83 * mean**2) / (83 * 82))
    assert row["design_effect"] == pytest.approx(design)
    crowding = (40 * 4 + 9) / 83
    assert row["minimum_detectable_effect"] == minimum_detectable_effect(
        83, 67 / 83, row["design_effect"], crowding
    )
    assert row["interval"][0] > 0
    assert row["interval_reason"] is None


def test_thirty_units_are_enough_for_a_power_statement():
    assert (paired_metrics(clustered(28))["units"], FEWEST_FOR_POWER) == (29, 30)
    assert paired_metrics(clustered(28))["minimum_detectable_effect"] is None
    assert paired_metrics(clustered(29))["minimum_detectable_effect"] is not None


def test_a_difference_without_an_interval_says_why():
    never = [AnswerPair(str(i), first=True, second=True) for i in range(12)]
    row = paired_metrics(never)
    assert (row["interval"], row["mcnemar_p"], row["difference"]) == (None, 1, 0)
    assert "differ on too few" in row["interval_reason"]
    few = [AnswerPair("a", first=True, second=False)] * 12
    assert paired_metrics(few)["interval_reason"] == "fewer than 5 units"
    assert paired_metrics([])["interval_reason"] == "fewer than 5 units"

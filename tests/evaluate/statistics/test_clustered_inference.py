"""Intervals and tests of whole units: known values, laws, and their level."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import t as student

from medrcube.evaluate.statistics.clustered_inference import (
    FEWEST_UNITS,
    UnitTally,
    design_effect,
    difference_interval,
    effective_units,
    share_interval,
    sign_test,
    tallies,
    why_no_interval,
)
from medrcube.evaluate.statistics.intervals import Z_95, wilson, wilson_at

shares = st.lists(
    st.integers(1, 6).flatmap(
        lambda size: st.builds(UnitTally, st.integers(0, size), st.just(size))
    ),
    min_size=FEWEST_UNITS,
    max_size=40,
)
differences = st.lists(
    st.integers(1, 5).flatmap(
        lambda size: st.builds(UnitTally, st.integers(-size, size), st.just(size))
    ),
    min_size=1,
    max_size=10,
)


def by_case(rng, units, each, sd=1.5, middle=0.4):
    """Answers on units whose difficulty varies by ``sd`` logits."""
    chances = 1 / (1 + np.exp(-rng.normal(middle, sd, size=units)))
    return [UnitTally(int(k), each) for k in rng.binomial(each, chances)]


def expected(sd=1.5, middle=0.4):
    draws = np.random.default_rng(1).normal(middle, sd, size=400_000)
    return float(np.mean(1 / (1 + np.exp(-draws))))


@given(st.lists(st.booleans(), min_size=FEWEST_UNITS, max_size=60))
def test_single_answers_have_wilsons_interval(answers):
    units = [UnitTally(int(right), 1) for right in answers]
    assert share_interval(units) == pytest.approx(wilson(sum(answers), len(answers)))


@given(shares)
def test_the_interval_holds_the_share_and_stays_in_bounds(units):
    interval = share_interval(units)
    if interval is None:
        assert why_no_interval(units)
        return
    share = sum(unit.total for unit in units) / sum(unit.size for unit in units)
    assert 0 <= interval.low <= share + 1e-12
    assert share - 1e-12 <= interval.high <= 1
    assert interval.low < interval.high


@given(shares)
def test_right_and_wrong_are_mirrored(units):
    interval = share_interval(units)
    other = share_interval([UnitTally(unit.size - unit.total, unit.size) for unit in units])
    if interval is not None:
        assert other == pytest.approx((1 - interval.high, 1 - interval.low), abs=1e-9)


@given(shares, st.randoms())
def test_the_order_of_units_says_nothing(units, chance):
    turned = chance.sample(units, len(units))
    if (interval := share_interval(units)) is not None:
        assert share_interval(turned) == pytest.approx(interval)


def test_equal_answers_within_units_multiply_the_variance_by_their_size():
    assert design_effect([UnitTally(4 * (i % 2), 4) for i in range(400)]) == pytest.approx(
        4, rel=0.01
    )


def test_single_answers_have_no_design_effect():
    assert design_effect([UnitTally(int(i % 3 == 0), 1) for i in range(90)]) == pytest.approx(1)


@pytest.mark.parametrize("units", [[], [UnitTally(1, 2)], [UnitTally(2, 2)] * 5])
def test_a_design_effect_needs_units_that_differ(units):
    assert design_effect(units) is None


def test_few_units_and_one_that_outweighs_the_others_have_no_interval():
    few = [UnitTally(1, 2)] * (FEWEST_UNITS - 1)
    assert share_interval(few) is None
    assert why_no_interval(few) == "fewer than 5 units"
    heavy = [UnitTally(40, 80), *[UnitTally(1, 2)] * 9]
    assert effective_units(heavy) < 2
    assert share_interval(heavy) is difference_interval(heavy) is None
    assert "dominates" in str(why_no_interval(heavy))


@pytest.mark.parametrize("size", [1, 4])
def test_units_that_all_favour_one_side_have_the_score_interval_of_their_number(size):
    units = [UnitTally(size, size)] * 10
    t2 = students_quantile(units) ** 2 if size > 1 else Z_95**2
    assert difference_interval(units) == pytest.approx(((10 - t2) / (10 + t2), 1), rel=1e-3)


def test_one_mean_in_all_units_does_not_make_the_difference_certain():
    units = [UnitTally(2, 4)] * 40
    expected = wilson_at(0.5, 40, students_quantile(units))
    assert difference_interval(units) == pytest.approx(expected, rel=1e-3)


def test_the_interval_covers_a_difference_that_nearly_every_unit_shows():
    """Where one side wins nearly every question, most samples differ in no unit."""
    rng, covered = np.random.default_rng(3), 0
    for _ in range(400):
        wins = rng.binomial(2, 0.95, size=12)
        low, high = difference_interval([UnitTally(int(won), 2) for won in wins])
        covered += low <= 0.95 <= high
    assert covered >= 0.95 * 400


def test_a_difference_of_few_units_or_of_none_that_differs_has_no_interval():
    differ = [UnitTally(-1, 1), *[UnitTally(1, 1)] * (FEWEST_UNITS - 1)]
    assert difference_interval(differ) is not None
    assert difference_interval(differ[:-1]) is None
    assert difference_interval([UnitTally(0, 1)] * 40) is None
    assert difference_interval([]) is None


@pytest.mark.parametrize(("units", "each"), [(6, 4), (20, 3), (150, 5)])
def test_the_interval_of_a_share_holds_its_level_with_effects_of_the_case(units, each):
    rng, truth = np.random.default_rng(units), expected()
    share_intervals = [share_interval(by_case(rng, units, each)) for _ in range(600)]
    coverage = np.mean([interval.low <= truth <= interval.high for interval in share_intervals])
    assert 0.92 <= coverage <= 0.985


def test_an_interval_that_ignores_units_does_not():
    rng, truth = np.random.default_rng(4), expected()
    hits = []
    for _ in range(400):
        units = by_case(rng, 60, 6)
        low, high = wilson(sum(unit.total for unit in units), 360)
        hits.append(low <= truth <= high)
    assert np.mean(hits) < 0.85


@given(st.integers(0, 60), st.integers(0, 60))
def test_of_single_answers_the_test_is_mcnemars(first, second):
    units = [UnitTally(1, 1)] * first + [UnitTally(-1, 1)] * second + [UnitTally(0, 1)] * 3
    p = binomtest(first, first + second).pvalue if first + second else 1.0
    assert sign_test(units) == pytest.approx(p)


@given(differences)
def test_the_test_counts_every_way_of_exchanging_sides(units):
    totals = [unit.total for unit in units]
    ways = [
        abs(sum(sign * total for sign, total in zip(signs, totals, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(totals))
    ]
    p = sum(way >= abs(sum(totals)) for way in ways) / len(ways)
    assert sign_test(units) == pytest.approx(p)


def test_the_test_copes_with_thousands_of_units():
    units = [UnitTally(1, 1)] * 3000 + [UnitTally(-1, 2)] * 4000
    assert sign_test(units) == pytest.approx(binomtest(3000, 7000).pvalue, rel=1e-6)


@given(differences)
def test_exchanging_the_sides_mirrors_interval_and_keeps_the_test(units):
    turned = [UnitTally(-unit.total, unit.size) for unit in units]
    assert sign_test(turned) == pytest.approx(sign_test(units))
    first, second = difference_interval(units), difference_interval(turned)
    if first is None:
        assert second is None
    else:
        assert second == pytest.approx((-first.high, -first.low), abs=1e-9)


@given(st.lists(differences, min_size=2, max_size=4).map(lambda lists: [*itertools.chain(*lists)]))
def test_the_interval_of_a_difference_holds_the_difference(units):
    interval = difference_interval(units)
    if interval is not None:
        mean = sum(unit.total for unit in units) / sum(unit.size for unit in units)
        assert -1 <= interval.low <= mean + 1e-9
        assert mean - 1e-9 <= interval.high <= 1


def test_the_interval_of_a_difference_is_that_of_mcnemars_score_test():
    units = [UnitTally(1, 1)] * 30 + [UnitTally(-1, 1)] * 14 + [UnitTally(0, 1)] * 56
    low, high = difference_interval(units)
    n, mean, z = 100, 0.16, 1.959963984540054
    for bound in (low, high):
        spread = sum((unit.total - bound) ** 2 for unit in units)
        assert (n * (mean - bound)) ** 2 == pytest.approx(z * z * spread)


def test_answers_gather_by_unit():
    assert tallies([("a", 1), ("b", -1), ("a", 1), ("a", 0)]) == [UnitTally(2, 3), UnitTally(-1, 1)]


def unequal(rng, count=12):
    sizes = rng.integers(1, 6, size=count)
    return [UnitTally(int(rng.integers(0, size + 1)), int(size)) for size in sizes]


def cr2_over_independent(units):
    """Variance of the mean with residuals scaled by (I - H)^(-1/2), over that of single answers."""
    answers = [np.repeat([1.0, 0.0], [unit.total, unit.size - unit.total]) for unit in units]
    everyone = np.concatenate(answers)
    n = len(everyone)
    meat = 0.0
    for own in answers:
        values, vectors = np.linalg.eigh(np.eye(len(own)) - np.ones((len(own), len(own))) / n)
        scale = vectors @ np.diag(values**-0.5) @ vectors.T
        meat += float(np.sum(scale @ (own - everyone.mean()))) ** 2
    return meat / n**2 / (everyone.var(ddof=1) / n)


@pytest.mark.parametrize("seed", range(3))
def test_the_design_effect_is_the_cr2_variance_over_that_of_independent_answers(seed):
    units = unequal(np.random.default_rng(seed))
    assert design_effect(units) == pytest.approx(cr2_over_independent(units))


def test_two_units_have_a_design_effect():
    assert design_effect([UnitTally(1, 1), UnitTally(0, 1)]) == pytest.approx(1)


def test_the_design_effect_of_differences_takes_their_squares():
    """Values 1, -1 and 0, 1 and 1: their variance is not that of answers 0 and 1."""
    values = [[1], [-1, 0], [1, 1]]
    units = [UnitTally(sum(own), len(own)) for own in values]
    everyone = np.concatenate(values)
    spread = sum(
        (sum(own) - len(own) * everyone.mean()) ** 2 / (1 - len(own) / 5) for own in values
    )
    expected = spread / 25 / (everyone.var(ddof=1) / 5)
    assert design_effect(units, squares=4) == pytest.approx(expected)


def students_quantile(units):
    """The products within units decide the degrees of freedom."""
    n = sum(unit.size for unit in units)
    return student.ppf(0.975, n**2 / sum(unit.size * (unit.size - 1) for unit in units))


@pytest.mark.parametrize("seed", range(3))
def test_the_bounds_of_a_clustered_share_are_those_that_the_score_test_just_keeps(seed):
    units = unequal(np.random.default_rng(seed), 20)
    n = sum(unit.size for unit in units)
    share = sum(unit.total for unit in units) / n
    effective = n / max(1, cr2_over_independent(units))
    for bound in share_interval(units):
        distance = abs(share - bound) / np.sqrt(bound * (1 - bound) / effective)
        assert distance == pytest.approx(students_quantile(units), rel=1e-3)


def test_answers_that_cancel_out_within_units_count_as_independent():
    units = [UnitTally(1, 2)] * 20
    t = students_quantile(units)
    low, high = share_interval(units)
    half = t * np.sqrt(0.25 / 40 + t**2 / (4 * 40**2)) / (1 + t**2 / 40)
    assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-3)


def test_units_that_are_all_right_count_once_each():
    units = [UnitTally(4, 4)] * 10
    t = students_quantile(units)
    assert share_interval(units) == pytest.approx((10 / (10 + t**2), 1), rel=1e-3)


def test_the_bounds_of_a_clustered_difference_are_those_that_the_score_test_just_keeps():
    rng = np.random.default_rng(8)
    units = [UnitTally(int(rng.integers(-1, size + 1)), int(size)) for size in [1, 2, 3, 2] * 6]
    n, total = sum(unit.size for unit in units), sum(unit.total for unit in units)
    for bound in difference_interval(units):
        spread = sum((unit.total - bound * unit.size) ** 2 for unit in units)
        assert abs(total - n * bound) / np.sqrt(spread) == pytest.approx(
            students_quantile(units), rel=1e-3
        )


@pytest.mark.parametrize(("size", "is_bounded"), [(2, True), (3, False)])
def test_five_units_of_three_answers_bound_no_difference(size, is_bounded):
    """The score test keeps every difference: t^2 times the sum of squared sizes exceeds n^2."""
    units = [UnitTally(1, size), UnitTally(0, size), *[UnitTally(-1, size)] * 3]
    assert why_no_interval(units) is None
    assert (difference_interval(units) is not None) is is_bounded


def test_five_units_are_enough_for_an_interval():
    assert FEWEST_UNITS == 5
    assert why_no_interval([UnitTally(1, 2)] * 5) is None
    assert effective_units([UnitTally(0, 1), UnitTally(0, 3)]) == pytest.approx(16 / 10)
    assert effective_units([]) == 0

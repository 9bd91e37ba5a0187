"""Formulas against textbook values and laws that hold for all counts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from scipy.stats import t as student

from medrcube.evaluate.statistics.intervals import (
    SMALL,
    Z_95,
    chance_corrected,
    mean,
    one_sided_difference,
    ratio,
    t_quantile,
    wilson,
    wilson_at,
)

counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe, Stat Med 1998;17:857-872, table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_has_the_published_values(successes, n, low, high):
    assert wilson(successes, n) == pytest.approx((low, high), abs=5e-5)


@given(counts)
def test_the_interval_holds_the_proportion_and_stays_in_bounds(count):
    successes, n = count
    low, high = wilson(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    assert low < high


@given(counts)
def test_the_interval_is_mirrored_by_the_failures(count):
    successes, n = count
    low, high = wilson(successes, n)
    assert wilson(n - successes, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(counts)
def test_more_of_the_same_narrows_the_interval(count):
    successes, n = count
    few, many = wilson(successes, n), wilson(successes * 4, n * 4)
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (0, 0), (-1, 3), (4, 3)])
def test_impossible_counts_are_refused(successes, n):
    with pytest.raises(ValueError, match="expected"):
        wilson(successes, n)


def test_undefined_stays_undefined():
    assert (ratio(0, 0), mean([])) == (None, None)


@pytest.mark.parametrize("freedom", [5, 9, 15, 40, 1000])
def test_the_quantile_is_students(freedom):
    assert t_quantile(freedom) == pytest.approx(student.ppf(0.975, freedom), abs=1e-3)


@pytest.mark.parametrize("freedom", [20, 35])
@pytest.mark.parametrize("probability", [0.9, 0.975, 0.999])
def test_the_error_of_the_quantile_falls_with_the_fifth_power_of_the_degrees(freedom, probability):
    """All four terms of the expansion are right: a wrong one leaves an error of its own power."""
    near, far = (
        t_quantile(f, probability) - student.ppf(probability, f) for f in (freedom, 2 * freedom)
    )
    assert math.log2(near / far) == pytest.approx(5, abs=0.3)


@pytest.mark.parametrize(
    ("value", "by_chance", "expected"),
    [(0.25, 0.25, 0), (1, 0.25, 1), (0, 0.5, -1), (None, 0.5, None), (1, 1, None)],
)
def test_chance_is_taken_off(value, by_chance, expected):
    assert chance_corrected(value, by_chance) == expected


@pytest.mark.parametrize(
    ("share", "n"),
    [(0.9999999999999998, 367124.4643032566), (0.9999999999999999, 875534.368700915)],
)
def test_rounding_takes_no_bound_beyond_its_end(share, n):
    assert wilson_at(share, n).high == 1
    low, high = wilson_at(1 - share, n)
    assert 0 <= low < high < 1


def test_constants_are_those_of_the_documentation():
    assert norm.ppf(0.975) == pytest.approx(Z_95, abs=1e-15)
    assert SMALL == 10


@given(counts.filter(lambda count: 0 < count[0] < count[1]))
def test_the_bounds_are_those_that_the_score_test_just_keeps(count):
    successes, n = count
    for bound in wilson_at(successes / n, n, 2.5):
        spread = math.sqrt(bound * (1 - bound) / n)
        assert abs(successes / n - bound) / spread == pytest.approx(2.5, rel=1e-6)


def test_means_ratios_and_unknown_chances():
    assert mean(iter([1.0, 2.0, 6.0])) == 3
    assert (ratio(0, 4), ratio(3, 4)) == (0, 0.75)
    assert chance_corrected(0.5, None) is chance_corrected(None, None) is None
    assert chance_corrected(0.7, 0.25) == pytest.approx(0.6)


def test_the_last_term_of_the_quantile_is_that_of_the_handbook():
    """It outgrows the others where the degrees of freedom are next to none (26.7.5, g4)."""
    z = norm.ppf(0.9)
    odd_powers = (79, 776, 1482, -1920, -945)
    expected = sum(
        factor * z**power for factor, power in zip(odd_powers, (9, 7, 5, 3, 1), strict=True)
    )
    freedom = 1e-9
    assert t_quantile(freedom, 0.9) * freedom**4 * 92160 == pytest.approx(expected, rel=1e-6)


def tango(wins: float, n: float, difference: float) -> float:
    """Score of a difference without losses (Tango, Stat Med 1998;17:891-908, equation 3.4)."""
    b = -wins + (2 * n - wins) * difference
    losses = max(0.0, -b / (2 * n))
    return (wins - n * difference) / math.sqrt(
        n * (2 * losses + difference * (1 - difference)),
    )


@pytest.mark.parametrize("n", [5, 12.5, 200])
@pytest.mark.parametrize("share", [0.04, 0.25, 0.5, 0.9, 1])
def test_the_bounds_of_a_one_sided_difference_are_those_that_the_score_test_just_keeps(share, n):
    low, high = one_sided_difference(share, n)
    assert tango(share * n, n, low) == pytest.approx(Z_95)
    assert share == high or tango(share * n, n, high) == pytest.approx(-Z_95)
    assert one_sided_difference(-share, n) == (-high, -low)

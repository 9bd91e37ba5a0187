"""Formulas against textbook values and laws that hold for all counts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate.statistics.formulas import (
    chance,
    chance_corrected,
    clopper_pearson,
    design_effect,
    mean,
    proportion_interval,
    ratio,
    wilson,
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
    assert (ratio(0, 0), mean([]), chance([])) == (None, None, None)


@given(st.lists(st.integers(2, 4), min_size=1))
def test_chance_lies_between_the_extremes(option_counts):
    found = chance(option_counts)
    assert found is not None
    assert 1 / max(option_counts) - 1e-12 <= found <= 1 / min(option_counts) + 1e-12


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe, Stat Med 1998;17:857-872, table I, method 5.
    [
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_the_exact_interval_has_the_published_values(successes, n, low, high):
    assert clopper_pearson(successes, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_exact_interval_is_the_one_of_the_beta_distribution(count):
    special = pytest.importorskip("scipy.special")
    k, n = count
    low = 0.0 if k == 0 else special.betaincinv(k, n - k + 1, 0.025)
    high = 1.0 if k == n else special.betaincinv(k + 1, n - k, 0.975)
    assert clopper_pearson(k, n) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize("n", [5, 12, 29])
def test_the_exact_interval_never_falls_short_of_its_level(n):
    intervals = [clopper_pearson(k, n) for k in range(n + 1)]
    for p in (i / 100 for i in range(1, 100)):
        held = sum(
            math.comb(n, k) * p**k * (1 - p) ** (n - k)
            for k, (low, high) in enumerate(intervals)
            if low <= p <= high
        )
        assert held >= 0.95


def test_the_method_is_named_and_changes_with_the_number():
    assert proportion_interval(3, 29) == (clopper_pearson(3, 29), "clopper-pearson")
    assert proportion_interval(3, 30) == (wilson(3, 30), "wilson")


def test_equal_answers_within_clusters_multiply_the_variance_by_their_size():
    rows = [(4.0 * (i % 2), 4.0, 4.0 * (i % 2)) for i in range(400)]
    assert design_effect(rows) == pytest.approx(4, rel=0.01)


def test_single_items_have_no_design_effect():
    rows = [(float(i % 3 == 0), 1.0, float(i % 3 == 0)) for i in range(90)]
    assert design_effect(rows) == pytest.approx(1)


@pytest.mark.parametrize("rows", [[], [(1.0, 2.0, 1.0)], [(2.0, 2.0, 2.0)] * 5])
def test_a_design_effect_needs_clusters_that_differ(rows):
    assert design_effect(rows) is None


@pytest.mark.parametrize(
    ("value", "by_chance", "expected"),
    [(0.25, 0.25, 0), (1, 0.25, 1), (0, 0.5, -1), (None, 0.5, None), (1, 1, None)],
)
def test_chance_is_taken_off(value, by_chance, expected):
    assert chance_corrected(value, by_chance) == expected

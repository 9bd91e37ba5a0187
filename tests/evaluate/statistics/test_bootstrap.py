"""Bootstrap of units: whole units are drawn, and few of them have no interval."""

from __future__ import annotations

import hashlib
import math
import random

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from medrcube.evaluate.statistics.bootstrap import (
    FEWEST_CLUSTERS,
    RESAMPLES,
    divide_or_nan,
    expanded_tail,
    percentile_interval,
    resampled,
)


def test_a_draw_has_as_many_pictures_as_there_are():
    sums = resampled([(1, 1, 0), (0, 1, 3), (0, 1, 3)])
    assert sums.shape == (RESAMPLES, 3)
    assert set(sums[:, 1]) == {3}
    assert (sums[:, 0] * 3 + sums[:, 2] == 9).all()


def test_drawing_kinds_is_drawing_pictures():
    rows = [(1, 2), (2, 2), (0, 1), (1, 1), (0, 1)]
    kinds = resampled(rows, 20_000)
    single = np.array(rows)[np.random.default_rng(1).integers(0, 5, size=(20_000, 5))].sum(axis=1)
    assert kinds.mean(axis=0) == pytest.approx(single.mean(axis=0), rel=0.02)
    assert np.cov(kinds.T) == pytest.approx(np.cov(single.T), rel=0.06)


def test_equal_counts_give_equal_draws_in_any_order():
    rows = [(random.Random(i).randint(0, 3), 3) for i in range(50)]
    turned = random.Random(1).sample(rows, len(rows))
    assert (resampled(rows) == resampled(turned)).all()


def test_few_units_have_no_interval():
    values = np.linspace(0, 1, 100)
    assert percentile_interval(values, FEWEST_CLUSTERS) is not None
    assert percentile_interval(values, FEWEST_CLUSTERS - 1) is None


def test_what_never_changes_has_no_interval():
    assert percentile_interval(np.ones(100), 50) is None


def test_what_is_often_undefined_has_no_interval():
    values = np.linspace(0, 1, 100)
    values[:10] = np.nan
    assert percentile_interval(values, 50) is None
    assert percentile_interval(values[8:], 50) is not None


@pytest.mark.parametrize(("undefined", "expected"), [(5, True), (6, False)])
def test_a_statistic_may_be_undefined_in_one_draw_of_twenty(undefined, expected):
    values = np.linspace(0, 1, 100)
    values[:undefined] = np.nan
    assert (percentile_interval(values, 50) is not None) is expected


def test_many_pictures_need_no_widening():
    assert expanded_tail(100_000) == pytest.approx(0.025, abs=1e-4)
    # Normal tail beyond sqrt(n / (n - 1)) times the t quantile, 2.262 and 2.093.
    assert expanded_tail(10) == pytest.approx(0.0086, abs=1e-3)
    assert expanded_tail(20) == pytest.approx(0.0159, abs=1e-3)


def test_the_draws_are_many_and_the_same_on_every_machine():
    """A new version or machine gives a published run the interval that it had."""
    assert RESAMPLES == 2000
    kinds = [((0.0, 1.0), 2), ((1.0, 2.0), 1)]
    seed = int.from_bytes(hashlib.sha256(repr(kinds).encode()).digest()[:8])
    draws = np.random.default_rng(seed).multinomial(3, [2 / 3, 1 / 3], size=4)
    assert (resampled([(0, 1), (1, 2), (0, 1)], 4) == draws @ [[0, 1], [1, 2]]).all()


@pytest.mark.parametrize("units", [10, 25, 60])
def test_the_interval_is_that_of_the_expanded_percentiles(units):
    tail = norm.cdf(-math.sqrt(units / (units - 1)) * student.ppf(0.975, units - 1))
    assert expanded_tail(units) == pytest.approx(tail, rel=1e-3)
    interval = percentile_interval(np.linspace(0, 1, 1001), units)
    assert interval == pytest.approx((tail, 1 - tail), abs=1e-4)


def test_a_ratio_over_nothing_is_undefined():
    top, bottom = np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])
    assert divide_or_nan(top, bottom).tolist() == pytest.approx([0.5, np.nan, np.nan], nan_ok=True)

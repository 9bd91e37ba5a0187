"""The exact test of units with many items: equal to a plain convolution, and bounded in cost."""

from __future__ import annotations

import random

import numpy as np
import pytest

from medrcube.evaluate.statistics.clustered_inference import UnitTally, sign_test


def tallies_of(count, seed):
    draw = random.Random(seed)
    return [UnitTally(draw.choice((-3, -2, -1, 0, 1, 1, 2, 4)), 5) for _ in range(count)]


def by_plain_convolution(units):
    lengths = [abs(unit.total) for unit in units if unit.total]
    weights = np.ones(1)
    for length in lengths:
        step = np.zeros(2 * length + 1)
        step[0] = step[-1] = 0.5
        weights = np.convolve(weights, step)
    observed = abs(sum(unit.total for unit in units))
    return min(1.0, 2 * float(weights[sum(lengths) + observed :].sum()))


@pytest.mark.parametrize("seed", range(4))
def test_p_equals_that_of_a_plain_convolution(seed):
    units = tallies_of(200, seed)
    assert sign_test(units) == pytest.approx(by_plain_convolution(units), rel=1e-12, abs=0)


def test_units_that_all_differ_one_way_have_the_smallest_p():
    units = [UnitTally(1 + number % 3, 5) for number in range(60)]
    assert sign_test(units) == pytest.approx(2 * 0.5**60, rel=1e-12)


def test_a_difference_beyond_the_smallest_float_has_p_zero():
    assert sign_test([UnitTally(2, 5)] * 2000) == 0

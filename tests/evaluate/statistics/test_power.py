"""Power is that of the test itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from medrcube.evaluate.statistics.power import (
    ALPHA,
    FEWEST_FOR_POWER,
    POWER,
    minimum_detectable_effect,
    power,
)


def trials(n, discordance, difference, count, seed=3):
    """Wins of each side in so many comparisons of single answers."""
    p = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
    return np.random.default_rng(seed).multinomial(n, p, size=count)[:, :2]


@pytest.mark.few(1)
@pytest.mark.parametrize(("n", "discordance"), [(60, 0.4), (600, 0.3), (7626, 0.2)])
def test_the_detectable_effect_is_found_in_four_of_five_trials(n, discordance):
    effect = minimum_detectable_effect(n, discordance)
    wins = trials(n, discordance, effect, 4000)
    cache = {}
    for a, b in map(tuple, wins.tolist()):
        if (a, b) not in cache:
            cache[a, b] = binomtest(a, a + b).pvalue < 0.05
    mean = np.mean([cache[a, b] for a, b in map(tuple, wins.tolist())])
    assert mean == pytest.approx(POWER, abs=0.02)


@given(st.integers(1, 400), st.floats(0.02, 0.9))
def test_equal_sides_are_told_apart_in_at_most_five_of_a_hundred(n, discordance):
    assert 0 <= power(n, discordance, 0.0) <= 0.05 + 1e-9


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 6, 0.05 / 45, 0.05 / 1225])
@pytest.mark.parametrize("n", [20, 90, 400])
def test_power_is_that_of_the_exact_test_at_its_level(n, alpha):
    discordance, difference = 0.5, 0.25
    winning = (discordance + difference) / (2 * discordance)
    expected = 0.0
    for differ in range(1, n + 1):
        p = binom.cdf(np.minimum(wins := np.arange(differ + 1), differ - wins), differ, 0.5)
        refused = wins[2 * p <= alpha]
        expected += binom.pmf(differ, n, discordance) * binom.pmf(refused, differ, winning).sum()
    assert power(n, discordance, difference, alpha) == pytest.approx(expected, abs=1e-6)


@given(st.integers(30, 400), st.floats(0.05, 0.9), st.floats(0, 0.9))
def test_larger_differences_are_found_more_often(n, discordance, share):
    smaller, larger = share * discordance * 0.9, share * discordance
    assert power(n, discordance, smaller) <= power(n, discordance, larger) + 1e-9


def test_units_make_small_effects_harder_to_find():
    assert minimum_detectable_effect(400, 0.3, 4) == minimum_detectable_effect(100, 0.3)
    assert minimum_detectable_effect(400, 0.3, 0.5) == minimum_detectable_effect(400, 0.3)


@pytest.mark.parametrize(("n", "discordance"), [(0, 0.5), (100, 0), (10, 0.05)])
def test_too_little_to_find_anything_is_said(n, discordance):
    assert minimum_detectable_effect(n, discordance) is None


def test_a_p_value_that_equals_the_level_is_refused():
    """Five wins of five have p = 2 / 2^5."""
    assert power(5, 1.0, 1.0, alpha=2 / 2**5) == pytest.approx(1)
    assert power(5, 1.0, 1.0, alpha=0.99 * 2 / 2**5) == 0


@pytest.mark.parametrize("crowding", [1.5, 3])
def test_a_true_difference_widens_the_spread_of_crowded_units(crowding):
    plain = minimum_detectable_effect(400, 0.3)
    assert minimum_detectable_effect(400, 0.3, 1, crowding) > plain
    assert minimum_detectable_effect(400, 0.3, crowding, crowding) == minimum_detectable_effect(
        400, 0.3, crowding
    )


def test_levels_are_those_of_the_documentation():
    assert (POWER, ALPHA, FEWEST_FOR_POWER) == (0.8, 0.05, 30)


@pytest.mark.parametrize(("design", "crowding"), [(1, 1), (2.5, 1), (1.6, 4), (0.5, 3)])
def test_the_detectable_effect_is_where_the_power_passes_four_fifths(design, crowding):
    n, discordance = 600, 0.3
    effect = minimum_detectable_effect(n, discordance, design, crowding)

    def reached(difference):
        design_at_least_1 = max(1, design)
        wider = max(0, crowding / design_at_least_1 - 1) / discordance
        worth = n / design_at_least_1 / (1 + wider * difference**2)
        return power(worth, discordance, difference)

    assert reached(effect) >= POWER
    assert reached(effect - discordance / 2**19) < POWER
    stricter = minimum_detectable_effect(n, discordance, design, crowding, alpha=0.005)
    assert stricter > effect


def test_even_a_part_of_a_pair_counts_as_one_pair():
    """At the level 1 every discordant pair is a finding."""
    assert power(0.2, 0.4, 0.1, alpha=1.0) == pytest.approx(0.4)
    assert power(1, 0.4, 0.1, alpha=1.0) == pytest.approx(0.4)


def test_few_pairs_that_all_differ_one_way_are_found_from_six_on():
    """Six wins of six have p = 2 / 2^6 < 5 %, five of five have not."""
    assert minimum_detectable_effect(5, 1.0) is None
    assert minimum_detectable_effect(6, 1.0) == pytest.approx(2 * POWER ** (1 / 6) - 1, abs=1e-2)

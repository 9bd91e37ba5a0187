"""Paired tests: published values, and properties that hold for any counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control

from medrcube.evaluate.statistics.paired import (
    Pair,
    adjust,
    benjamini_hochberg,
    holm,
    mcnemar,
    minimum_detectable_effect,
    paired_metrics,
)

few = st.integers(0, 60)
p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@given(few, few)
def test_mcnemar_is_the_sign_test_of_the_pairs_that_differ(b, c):
    expected = binomtest(b, b + c).pvalue if b + c else 1.0
    assert mcnemar(b, c) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("b", "c", "p"),
    # First: Fagerland, Lydersen, Laake, BMC Med Res Methodol 2013;13:91, table 1.
    [(1, 7, 0.0703), (0, 5, 0.0625), (0, 0, 1), (10, 10, 1), (0, 6, 0.03125)],
)
def test_mcnemar_has_known_values(b, c, p):
    assert mcnemar(b, c) == pytest.approx(p, abs=5e-5)


def test_mcnemar_copes_with_thousands_of_pairs():
    assert mcnemar(3000, 4000) == pytest.approx(binomtest(3000, 7000).pvalue, rel=1e-9)


def test_a_negative_count_is_refused():
    with pytest.raises(ValueError, match="no negative"):
        mcnemar(-1, 2)


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


def test_the_detectable_effect_solves_connors_sample_size():
    # Connor 1987: n = (z_a sqrt(q) + z_b sqrt(q - d^2))^2 / d^2; q = 0.4, d = 0.2 gives n = 76.1.
    assert minimum_detectable_effect(77, 0.4) == pytest.approx(0.2, abs=0.002)


def test_the_detectable_effect_is_found_in_four_of_five_trials():
    rng = np.random.default_rng(3)
    n, discordance = 600, 0.3
    effect = minimum_detectable_effect(n, discordance)
    p = [(discordance + effect) / 2, (discordance - effect) / 2, 1 - discordance]
    found = [mcnemar(int(b), int(c)) < 0.05 for b, c, _ in rng.multinomial(n, p, size=1500)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.035)


def test_clustering_makes_small_effects_harder_to_find():
    assert minimum_detectable_effect(400, 0.3, 4) == minimum_detectable_effect(100, 0.3)
    assert minimum_detectable_effect(400, 0.3, 0.5) == minimum_detectable_effect(400, 0.3)


@pytest.mark.parametrize(("n", "discordance"), [(0, 0.5), (100, 0), (10, 0.05)])
def test_too_little_to_find_anything_is_said(n, discordance):
    assert minimum_detectable_effect(n, discordance) is None


pairs = st.lists(st.builds(Pair, st.sampled_from("abcdefghijklmnop"), st.booleans(), st.booleans()))


@given(pairs)
def test_the_numbers_of_a_group_fit_together(found):
    row = paired_metrics(found)
    if not found:
        assert (row["difference"], row["mcnemar_p"], row["interval"]) == (None, None, None)
        return
    assert row["first"] - row["second"] == pytest.approx(row["difference"])
    assert row["only_first"] - row["only_second"] == pytest.approx(row["difference"] * row["n"])
    assert row["clusters"] == len({pair.cluster for pair in found})


@given(pairs)
def test_exchanging_the_sides_turns_the_sign(found):
    row = paired_metrics(found)
    other = paired_metrics([Pair(c, second, first) for c, first, second in found])
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
    found = []
    for picture in range(pictures):
        first = rng.random() < 0.5
        found += [Pair(str(picture), first, not first)] * each
    return found


def test_pictures_that_sway_whole_groups_do_not_fool_the_interval():
    rng = np.random.default_rng(5)
    rows = [paired_metrics(simulated(rng, 30, 6)) for _ in range(200)]
    false_alarms = [row["interval"][0] > 0 or row["interval"][1] < 0 for row in rows]
    assert np.mean(false_alarms) <= 0.09
    assert np.mean([row["mcnemar_p"] < 0.05 for row in rows]) > 0.3

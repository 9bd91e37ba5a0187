"""Intervals and tests of sets that share patients."""

import random

import pytest

from medrcube.evaluate.statistics.clustered_inference import (
    design_effect,
    difference_interval,
    share_interval,
    sign_test,
    tallies,
)
from medrcube.evaluate.statistics.set_inference import SetScore, SharedSets

LOTS = random.Random(0)


def clustered(values=(0, 1)):
    """Sets of one unit each, as (unit, value)."""
    return [(f"p{LOTS.randrange(30)}", LOTS.choice(values)) for _ in range(80)]


def shared(members):
    return SharedSets(SetScore(frozenset([unit]), value) for unit, value in members)


def test_sets_of_one_unit_each_have_the_interval_of_clustered_answers():
    members = clustered()
    assert shared(members).design_effect() == pytest.approx(design_effect(tallies(members)))
    assert shared(members).share_interval() == pytest.approx(share_interval(tallies(members)))


def test_sets_of_one_unit_each_have_the_interval_of_clustered_differences():
    members = clustered((-1, 0, 1))
    expected = difference_interval(tallies(members))
    assert shared(members).difference_interval() == pytest.approx(expected)


@pytest.mark.parametrize("values", [(1,), (-1, -1), (1, 0)])
def test_a_difference_that_is_the_same_for_every_patient_has_the_interval_of_clustered_answers(
    values,
):
    members = [(f"p{n}", value) for n in range(20) for value in values]
    low, high = shared(members).difference_interval()
    assert (low, high) == pytest.approx(difference_interval(tallies(members)))
    assert high - low > 0.2


def test_sets_that_share_a_patient_widen_the_interval():
    alike = [(frozenset([f"p{n // 4}", f"q{n}"]), int(n // 4 % 2)) for n in range(80)]
    apart = [(frozenset([f"p{n}", f"q{n}"]), value) for n, (_, value) in enumerate(alike)]
    wide, narrow = (
        SharedSets(SetScore(*entry) for entry in sets).share_interval() for sets in (alike, apart)
    )
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_there_is_no_interval_where_all_sets_share_a_patient():
    sets = SharedSets(SetScore(frozenset(["p", f"q{n}"]), n % 2) for n in range(50))
    assert sets.share_interval() is None
    assert sets.why_no_interval() == "too many of 50 sets share patients"


def test_few_sets_have_no_interval():
    sets = SharedSets(SetScore(frozenset([f"p{n}"]), n % 2) for n in range(4))
    assert (sets.share_interval(), sets.why_no_interval()) == (None, "fewer than 5 sets")


def test_mcnemar_is_exact_where_no_set_shares_a_patient():
    members = [(f"p{n}", value) for n, value in enumerate([1] * 9 + [-1] * 2 + [0] * 20)]
    assert shared(members).mcnemar() == pytest.approx(sign_test(tallies(members)))


def test_sets_that_share_a_patient_weigh_less_in_mcnemar():
    values = [1] * 12 + [-1] * 2
    apart = shared([(f"p{n}", value) for n, value in enumerate(values)])
    alike = shared([(f"p{n // 6}", value) for n, value in enumerate(values)])
    assert apart.mcnemar() < 0.02
    assert alike.mcnemar() > 0.05


def test_without_a_differing_set_there_is_no_difference():
    sets = shared([(f"p{n}", 0) for n in range(10)])
    assert (sets.mcnemar(), sets.difference_interval()) == (1.0, None)


def test_no_set_at_all_is_no_error():
    assert SharedSets([]).why_no_interval() == "fewer than 5 sets"
    assert SharedSets([]).effective == 0.0


def test_sets_that_share_patients_in_a_ring_have_no_design_effect_below_zero():
    ring = [SetScore(frozenset({str(n), str((n + 1) % 8)}), n % 2) for n in range(8)]
    assert SharedSets(ring).design_effect() == 0

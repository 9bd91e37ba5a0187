"""Runs share a letter exactly where no test tells them apart."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.ranking import compact_letters, ranking

COUNT = 6
PAIRS = list(itertools.combinations(range(COUNT), 2))


@given(st.sets(st.sampled_from(PAIRS)))
def test_two_share_a_letter_exactly_where_they_are_not_apart(apart):
    letters = compact_letters(COUNT, apart)
    for i, j in PAIRS:
        assert bool(set(letters[i]) & set(letters[j])) == ((i, j) not in apart)
    assert all(letters)


@given(st.sets(st.sampled_from(PAIRS)))
def test_no_letter_says_what_another_says(apart):
    letters = compact_letters(COUNT, apart)
    groups = {
        letter: {member for member in range(COUNT) if letter in letters[member]}
        for letter in set("".join(letters))
    }
    assert not any(first <= second for first, second in itertools.permutations(groups.values(), 2))


def test_nobody_has_no_letter():
    assert compact_letters(0, set()) == []


def answers(result, right, total=60):
    return [result(f"q{i}", i < right, picture=f"p{i}") for i in range(total)]


def test_a_ranking_parts_what_the_test_parts_and_nothing_else(result):
    runs = {
        "weak": answers(result, 10),
        "strong": answers(result, 50),
        "as strong": answers(result, 49),
    }
    letters = {entry.label: entry.letters for entry in ranking(runs)}
    assert list(letters) == ["strong", "as strong", "weak"]
    assert letters == {"strong": "a", "as strong": "a", "weak": "b"}


def test_lost_replies_part_nobody(result):
    lost = [result(f"q{i}", outcome=AnswerOutcome.FAILED, picture=f"p{i}") for i in range(60)]
    rankings = ranking({"there": answers(result, 60), "lost": lost})
    assert {entry.letters for entry in rankings} == {"a"}


def test_letters_go_on_with_numbers_after_z():
    letters = compact_letters(28, set(itertools.combinations(range(28), 2)))
    assert letters[:2] == ["a", "b"]
    assert letters[25:] == ["z", "a1", "b1"]


def test_the_best_group_has_the_first_letter_and_a_run_between_two_groups_has_both():
    assert compact_letters(3, {(0, 2)}) == ["a", "ab", "b"]
    assert compact_letters(1, set()) == ["a"]


def test_accuracies_of_a_ranking_leave_lost_replies_out_and_ties_keep_their_order(result):
    lost = {"outcome": AnswerOutcome.FAILED}
    runs = {
        "none": [result(f"q{i}", picture=f"p{i}", **lost) for i in range(8)],
        "part": [*answers(result, 3, 6), result("q6", picture="p6", **lost)],
        "half": answers(result, 4, 8),
        "best": answers(result, 7, 8),
    }
    pairs = [(entry.label, entry.accuracy) for entry in ranking(runs)]
    assert pairs == [("best", 7 / 8), ("part", 0.5), ("half", 0.5), ("none", 0)]


@pytest.mark.parametrize(("wins", "letters"), [(6, ["a", "a", "a"]), (8, ["a", "ab", "b"])])
def test_a_ranking_adjusts_over_all_its_pairs(result, wins, letters):
    """The least p of three counts three times: 3 x 2 / 2^6 is above 5 %, 3 x 2 / 2^8 below."""
    middle = 20 + wins // 2
    runs = {str(right): answers(result, right) for right in (20 + wins, middle, 20)}
    assert [entry.letters for entry in ranking(runs)] == letters

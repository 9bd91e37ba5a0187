"""Runs share a letter exactly where no test tells them apart."""

from __future__ import annotations

import itertools

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
    assert not any(one <= other for one, other in itertools.permutations(groups.values(), 2))


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
    found = {one.label: one.letters for one in ranking(runs)}
    assert list(found) == ["strong", "as strong", "weak"]
    assert found == {"strong": "a", "as strong": "a", "weak": "b"}


def test_lost_replies_part_nobody(result):
    lost = [result(f"q{i}", outcome=AnswerOutcome.FAILED, picture=f"p{i}") for i in range(60)]
    found = ranking({"there": answers(result, 60), "lost": lost})
    assert {one.letters for one in found} == {"a"}

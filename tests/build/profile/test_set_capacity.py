from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.build.profile.set_capacity import scarcest_answer, set_capacity

NAMES = "abcde"
tallies = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 6), max_size=5)


def everyone(counts):
    return {name: frozenset(NAMES) for name in counts}


def most_in_sets_of(counts, size):
    """Every way to take sets of one size, tried: the truth to hold the formula to."""
    rest = tuple(sorted(counts.values()))
    cache = {}

    def best(rest):
        if rest not in cache:
            cache[rest] = max(
                (
                    1 + best(tuple(sorted(n - (at in places) for at, n in enumerate(rest))))
                    for places in combinations(range(len(rest)), size)
                    if all(rest[at] for at in places)
                ),
                default=0,
            )
        return cache[rest]

    return size * best(rest)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 4), max_size=4))
def test_sets_of_two_are_as_many_as_any_choice_could_make(counts):
    assert set_capacity(counts, everyone(counts), options=2).two == most_in_sets_of(counts, 2)


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), min_size=3, max_size=4))
def test_sets_of_three_are_as_many_as_any_choice_could_make(counts):
    capacity = set_capacity(counts, everyone(counts), options=3)
    if sum(count > 0 for count in counts.values()) >= 3:
        assert capacity.more == most_in_sets_of(counts, 3)


@given(tallies)
def test_no_answer_is_the_key_more_often_than_it_is_stated(counts):
    capacity = set_capacity(counts, everyone(counts))
    assert all(capacity.keys[name] + capacity.pairs[name] <= counts[name] for name in counts)


@given(tallies, st.sampled_from(NAMES), st.integers(1, 6))
def test_more_pictures_never_take_half_a_set_away(counts, name, more):
    wider = {**counts, name: counts.get(name, 0) + more}
    # Larger sets go first, so a rare answer may move items from two options to three.
    assert (
        set_capacity(wider, everyone(wider), 2).items
        >= set_capacity(counts, everyone(counts), 2).items
    )


def test_four_options_go_first_and_what_is_left_fills_smaller_sets():
    capacity = set_capacity({"a": 10, "b": 10, "c": 10, "d": 2}, everyone("abcd"))
    assert (capacity.more, capacity.two) == (4 * 2 + 3 * 8, 0)
    assert set_capacity({"a": 10, "b": 3}, everyone("ab")).two == 6


@pytest.mark.parametrize("counts", [{}, {"a": 900}, {"a": 900, "b": 0}])
def test_a_single_answer_makes_no_item(counts):
    assert set_capacity(counts, everyone(counts)).items == 0


def test_answers_that_may_not_stand_against_each_other_share_no_set():
    beside = {"a": frozenset("b"), "b": frozenset("a"), "c": frozenset()}
    capacity = set_capacity({"a": 5, "b": 5, "c": 5}, beside)
    assert capacity.pairs == {"a": 5, "b": 5, "c": 0}


def test_one_side_is_not_enough_to_stand_against_another():
    assert set_capacity({"a": 5, "b": 5}, {"a": frozenset("b"), "b": frozenset()}).items == 0


def test_the_scarce_answer_is_the_one_that_holds_the_others_back():
    counts = {"common": 500, "usual": 400, "rare": 40}
    assert scarcest_answer(counts, dict.fromkeys(counts, frozenset(counts)), 3) in {"usual", "rare"}
    assert scarcest_answer({"a": 100, "b": 20}, everyone("ab")) == "b"


def test_nothing_is_scarce_where_every_picture_is_asked():
    counts = dict.fromkeys("abcd", 50)
    assert scarcest_answer(counts, everyone(counts)) is None

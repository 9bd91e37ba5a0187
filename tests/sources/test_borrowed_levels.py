"""Slices that show nothing are taken at the levels of those that show something."""

from hypothesis import given
from hypothesis import strategies as st

from medrcube.sources._formats.borrowed_levels import (
    borrowed_levels,
    drawn_slice,
    level_of,
    nearest_slice,
)

LEVELS = st.lists(st.floats(0, 1), min_size=1, max_size=20)
NAMES = st.lists(st.text(min_size=1), min_size=1, max_size=20, unique=True)


@given(LEVELS, NAMES)
def test_every_level_is_one_at_which_something_is_shown(levels, clear):
    given_levels = borrowed_levels(levels, clear)
    assert given_levels.keys() == set(clear)
    assert set(given_levels.values()) <= set(levels)


@given(LEVELS, st.integers(1, 4))
def test_levels_are_spread_alike(levels, times):
    clear = [f"case {k}" for k in range(times * len(levels))]
    assert sorted(borrowed_levels(levels, clear).values()) == sorted(levels * times)


@given(LEVELS, NAMES, st.randoms())
def test_order_of_the_names_means_nothing(levels, clear, random):
    mixed = random.sample(clear, len(clear))
    assert borrowed_levels(levels, clear) == borrowed_levels(levels[::-1], mixed)


def test_without_a_finding_anywhere_the_middle_is_shown():
    assert borrowed_levels([], ["a"]) == {"a": 0.5}


@given(st.integers(1, 500), st.data())
def test_a_slice_is_found_again_by_its_level(count, data):
    at = data.draw(st.integers(0, count - 1))
    assert nearest_slice(level_of(at, count), count) == at


@given(LEVELS, st.integers(1, 300), st.text())
def test_a_drawn_slice_lies_at_one_of_the_levels(levels, count, name):
    assert drawn_slice(name, count, levels) in {nearest_slice(level, count) for level in levels}


def test_drawn_slices_are_spread_over_the_levels():
    levels = [0.1, 0.5, 0.9]
    assert {drawn_slice(f"patient {k}", 101, levels) for k in range(30)} == {10, 50, 90}

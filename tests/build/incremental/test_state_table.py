"""States of many files in few bytes, and what is compared of them."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.incremental import state_table
from medrcube.build.incremental.state_table import FileState, StateTable

NUMBERS = st.integers(0, 2**63 - 1)
STATES = st.builds(FileState, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
NAMES = st.sampled_from(["a.png", "b/a.png", "b/c/a.png", "bc/a.png"])


def table(states):
    return StateTable((name, state.packed()) for name, state in states.items())


@given(st.dictionaries(NAMES, STATES))
def test_states_come_back_as_they_were(states):
    assert dict(table(states)) == states


@given(st.dictionaries(NAMES, STATES), st.lists(NAMES))
def test_packed_states_of_some_files_are_those_of_their_records(states, names):
    missing = table({}).packed(["a.png"])
    packed = [states[name].packed() if name in states else missing for name in names]
    assert table(states).packed(names) == b"".join(packed)


@given(STATES)
def test_a_missing_file_differs_from_every_file(state):
    assert table({"a": state}).packed(["a"]) != table({}).packed(["a"])


@given(st.dictionaries(NAMES, STATES))
def test_a_subfolder_has_the_states_of_its_files_alone(states):
    below = table(states).below("b")
    assert {name for name, _ in below.above("b/")} == {
        name for name in states if name.startswith("b/")
    }
    assert all(below[name] == states[f"b/{name}"] for name in below)


@given(st.dictionaries(NAMES, STATES), st.dictionaries(NAMES, STATES), st.sets(NAMES))
def test_changed_states_are_those_of_the_files_written_and_left(before, new_states, gone):
    after = {name: state for name, state in {**before, **new_states}.items() if name not in gone}
    assert dict(table(before).changed(table(new_states), gone)) == after


@given(st.dictionaries(NAMES, STATES))
def test_the_last_change_is_the_latest_of_all_files(states):
    assert table(states).last_change() == max([0, *(state.changed for state in states.values())])


@given(st.dictionaries(NAMES, STATES))
def test_sizes_are_those_of_the_states(states):
    assert dict(table(states).sizes()) == {name: state.size for name, state in states.items()}


@given(st.dictionaries(NAMES, STATES), st.lists(NAMES))
def test_missing_names_are_those_without_a_state(states, names):
    assert table(states).missing(names) == [name for name in names if name not in states]


@given(
    st.dictionaries(
        NAMES, st.builds(FileState, st.integers(0, 3), NUMBERS, NUMBERS, NUMBERS), min_size=1
    )
)
def test_the_smallest_file_is_the_first_of_the_least_size(states):
    assert table(states).smallest(states) == min(states, key=lambda name: (states[name].size, name))


@given(st.dictionaries(NAMES, STATES))
def test_names_are_sorted_with_their_states(states):
    names, packed = table(states).by_name()
    assert names == sorted(states)
    assert packed == b"".join(states[name].packed() for name in names)


def test_names_of_equal_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(state_table, "hash", lambda _: 7, raising=False)
    states = {name: FileState(size, 0, 0, 0) for size, name in enumerate(["a", "b", "c"])}
    assert dict(table(states)) == states
    assert "d" not in table(states)
    assert table(states).missing(["c", "d", "a"]) == ["d"]
    assert table(states).packed(["c", "a"]) == states["c"].packed() + states["a"].packed()


def test_a_name_that_is_no_text_comes_back():
    assert list(table({"caf\udce9.png": FileState(1, 2, 3, 4)})) == ["caf\udce9.png"]


def test_a_state_takes_less_memory_than_two_of_its_numbers_and_the_name():
    names = [f"{number:08}.png" for number in range(10_000)]
    big = 10**18
    tracemalloc.start()
    try:
        states = table({name: FileState(big, big, big, big) for name in names})
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(states) == len(names)
    assert size / len(names) < 90

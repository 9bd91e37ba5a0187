"""Packed entries: what a dictionary by key would hold, in its order, and little memory."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.facts import Case, ImageRef, Label, Skip
from medrcube.sources._framework import packed_entries
from medrcube.sources._framework.packed_entries import PackedEntries


@pytest.fixture(autouse=True)
def block(monkeypatch):
    monkeypatch.setattr(packed_entries, "_BLOCK", 4)


def _joined(first, other):
    return Skip(key=first.key, reason=first.reason + other.reason, opens=first.opens + other.opens)


SKIPS = st.builds(
    Skip,
    key=st.sampled_from("abcdefghijklmnopqrst"),
    reason=st.sampled_from("123"),
    opens=st.sampled_from([(), (), ("finding",)]),
)
MANY = st.lists(SKIPS, max_size=30)


@given(MANY)
def test_entries_of_one_key_are_merged_at_the_place_of_the_first(entries):
    expected = {}
    for entry in entries:
        before = expected.get(entry.key)
        expected[entry.key] = entry if before is None else _joined(before, entry)
    packed = PackedEntries(entries, _joined)
    assert list(packed) == list(expected.values())
    assert list(packed) == list(expected.values())
    assert list(packed.opening()) == [skip for skip in expected.values() if skip.opens]


class Odd(str):
    """A text whose hash is that of every other one."""

    __slots__ = ()

    def __hash__(self):
        return 1


@given(MANY)
def test_other_keys_of_the_same_hash_are_not_merged(entries):
    odd = [Skip(key=Odd(entry.key), reason=entry.reason) for entry in entries]
    merged = PackedEntries(odd, _joined)
    assert [entry.key for entry in merged] == list(dict.fromkeys(entry.key for entry in odd))


def test_entries_put_first_come_first_and_may_concern_any_case():
    first = Skip(key="b", reason="lost", opens=("finding",))
    packed = PackedEntries([Skip(key=key, reason="") for key in "abcde"], _joined)
    packed.first = (first,)
    assert [entry.key for entry in packed] == ["b", *"abcde"]
    assert list(packed.opening()) == [first]


def _film(number):
    path = Path(f"/raw/images/{number:08}.png")
    labels = [Label(field="finding", value="Mass", evidence=f"t.csv:{number} Findings=Mass")]
    return Case(key=path.stem, images=(ImageRef(paths=(path,)),), labels=tuple(labels))


def test_a_case_takes_a_tenth_of_its_memory(monkeypatch):
    monkeypatch.setattr(packed_entries, "_BLOCK", 1_024)
    tracemalloc.start()
    films = list(map(_film, range(8_192)))
    loose = tracemalloc.get_traced_memory()[0]
    packed = PackedEntries(map(_film, range(8_192)), _joined)
    size = tracemalloc.get_traced_memory()[0] - loose
    tracemalloc.stop()
    assert list(packed) == films
    assert size < loose / 10

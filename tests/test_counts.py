"""A number and its noun agree."""

from __future__ import annotations

import pytest

from medrcube.console.counts import counted


@pytest.mark.parametrize(
    ("count", "noun", "expected"),
    [
        (1, "item", "1 item"),
        (0, "item", "0 items"),
        (1204, "item", "1,204 items"),
        (2, "reply", "2 replies"),
        (1, "reply", "1 reply"),
        (3, "key", "3 keys"),
        (2, "batch", "2 batches"),
        (2, "modality", "2 modalities"),
    ],
)
def test_the_noun_is_in_the_number_of_the_count(count, noun, expected):
    assert counted(count, noun) == expected


def test_a_plural_of_its_own_is_given():
    assert counted(1, "person", "people") == "1 person"
    assert counted(2, "person", "people") == "2 people"

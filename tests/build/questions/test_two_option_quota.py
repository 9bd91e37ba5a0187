"""Share of items with two options: what stays of them, in every task."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.questions import compose
from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.questions.sampling.two_option_quota import (
    TWO_OPTIONS,
    limit_two_option_items,
)

BLANK = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
LABELS = ("edema", "hernia", "nodule", "goiter")


def item(number, count=2, key=0, *, first=0, **changes):
    options = tuple(
        Option(text=label, concept=label, ids=(), strategy="s", grade="A", passed=())
        for label in LABELS[first : first + count]
    )
    values = {"task": "Abnormality Diagnosis", "anatomy": "Chest", "modality": "CT"}
    return ChoiceItem(
        **BLANK
        | values
        | {"id": f"i{number:04}", "options": options, "key": key, "concept": options[key].concept}
        | {"ordered": False, "warnings": (), "seed": 0}
        | changes
    )


def two(items):
    return [entry for entry in items if len(entry.options) == 2]


batches = st.lists(
    st.tuples(
        st.sampled_from([2, 2, 3]),
        st.integers(0, 1),
        st.integers(0, 1),
        st.sampled_from(["CT", "MRI", "X-ray"]),
        st.sampled_from(["View Recognition", "Disease Diagnosis"]),
    ),
    max_size=40,
).map(
    lambda rows: [
        item(n, count, key, first=first, modality=modality, task=task)
        for n, (count, key, first, modality, task) in enumerate(rows)
    ]
)
shares = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 0.8])


@given(batches, shares, st.integers(0, 5))
def test_no_task_has_more_than_its_share_and_no_other_item_is_left_out(items, share, seed):
    remaining = limit_two_option_items(items, share, seed)
    assert list(remaining) == [entry for entry in items if entry in remaining]
    assert [e for e in remaining if len(e.options) > 2] == [e for e in items if len(e.options) > 2]
    for task in {entry.task for entry in items}:
        members = [entry for entry in remaining if entry.task == task]
        assert len(two(members)) <= share * len(members) + 1e-6


@given(batches, st.integers(0, 5))
def test_a_share_of_one_keeps_all(items, seed):
    assert limit_two_option_items(items, 1.0, seed) == tuple(items)


@given(st.integers(0, 30), st.sampled_from([0.25, 1 / 3, 0.5, 0.8]))
def test_single_items_fill_the_share_exactly(others, share):
    items = [item(n, 3) for n in range(others)] + [item(100 + n) for n in range(200)]
    remaining = limit_two_option_items(items, share, 0)
    assert len(two(remaining)) == int(share / (1 - share) * others + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_first_two_items_of_a_set_have_different_keys(seed):
    items = [item(n, 3) for n in range(2)]
    items += [item(10 + n, key=int(n == 7)) for n in range(8)]
    remaining = two(limit_two_option_items(items, 0.5, seed))
    assert Counter(entry.concept for entry in remaining) == {"edema": 1, "hernia": 1}


@pytest.mark.parametrize("seed", range(5))
def test_cells_that_no_other_item_reaches_come_first(seed):
    items = [item(n, 3, modality="CT") for n in range(1, 5)]
    items += [item(10 + n, key=n % 2, modality="CT") for n in range(20)]
    items += [item(40 + n, key=n % 2, modality="MRI") for n in range(2)]
    items += [item(50 + n, key=n % 2, modality="X-ray") for n in range(2)]
    remaining = two(limit_two_option_items(items, 0.5, seed))
    assert Counter(entry.modality for entry in remaining) == {"MRI": 2, "X-ray": 2}


def test_sets_of_a_cell_take_turns():
    items = [item(n, 3) for n in range(4)]
    items += [item(10 + n, key=n % 2) for n in range(20)]
    items += [item(40 + n, key=n % 2, first=2) for n in range(2)]
    remaining = two(limit_two_option_items(items, 0.5, 0))
    assert {entry.concept for entry in remaining} == set(LABELS)


def test_the_share_holds_after_larger_items_are_dropped_for_their_keys():
    larger = [item(n, 3, first=1) for n in range(10)]
    pairs = [item(20 + n, key=n % 2) for n in range(10)]
    batch = compose._Batch(writer=None)
    assert len(limit_two_option_items([*larger, *pairs], 0.5, 0)) == 20
    assert compose._apply_batch_rules(batch, [*larger, *pairs], 0.5, 0) == ()
    assert batch.dropped == {
        f"Abnormality Diagnosis: {compose.UNEVEN}": 10,
        f"Abnormality Diagnosis: {TWO_OPTIONS}": 10,
    }

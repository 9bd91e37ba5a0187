"""Options that are always or never the key: which are found, and what is dropped for them."""

from __future__ import annotations

import pytest

from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.questions.sampling.key_balance import (
    ALL_SOURCES,
    LEARNABLE,
    UnbalancedOption,
    comparison_places,
    drop_unbalanced,
    option_set,
    unbalanced_options,
)

BLANK = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
PAIR = ("edema", "hernia")
ABNORMALITY = "Abnormality Diagnosis"


def item(number, key, labels=PAIR, *, source="toy", **changes):
    options = tuple(
        Option(text=label, concept=label, ids=(), strategy="s", grade="A", passed=())
        for label in labels
    )
    values = {"task": ABNORMALITY, "anatomy": "Chest", "modality": "CT", "source": source}
    place = labels.index(key) if key in labels else 0
    values |= {"id": f"i{number}", "options": options, "key": place, "concept": key}
    return ChoiceItem(**BLANK | values | {"ordered": False, "warnings": (), "seed": 0} | changes)


def keyed(start=0, labels=PAIR, **counts):
    """Items of one set of options, so many with each key."""
    keys = [key for key, count in counts.items() for _ in range(count)]
    return [item(start + number, key, labels) for number, key in enumerate(keys)]


def contents_of(items):
    return {(entry.options, entry.concept, entry.key, entry.shown) for entry in items}


def test_an_option_of_a_set_is_never_the_key_from_ten_items_on():
    few = [*keyed(edema=9), *keyed(50, ("hernia", "mass"), hernia=1, mass=8)]
    assert unbalanced_options(few) == []
    many = [*keyed(edema=10), *keyed(50, ("hernia", "mass"), hernia=1, mass=8)]
    assert contents_of(unbalanced_options(many)) == {
        (PAIR, "edema", 10, 10),
        (PAIR, "hernia", 0, 10),
        ((), "edema", 10, 10),
    }
    assert LEARNABLE == 10


def test_one_other_key_is_enough_for_balance():
    assert unbalanced_options(keyed(edema=9, hernia=1)) == []
    assert unbalanced_options(keyed(edema=99, hernia=1)) == []


def test_an_option_that_is_never_the_key_in_all_of_its_sets_is_found():
    rare = [
        item(n, "edema" if n % 2 else "mass", ("edema", "mass", third))
        for third in ("goiter", "nodule")
        for n in range(5)
    ]
    assert unbalanced_options(rare) == []
    common = [
        item(n, "edema" if n % 2 else other, ("edema", other, "goiter"))
        for other in ("mass", "nodule")
        for n in range(5)
    ]
    (entry,) = unbalanced_options(common)
    assert entry == UnbalancedOption(
        place="toy", task=ABNORMALITY, options=(), concept="goiter", key=0, shown=10
    )


def test_the_only_answer_of_a_task_is_found_however_few_show_it():
    (entry,) = unbalanced_options([item(0, "edema")])
    assert (entry.options, entry.concept, entry.key, entry.shown) == ((), "edema", 1, 1)
    assert unbalanced_options(keyed(edema=1, hernia=1)) == []


def test_sources_and_tasks_are_counted_apart():
    items = [item(n, "edema") for n in range(6)]
    other = [item(10 + n, "hernia", source="other") for n in range(6)]
    entries = unbalanced_options([*items, *other])
    assert {(entry.place, entry.concept) for entry in entries} == {
        ("toy", "edema"),
        ("other", "hernia"),
    }
    tasks = [*items, *(item(20 + n, "hernia", task="Disease Diagnosis") for n in range(6))]
    assert {(entry.task, entry.concept) for entry in unbalanced_options(tasks)} == {
        (ABNORMALITY, "edema"),
        ("Disease Diagnosis", "hernia"),
    }


def test_where_each_source_has_one_answer_by_its_nature_the_sources_are_taken_together():
    organs = ("brain", "breast")
    parts = {"task": "Organ Recognition", "group": "organ"}
    items = [item(0, "brain", organs, **parts), item(1, "breast", organs, source="other", **parts)]
    assert [place for _, place in comparison_places(items)] == [ALL_SOURCES, ALL_SOURCES]
    assert unbalanced_options(items) == []
    both = [*items, item(2, "breast", organs, **parts)]
    assert [place for _, place in comparison_places(both)] == ["toy", ALL_SOURCES, "toy"]
    apart = [*items, item(2, "breast", organs, **parts | {"group": ""})]
    assert [place for _, place in comparison_places(apart)] == [ALL_SOURCES] * 3


def test_items_whose_options_name_nothing_are_not_counted_and_stay():
    boxes = [item(n, "", ("", "", ""), task="ROI Grounding") for n in range(LEARNABLE + 1)]
    bare = item(50, "", (), task="ROI Grounding")
    assert comparison_places([*boxes, bare]) == []
    assert unbalanced_options([*boxes, bare]) == []
    assert drop_unbalanced([*boxes, bare]) == (*boxes, bare)


def test_a_set_with_an_unbalanced_option_is_dropped_and_the_others_stay_in_their_order():
    uneven = keyed(edema=10)
    even = keyed(50, ("edema", "mass"), edema=5, mass=5)
    others = keyed(80, ("hernia", "nodule"), hernia=2, nodule=2)
    mixed = [*even[:5], *uneven, *even[5:], *others]
    assert drop_unbalanced(mixed) == (*even, *others)


def test_an_option_that_is_never_the_key_takes_all_items_that_show_it():
    entries = [
        item(n, "edema" if n % 2 else other, ("edema", other, "goiter"))
        for other in ("mass", "nodule")
        for n in range(5)
    ]
    entries = [item(n, entry.concept, option_set(entry)) for n, entry in enumerate(entries)]
    even = keyed(50, ("edema", "mass"), edema=5, mass=5)
    assert drop_unbalanced([*entries, *even]) == tuple(even)


def test_what_one_round_leaves_uneven_goes_in_the_next():
    """Without the first set, the only key that is left of the task is one."""
    first = [*keyed(edema=10), *keyed(20, ("hernia", "mass"), hernia=1)]
    assert drop_unbalanced(first) == ()
    balanced = keyed(edema=1, hernia=1)
    assert drop_unbalanced(balanced) == tuple(balanced)


@pytest.mark.parametrize("labels", [("mass", "edema", "hernia"), ("hernia", "mass", "edema")])
def test_a_set_of_options_has_one_order(labels):
    assert option_set(item(0, "mass", labels)) == ("edema", "hernia", "mass")

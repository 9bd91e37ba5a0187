"""A set of which items are held back or were changed is listed, and is incomplete."""

from dataclasses import replace

import pytest

from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.release.released_sets import released_sets
from medrcube.build.stages.samples import Sample
from medrcube.release_format.item_sets import SetMember

BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")
SAMPLES = [Sample(**{**BLANK, "id": f"s{n}", "source": "toy", "case": f"c{n}"}) for n in range(3)]


def item(number):
    options = tuple(
        Option(text=text, concept=f"{text} concept", ids=(), strategy="s", grade="A", passed=())
        for text in ("edema", "hernia", "nodule")
    )
    blank = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
    named = {"id": f"i{number}", "sample": f"s{number}", "source": "toy", "block": "b"}
    return ChoiceItem(**{**blank, **named, "question": "Which?", "options": options, "key": number})


ITEMS = [item(number) for number in range(3)]


def test_a_set_with_all_its_items_is_complete_and_names_their_roles():
    sets = released_sets(ITEMS, SAMPLES, ITEMS, 0)
    assert (sets.complete, sets.incomplete) == (1, 0)
    assert sets.sets[0].members[1] == SetMember(dataset="TOY", id="i1", role="hernia concept")


def test_a_rejected_item_leaves_its_set_incomplete_under_its_id():
    whole = released_sets(ITEMS, SAMPLES, ITEMS, 0).sets[0]
    sets = released_sets(ITEMS, SAMPLES, ITEMS[:2], 0)
    assert (sets.complete, sets.incomplete) == (0, 1)
    assert (sets.sets[0].id, sets.sets[0].size) == (whole.id, 3)
    assert [member.id for member in sets.sets[0].members] == ["i0", "i1"]


def test_a_set_without_any_item_is_counted_and_not_listed():
    sets = released_sets(ITEMS, SAMPLES, [], 0)
    assert (sets.sets, sets.complete, sets.incomplete) == ((), 0, 1)


@pytest.mark.parametrize("change", [{"question": "Which one?"}, {"key": 1}])
def test_an_item_that_reviewers_changed_leaves_its_set(change):
    sets = released_sets(ITEMS, SAMPLES, [replace(ITEMS[0], **change), *ITEMS[1:]], 0)
    assert sets.complete == 0
    assert [member.id for member in sets.sets[0].members] == ["i1", "i2"]


def test_a_set_stays_whole_when_all_its_items_are_changed_alike():
    new_wording = [replace(entry, question="Which one?") for entry in ITEMS]
    assert released_sets(ITEMS, SAMPLES, new_wording, 0).complete == 1


def test_another_order_of_the_options_changes_nothing():
    options = ITEMS[0].options
    turned = replace(ITEMS[0], options=(*options[1:], options[0]), key=2)
    assert released_sets(ITEMS, SAMPLES, [turned, *ITEMS[1:]], 0).complete == 1

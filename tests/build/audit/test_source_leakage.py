"""A planted cue of the source is found by the cue that carries it, and none where none is."""

import random
from dataclasses import replace

import pytest

from medrcube.build.audit.leakage.source_leakage import ALL_CUES, CUES, source_leakage
from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.stages.samples import Sample

LABELS = ("edema", "pneumothorax", "rib fracture", "hiatal hernia")
MUCH = 0.45
"""Beyond what luck gives any of six readers of 200 items, at a chance of 0.25."""
PLANTED = {
    "source": lambda key: {"source": f"set{key}"},
    "picture size": lambda key: {"width": 100 + key},
    "file size": lambda key: {"file_bytes": 1000 * key},
    "mean grey": lambda key: {"grey": 40.0 * key},
    "colour": lambda key: {"colour": key == 0},
}


def sample(number, lots):
    blank = dict.fromkeys(Sample.__dataclass_fields__, "")
    numbers = {"choices": 0, "area": 0.0, "regions": 0, "height": 100, "redistribute": True}
    cue_values = {
        "source": lots.choice(("set0", "set1")),
        "width": lots.choice((100, 101)),
        "file_bytes": lots.randrange(4000),
        "grey": 160 * lots.random(),
        "colour": lots.random() < 0.5,
    }
    return Sample(**{**blank, **numbers, **cue_values, "id": f"s{number}", "case": f"c{number}"})


def item(number, key, source="set0", texts=LABELS):
    options = tuple(
        Option(text=text, concept=text, ids=(), strategy="s", grade="A", passed=())
        for text in texts
    )
    blank = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
    named = {"id": f"i{number:04}", "sample": f"s{number}", "source": source, "task": "t"}
    return ChoiceItem(**{**blank, **named, "options": options, "key": key})


def batch(planted=None, count=200):
    lots = random.Random(7)
    items, samples = [], []
    for number in range(count):
        key = lots.randrange(4)
        picture = sample(number, lots)
        samples.append(replace(picture, **PLANTED[planted](key)) if planted else picture)
        items.append(item(number, key, samples[-1].source))
    return items, samples


def scores(items, samples):
    return {row["cue"]: row for row in source_leakage(items, samples)["cues"]}


@pytest.mark.few(2)
@pytest.mark.parametrize("cue", CUES)
def test_a_cue_that_goes_with_the_key_is_found_by_itself_and_among_all(cue):
    rows = scores(*batch(cue))
    assert {name for name, row in rows.items() if row["accuracy"] > MUCH} == {cue, ALL_CUES}
    assert not rows[cue]["within"]


def test_nothing_is_found_where_nothing_is_given_away():
    rows = scores(*batch())
    assert [*rows] == [*CUES, ALL_CUES]
    assert all(row["accuracy"] < MUCH for row in rows.values())


def test_items_count_as_within_a_source_only_where_it_has_all_their_options_as_keys():
    samples = [sample(number, random.Random(1)) for number in range(4)]
    items = [
        item(0, 0, "a", LABELS[:2]),
        item(1, 1, "a", LABELS[:2]),
        item(2, 1, "b", LABELS[:2]),
        item(3, 0, "b", LABELS[1:3]),
    ]
    assert source_leakage(items, samples)["answers"] == {
        "t": {"keys": 2, "one_source": 1, "items": 1, "within": 2}
    }


def test_numbered_boxes_are_left_out():
    boxes = replace(item(0, 0), options=(replace(item(0, 0).options[0], concept=""),) * 2)
    assert source_leakage([boxes], [sample(0, random.Random(1))]) == {
        "cues": [],
        "answers": {},
    }

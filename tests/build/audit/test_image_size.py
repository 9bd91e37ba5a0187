"""A batch whose image sizes tell the answer is named; sizes that say nothing are not."""

import random

import pytest

from medrcube.build.audit.batch_rules import batch_rules
from medrcube.build.audit.shortcuts.image_size import image_size
from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.stages.samples import Sample

PLANES = ("AXIAL", "CORONAL", "SAGITTAL")
SIDES = {"AXIAL": (176, 208), "CORONAL": (176, 176), "SAGITTAL": (208, 176)}


def sample(number, size):
    blank = dict.fromkeys(Sample.__dataclass_fields__, "")
    numbers = {"choices": 0, "area": 0.0, "regions": 0, "width": size[0], "height": size[1]}
    return Sample(**{**blank, **numbers, "id": f"s{number}", "case": f"c{number}", "source": "x"})


def item(number, key):
    options = tuple(
        Option(text=plane, concept=plane, ids=(), strategy="s", grade="A", passed=())
        for plane in PLANES
    )
    blank = dict.fromkeys(ChoiceItem.__dataclass_fields__, "")
    named = {"id": f"i{number:04}", "sample": f"s{number}", "source": "x", "task": "View"}
    return ChoiceItem(**{**blank, **named, "options": options, "key": key})


def batch(size_of, count=12, keys=PLANES, seed=0):
    lots = random.Random(seed)
    planes = [keys[number % len(keys)] for number in range(count)]
    pictures = [sample(n, size_of(plane, lots)) for n, plane in enumerate(planes)]
    return [item(n, PLANES.index(plane)) for n, plane in enumerate(planes)], pictures


@pytest.mark.parametrize("count", [9, 12, 60])
def test_a_size_for_each_plane_is_found(count):
    (row,) = image_size(*batch(lambda plane, _: SIDES[plane], count))
    assert row["accuracy"] == 1
    assert not row["within"]
    rule = batch_rules(*batch(lambda plane, _: SIDES[plane], count))["image-size"]
    assert (rule["level"], rule["holds"]) == ("warning", False)
    assert "View, x, answering by image size: 100.0 %" in rule["message"]


@pytest.mark.parametrize("seed", range(5))
def test_sizes_by_lot_say_nothing(seed):
    sizes = sorted(SIDES.values())
    (row,) = image_size(*batch(lambda _, lots: lots.choice(sizes), 60, seed=seed))
    assert row["within"]


def test_one_size_for_all_says_nothing():
    (row,) = image_size(*batch(lambda *_: (208, 208)))
    assert row["within"]


def test_a_source_with_one_answer_gives_nothing_away_by_its_sizes():
    sizes = sorted(SIDES.values())
    (row,) = image_size(*batch(lambda _, lots: lots.choice(sizes), 30, keys=("AXIAL",)))
    assert row["chance"] == 1
    assert row["within"]


def test_patients_too_few_to_compare_are_left_out():
    assert image_size(*batch(lambda plane, _: SIDES[plane], 2)) == []

"""A reader of corners alone is found where boxes give themselves away, and only there."""

import random
from dataclasses import replace

import pytest

from medrcube.build.audit.batch_rules import BATCH_RULES, batch_rules
from medrcube.build.audit.leakage.box_geometry import MODEL, box_geometry
from medrcube.build.questions.item_table import ChoiceItem, Option
from medrcube.build.stages.samples import Sample

WIDTH, HEIGHT = 500, 400
BLANK = dict.fromkeys(Sample.__dataclass_fields__, "")
NUMBERS = {
    "choices": 4, "area": 0.1, "regions": 1, "width": WIDTH, "height": HEIGHT,
    "file_bytes": 1, "grey": 0.0, "colour": False,
}  # fmt: skip
OPTIONS = tuple(
    Option(text=f"Box {n}", concept="", ids=(), strategy="s", grade="", passed=())
    for n in range(1, 5)
)


def batch(layout, count=240):
    """Items of a batch whose boxes ``layout(lots)`` draws, with the true one first."""
    lots = random.Random(0)
    samples, items = [], []
    for number in range(count):
        boxes = layout(lots)
        true = boxes[0]
        lots.shuffle(boxes)
        samples.append(sample(number, boxes))
        items.append(item(number, boxes.index(true)))
    return items, samples


def sample(number, boxes):
    text = ", ".join(" ".join(map(str, box)) for box in boxes)
    named = {"id": f"s{number}", "source": "toy", "case": f"c{number}", "boxes": text}
    return Sample(**{**BLANK, **NUMBERS, **named})


def item(number, key):
    named = {
        "id": f"i{number:04}", "sample": f"s{number}", "source": "toy", "task": "ROI Grounding",
        "question": "Which box?", "options": OPTIONS, "key": key, "ordered": True,
        "warnings": (), "seed": 0,
    }  # fmt: skip
    return ChoiceItem(**{**dict.fromkeys(ChoiceItem.__dataclass_fields__, ""), **named})


def anywhere(lots, size=50):
    x, y = lots.randrange(WIDTH - size), lots.randrange(HEIGHT - size)
    return (x, y, x + size, y + size)


def fair(lots):
    return [anywhere(lots) for _ in range(4)]


def on_a_lattice(lots, steps=12, size=50):
    border = WIDTH // 16
    room = WIDTH - size - 2 * border
    x, y = border + room * lots.randrange(steps + 1) // steps, lots.randrange(HEIGHT - size)
    return (x, y, x + size, y + size)


def inside_a_margin(lots):
    while True:
        box = anywhere(lots)
        if box[0] > 90 and box[1] > 90 and box[2] < WIDTH - 90 and box[3] < HEIGHT - 90:
            return box


def judged(items, samples):
    return {row["task"]: row["within"] for row in box_geometry(items, samples)}


def test_boxes_of_one_law_pass():
    assert set(judged(*batch(fair)).values()) == {True}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("law", "trick"),
    [
        (
            lambda lots: [anywhere(lots), *(on_a_lattice(lots) for _ in range(3))],
            "most far from a lattice of 12 steps inside a border",
        ),
        (
            lambda lots: [anywhere(lots), *(inside_a_margin(lots) for _ in range(3))],
            "least far from the border",
        ),
        (
            lambda lots: [inside_a_margin(lots), *(anywhere(lots) for _ in range(3))],
            "least far from the centre",
        ),
        (lambda lots: [anywhere(lots, 52), *(anywhere(lots) for _ in range(3))], "most large"),
    ],
)
def test_wrong_boxes_of_another_law_are_found_by_their_trick_and_by_the_model(law, trick):
    rows = judged(*batch(law))
    assert rows[trick] is False
    assert rows[MODEL] is False


def test_numbers_in_an_order_are_found():
    """The true box is the third of its picture more often than not."""
    items, samples = batch(fair)
    items = [replace(entry, key=2) if n % 2 else entry for n, entry in enumerate(items)]
    assert judged(items, samples)[MODEL] is False


def test_numbers_that_leave_the_order_of_reading_at_the_true_box_are_found():
    lots = random.Random(1)
    items, samples = [], []
    for number in range(240):
        *rest, true = sorted((anywhere(lots) for _ in range(4)), key=lambda box: box[1::-1])
        key = lots.randrange(3)
        samples.append(sample(number, [*rest[:key], true, *rest[key:]]))
        items.append(item(number, key))
    rows = judged(items, samples)
    assert rows["most out of the order of reading"] is False
    assert rows[MODEL] is False


def test_the_rule_is_an_error_and_says_what_gives_the_boxes_away():
    rules = batch_rules(*batch(lambda lots: [inside_a_margin(lots), *fair(lots)[1:]]))
    assert (rules["box-geometry"]["level"], rules["box-geometry"]["holds"]) == ("error", False)
    assert "chance of 25.0 %" in rules["box-geometry"]["message"]


def test_items_without_boxes_are_not_measured():
    assert "box-geometry" in {rule.id for rule in BATCH_RULES}
    items, samples = batch(fair, 4)
    assert box_geometry(items, [replace(entry, boxes="") for entry in samples]) == []


def test_a_model_is_not_fitted_to_a_single_patient():
    items, samples = batch(fair, 12)
    rows = judged(items, [replace(entry, patient="p") for entry in samples])
    assert rows[MODEL] is None

"""What a release tells of its items beyond the cube follows from the items alone."""

import json
from types import SimpleNamespace

import pytest

from medrcube.build.open_items.table import OpenItem
from medrcube.build.release.contact_sheets import answer_of
from medrcube.build.release.metadata.limitations import limits_of
from medrcube.build.release.metadata.release_facts import ReleaseFacts
from medrcube.build.release.open_facts import asked_text, open_tasks

BOX = {"size": [100, 100], "box": [10, 10, 30, 50], "iou": 0.5}
MASK = {"mask": {"size": [2, 2], "counts": [1, 3]}}
FORMS = {
    "box": (
        {},
        [BOX, {**BOX, "iou": 0.7}],
        "with an intersection over union of at least 0.5 to 0.7",
    ),
    "point": (
        {},
        [{"size": [2, 2], "region": MASK, "margin": 1}],
        "on the region or within 1 px of it",
    ),
    "number": (
        {"unit": "mm"},
        [{"value": 20, "low": 18, "high": 25}, {"value": 20, "low": 19, "high": 21}],
        "within 5 to 25 % of the true value",
    ),
    "option": ({"options": ["left", "right"]}, [{"key": 1}], "if it is the right option"),
    "pair": ({"statements": ["a", "b"]}, [{"answers": [True, False]}], "if both parts are right"),
    "order": ({"labels": ["a", "b"]}, [{"order": ["b", "a"]}], "in the exact order"),
}


def item(form, truth, **columns):
    ask = FORMS[form][0]
    return OpenItem(
        **{
            "id": "i",
            "sample": "s",
            "source": "toy",
            "task": "Toy",
            "anatomy": "Chest",
            "modality": "CT",
            "question": "Where is it?",
            "form": form,
            "chance": 0.5,
            "ask": json.dumps(ask),
            "truth": json.dumps(truth),
            "field": "f",
            "concept": "c",
            "grade": "A",
            "visible": "yes",
            "variant": "v",
            "template": "t",
            "seed": 0,
            **columns,
        }
    )


@pytest.mark.parametrize("form", FORMS)
def test_the_bar_of_each_form_is_told_in_words(form):
    _, truths, words = FORMS[form]
    (task,) = open_tasks(item(form, truth) for truth in truths)
    assert (task.form, task.items, task.bar) == (form, len(truths), words)


@pytest.mark.parametrize(
    ("unit", "truths", "words"),
    [
        ("%", [(35, 27, 43), (71.5, 63.5, 79.5)], "8 percentage points"),
        ("%", [(50, 42, 58)], "8 percentage points"),
        ("", [(0.4, 0.38, 0.42), (0.6, 0.579, 0.62)], "0.02 to 0.021"),
        ("mm", [(20, 15, 25), (60, 55, 65)], "5 mm"),
        ("mm", [(20, 16, 24), (60, 48, 72)], "20 %"),
        ("mm", [(20, 16, 24)], "20 %"),
    ],
)
def test_a_tolerance_is_told_in_the_unit_or_as_a_share_as_it_is_meant(unit, truths, words):
    (task,) = open_tasks(
        item("number", dict(zip(("value", "low", "high"), truth, strict=True)), ask=ask(unit))
        for truth in truths
    )
    assert task.bar == f"within {words} of the true value"


def ask(unit):
    return json.dumps({"unit": unit})


def test_chance_and_review_are_counted_from_the_items():
    chances, states = (0.1, 0.2, 0.6), ("unreviewed", "accepted", "in_review")
    (task,) = open_tasks(
        item("box", BOX, chance=chance, state=state)
        for chance, state in zip(chances, states, strict=True)
    )
    assert task.accepted == 1
    assert task.chance == "10 to 60 %, 30 % on average"
    assert task.words.endswith("1 accepted by a clinician")
    (alone,) = open_tasks([item("box", BOX)])
    assert alone.words.endswith("by chance 50 %; none accepted by a clinician")


def facts_of(tasks, **changes):
    sources = [SimpleNamespace(items=7 + sum(task.items for task in tasks))]
    return ReleaseFacts(
        **{
            "name": "v1",
            "day": None,
            "sources": sources,
            "places": dict.fromkeys("abcd"),
            "tasks": {},
            "grades": {},
            "editions": (),
            "review": {"unreviewed": 0},
            "open_tasks": tasks,
            "choice_pictures": 3,
            **changes,
        }
    )


def test_questions_and_items_beyond_the_cube_are_counted_each_with_its_images():
    assert facts_of(()).counts == "7 multiple-choice questions about 3 images"
    text = facts_of(open_tasks([item("box", BOX), item("option", {"key": 1}, task="Side")])).counts
    assert text == (
        "7 multiple-choice questions about 3 images, and 2 further items that ask for a box or one "
        "option of a set, which the published evaluator does not read; 4 images in all"
    )


def test_what_items_ask_for_is_listed_in_words():
    tasks = open_tasks(item(form, FORMS[form][1][0], task=form) for form in FORMS)
    assert asked_text(tasks) == (
        "a box, a point, a number, an order, two judgements or one option of a set"
    )
    assert asked_text(tasks[:1]) == "a box"


def test_images_that_are_mirrored_on_purpose_are_a_known_limit():
    places = {
        str(n): SimpleNamespace(artefact=kind) for n, kind in enumerate(("clean", "mirrored"))
    }
    (limit,) = (text for text in limits_of(facts_of((), places=places)) if "exchanged" in text)
    assert limit.startswith("1 image is shown with left and right exchanged, on purpose")
    places.pop("1")
    assert not any("exchanged" in text for text in limits_of(facts_of((), places=places)))


def test_limits_name_each_task_beyond_the_cube():
    tasks = open_tasks([item("box", BOX), item("number", FORMS["number"][1][0], task="Width")])
    facts = ReleaseFacts(
        name="v1", day=None, sources=(), places={}, tasks={}, grades={}, editions=(),
        review={"unreviewed": 3}, open_tasks=tasks,
    )  # fmt: skip
    assert facts.unreviewed == 5
    limits = limits_of(facts)
    assert [limit.partition(":")[0] for limit in limits[-2:]] == ["Toy, 1 item", "Width, 1 item"]
    assert any(limit.startswith("2 items of tasks beyond the published") for limit in limits)


def test_the_right_answer_of_a_contact_sheet_is_that_of_its_form():
    assert answer_of(item("option", {"key": 1})) == "right"
    assert answer_of(item("number", FORMS["number"][1][0])) == "20 mm"
    assert answer_of(item("box", BOX)) == "[100, 100, 300, 500]"
    assert answer_of(item("point", FORMS["point"][1][0])) == "(750, 500)"  # right column of two
    assert answer_of(item("order", FORMS["order"][1][0])) == ", ".join(
        FORMS["order"][1][0]["order"]
    )

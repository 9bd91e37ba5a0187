"""What a release says of what changed since an earlier one."""

from __future__ import annotations

import json
import shutil

import pytest

from medrcube.build.release.changes import DATA, PAGE, find_changes, write_changes
from medrcube.release_format.errata import Erratum, add_errata
from medrcube.release_format.item_facts import FACT


@pytest.fixture
def old(edition):
    return edition("old")


@pytest.fixture
def new(old, tmp_path):
    """A copy of the old release, to be changed."""
    return shutil.copytree(old, tmp_path / "new")


def rows(tree):
    return json.loads((tree / "TOY/test.json").read_text(encoding="utf-8"))


def write(tree, items):
    (tree / "TOY/test.json").write_text(json.dumps(items), encoding="utf-8")


def all_rows(tree):
    """Items of both tables."""
    return rows(tree) + json.loads((tree / "TOY/open.json").read_text(encoding="utf-8"))


def kinds(old, new):
    return {change.item: change.kinds for change in find_changes(old, new).changes}


def test_equal_releases_have_no_change(old, new):
    changes = find_changes(old, new)
    assert (changes.changes, changes.same) == ((), len(all_rows(old)))


def swap_key(row):
    other = next(row[f"option_{x}"] for x in "AB" if row[f"option_{x}"] != row["gt_answer"])
    row["gt_answer"] = other
    row["correct_index"] = "AB".index(next(x for x in "AB" if row[f"option_{x}"] == other))


def reorder(row):
    row["option_A"], row["option_B"] = row["option_B"], row["option_A"]
    letters = [letter for letter in "ABCD" if f"option_{letter}" in row]
    texts = [row[f"option_{letter}"] for letter in letters]
    row["correct_index"] = texts.index(row["gt_answer"])


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda row: row.update(question="Now asked otherwise?"), "reworded"),
        (swap_key, "re-keyed"),
        (reorder, "reordered"),
        (lambda row: row.update(parts="Heart"), "moved"),
    ],
)
def test_each_change_of_an_item_has_its_kind(old, new, change, kind):
    items = rows(new)
    change(items[0])
    write(new, items)
    assert kinds(old, new) == {f"TOY/{items[0]['id']}": (kind,)}


POLYGONS = [[[1, 1], [5, 1], [5, 5], [1, 5]]]
TRUTHS = {
    "number": [
        ({"unit": "mm"}, {"value": 20.0, "low": 18.0, "high": 22.0}),
        ({"unit": "mm"}, {"value": 24.0, "low": 22.0, "high": 26.0}),
        ({"unit": "mm"}, {"value": 20.0, "low": 16.0, "high": 24.0}),
    ],
    "point": [
        ({}, {"size": [112, 96], "region": {"polygons": POLYGONS}, "margin": 1.0}),
        ({}, {"size": [112, 96], "region": {"polygons": POLYGONS}, "margin": 2.0}),
    ],
    "box": [
        ({}, {"size": [112, 96], "box": [10, 10, 20, 20], "iou": 0.5}),
        ({}, {"size": [112, 96], "box": [10, 10, 20, 20], "iou": 0.6}),
    ],
    "order": [
        ({"labels": ["A", "B"]}, {"order": ["A", "B"]}),
        ({"labels": ["A", "B"]}, {"order": ["B", "A"]}),
    ],
    "pair": [
        ({"statements": ["It is.", "It was."]}, {"answers": [True, True]}),
        ({"statements": ["It is.", "It was."]}, {"answers": [True, False]}),
    ],
}
"""Form -> what is asked and right, and corrections of it."""


def restate(tree, form, ask, truth):
    """Make the first open item one of a form; its name."""
    path = tree / "TOY/open.json"
    open_rows = json.loads(path.read_text(encoding="utf-8"))
    open_rows[0] |= {"form": form, "ask": ask, "truth": truth}
    path.write_text(json.dumps(open_rows), encoding="utf-8")
    return f"TOY/{open_rows[0]['id']}"


@pytest.mark.parametrize(
    ("form", "number"), [(form, n) for form in TRUTHS for n in range(1, len(TRUTHS[form]))]
)
def test_a_corrected_truth_or_bar_of_an_open_item_is_another_key(old, new, form, number):
    restate(old, form, *TRUTHS[form][0])
    assert kinds(old, shutil.copytree(old, new.with_name("same"))) == {}
    item = restate(new, form, *TRUTHS[form][number])
    assert kinds(old, new) == {item: ("re-keyed",)}


def test_another_unit_is_another_question_with_another_key(old, new):
    restate(old, "number", *TRUTHS["number"][0])
    item = restate(new, "number", {"unit": "cm"}, {"value": 2.0, "low": 1.8, "high": 2.2})
    assert kinds(old, new) == {item: ("re-keyed", "reworded")}


def test_items_that_come_and_go_are_named(old, new):
    items = rows(new)
    gone = items.pop(0)
    write(new, [*items, {**gone, "id": "another"}])
    facts = (new / "items.csv").read_text().splitlines()
    (new / "items.csv").write_text(
        "\n".join(line for line in facts if gone["id"] not in line) + "\n"
    )
    assert kinds(old, new) == {"TOY/another": ("added",), f"TOY/{gone['id']}": ("gone",)}


def test_a_fact_under_another_id_is_renamed_and_not_added(old, new):
    items = rows(new)
    name = items[0]["id"]
    items[0]["id"] = "another"
    write(new, items)
    facts = new / "items.csv"
    assert FACT.search(facts.read_text())
    facts.write_text(facts.read_text().replace(f"TOY,{name},", "TOY,another,"))
    changes = find_changes(old, new)
    assert [(c.item, c.kinds, c.before) for c in changes.changes] == [
        ("TOY/another", ("renamed",), f"TOY/{name}")
    ]


def test_a_picture_is_told_by_its_pixel_hash_also_where_it_is_withheld(old, new):
    recipes = [json.loads(line) for line in (new / "recipes.jsonl").read_text().splitlines()]
    withheld = next(recipe for recipe in recipes if recipe["restricted"])
    withheld["pixel_sha256"] = "0" * 64
    (new / "recipes.jsonl").write_text("".join(json.dumps(recipe) + "\n" for recipe in recipes))
    of_it = {
        f"TOY/{row['id']}"
        for row in all_rows(new)
        if f"TOY/{row['image_path']}" == withheld["image"]
    }
    assert of_it
    assert kinds(old, new) == dict.fromkeys(of_it, ("picture-changed",))


def test_without_recipes_a_picture_that_is_not_there_is_unknown(old, new):
    (old / "recipes.jsonl").unlink()
    restricted = {f"TOY/{row['id']}" for row in all_rows(new) if row["restricted"]}
    assert kinds(old, new) == dict.fromkeys(restricted, ("picture-unknown",))


def test_withdrawn_items_that_are_still_there_are_shouted(old, new):
    name = rows(old)[0]["id"]
    row = Erratum(dataset="TOY", id=name, by="maintainer", on="2026-01-01", why="Wrong key.")
    add_errata(old, [row], {f"TOY/{name}"})
    changes = find_changes(old, new)
    assert changes.still_there == (f"TOY/{name}",)
    write_changes(new, changes)
    assert "1 item withdrawn" in (new / PAGE).read_text()


def test_a_release_since_another_is_valid_and_holds_both_files(released, old, check):
    new = released("new", since=old)
    assert not check(new).findings
    assert "No item changed." in (new / PAGE).read_text(encoding="utf-8")
    data = json.loads((new / DATA).read_text(encoding="utf-8"))
    assert (data["old"]["name"], data["same"], data["counts"]) == ("x", len(all_rows(old)), {})
    assert not (old / PAGE).exists()

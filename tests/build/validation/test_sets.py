"""``sets.json`` is checked against the items that it names, and read with suspicion."""

import json
import shutil

import pytest

from medrcube.errors import ReleaseError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.release_format.item_sets import (
    SETS,
    ItemSet,
    SetMember,
    read_item_sets,
    write_item_sets,
)


@pytest.fixture
def tree(small_demo, tmp_path):
    return shutil.copytree(small_demo / "demo/release", tmp_path / "release")


def change(tree, **values):
    """Change the first set of a release."""
    sets = json.loads((tree / SETS).read_text())
    sets[0] |= values
    (tree / SETS).write_text(json.dumps(sets))
    return sets[0]


def sets_faults(check, tree):
    findings = check(tree).findings
    return [text for finding in findings if finding.check == "sets" for text in finding.examples]


def test_the_sets_of_the_demo_are_sound_and_reach_the_benchmark(tree):
    sets = read_item_sets(tree)
    assert sets
    assert all(item_set.is_complete for item_set in sets)
    items = {(item.dataset, item.id): item for item in load_benchmark(tree).items}
    for item_set in sets:
        for member in item_set.members:
            item = items[member.dataset, member.id]
            assert (item.set, item.role, item.set_size) == (item_set.id, member.role, item_set.size)


def test_sets_do_not_change_which_benchmark_a_release_is(tree):
    digest = load_benchmark(tree).digest
    (tree / SETS).unlink()
    assert load_benchmark(tree).digest == digest


def test_a_set_of_other_items_is_a_fault(tree, check):
    first, second = json.loads((tree / SETS).read_text())[:2]
    change(tree, members=[first["members"][0], {**first["members"][1], "id": "nobody"}], size=2)
    assert "not a valid item" in sets_faults(check, tree)[0]
    change(tree, members=[first["members"][0], first["members"][0]], size=2)
    assert "in two sets" in sets_faults(check, tree)[0]
    (tree / SETS).write_text(
        json.dumps([{**first, "size": 2, "members": [first["members"][0], second["members"][0]]}])
    )
    assert sets_faults(check, tree)


def test_a_set_of_items_that_differ_is_never_scored(tree):
    first, second = json.loads((tree / SETS).read_text())[:2]
    members = [first["members"][0], second["members"][0]]
    (tree / SETS).write_text(json.dumps([{**first, "size": 2, "members": members}]))
    with pytest.raises(
        ReleaseError, match=f"{first['id']} contains items with different questions"
    ):
        load_benchmark(tree)


def test_the_hub_edition_must_tell_the_sets_of_the_release(tree, check):
    (tree / SETS).write_text("[]\n")
    findings = {finding.check: finding.examples for finding in check(tree).findings}
    assert "a different set or role" in findings["edition-differs"][0]


def test_a_source_that_was_left_out_of_a_copy_leaves_sets_incomplete(tree):
    name = read_item_sets(tree)[0].members[0].dataset
    shutil.rmtree(tree / name)
    assert {item.dataset for item in load_benchmark(tree).items}.isdisjoint({name})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{}", "expected a list"),
        ("[1]", "expected id, size and members"),
        ('[{"id": "x", "size": 2, "members": []}]', "expected one like block-"),
        ('[{"id": "block-0123456789abcdef", "size": true, "members": []}]', "size is True"),
        ('[{"id": "block-0123456789abcdef", "size": 2, "members": []}]', "1 to 2 members"),
        ('[{"id": "block-0123456789abcdef", "size": 2, "members": [{}]}]', "dataset, id and role"),
        (
            (
                '[{"id": "block-0123456789abcdef", "size": 2, "members": '
                '[{"dataset": "TOY", "id": "a", "role": "\\ud800"}]}]'
            ),
            "dataset, id and role",
        ),
    ],
)
def test_a_file_that_holds_no_sets_is_refused(tmp_path, text, message):
    (tmp_path / SETS).write_text(text)
    with pytest.raises(ReleaseError, match=message):
        read_item_sets(tmp_path)


def test_sets_are_read_as_they_were_written(tmp_path):
    members = tuple(SetMember(dataset="TOY", id=name, role="é") for name in "ab")
    sets = (
        ItemSet(id="block-0123456789abcdef", size=3, members=members),
        ItemSet(
            id="pair-0123456789abcdef",
            size=2,
            members=(SetMember(dataset="TOY", id="c", role="yes"),),
        ),
    )
    write_item_sets(tmp_path, sets)
    assert read_item_sets(tmp_path) == sets
    write_item_sets(tmp_path, ())
    assert read_item_sets(tmp_path) == ()

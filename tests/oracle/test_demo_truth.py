"""No option of any item of the demo could be true, and no place that is asked for lies elsewhere.

The oracle looks at all of them.
"""

from collections import Counter

import pytest
from truth.places import place_faults
from truth.verdict import SAFE

from medrcube.facts import Grade
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import cube_tasks

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
LIST_LIMIT = 10


@pytest.fixture(scope="module")
def findings(demo):
    return {
        name: [fault for item in build.items for fault in build.oracle.examine(item)]
        for name, build in demo.items()
    }


@pytest.mark.parametrize("variant", ["demo", "hard", "easy", "whole"])
def test_no_option_of_any_item_could_be_true(findings, variant):
    entries = findings[variant]
    kinds = Counter((entry.rule, entry.item.split()[0]) for entry in entries)
    listed = "\n".join(str(entry) for entry in entries[:LIST_LIMIT])
    assert not entries, f"{len(entries)} findings, such as:\n{listed}\n{dict(kinds)}"


def test_every_source_and_every_task_is_examined(demo):
    items = demo["whole"].items
    assert {item.source for item in items} == set(find_sources())
    assert {item.task for item in items} == set(map(str, cube_tasks()))
    assert {sample.artefact for sample in demo["whole"].oracle.samples.values()} == {
        *("clean", "outline", "boxes", "numbered"),
        *("scale-bar", "mirrored", "compared"),
    }
    assert len(items) > 1300
    assert sum(len(item.options) for item in items) > 4200


def test_every_wrong_option_is_judged_once_and_each_proof_is_met(demo, findings):
    for build in demo.values():
        wrong = sum(len(item.options) - 1 for item in build.items)
        assert build.oracle.tally.total() == wrong
    tally = sum((build.oracle.tally for build in demo.values()), Counter())
    assert {rule: tally[rule] for rule in (*SAFE, "box", "panel") if not tally[rule]} == {}
    assert tally["excluded"] > 6000
    assert tally["box"] > 900
    assert tally["absent"] > 50
    assert tally["another part"] > 50


def test_the_draws_differ_so_that_they_show_more_than_one_of_them(demo):
    sets = [
        {
            (item.sample, item.task, *sorted(option.text for option in item.options))
            for item in items
        }
        for items in (demo[name].items for name in ("demo", "hard", "easy"))
    ]
    assert all(
        len(members - other) > 100 for members in sets for other in sets if members is not other
    )


def test_no_option_rests_on_silence(demo):
    grades = {
        option.grade for build in demo.values() for item in build.items for option in item.options
    }
    assert grades == {"", Grade.A, Grade.B}


def test_every_point_and_box_lies_where_the_raw_marks_say(demo):
    build = demo["demo"]
    placed = [item for item in build.open_items if item.form in {"point", "box"}]
    faults = []
    for item in placed:
        witness, sample = build.oracle.witness(item.source), build.oracle.samples[item.sample]
        case = witness.cases[sample.case]
        own = place_faults(witness.card, case, item, sample)
        faults += [f"{item.source} {sample.case} {item.form}: {fault}" for fault in own]
    assert not faults, f"{len(faults)} faults, such as:\n" + "\n".join(faults[:LIST_LIMIT])
    assert len(placed) > 250
    assert len({item.source for item in placed}) > 15

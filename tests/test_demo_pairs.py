"""Who does not look at the images has no pair of the demo right, and no task above its chance."""

import json
import math
from collections import Counter, defaultdict
from statistics import median

import pandas as pd
import pytest

from medrcube.build.open_items.table import open_items_from_frame
from medrcube.forms import form_of
from medrcube.forms.box import BoxTarget
from medrcube.forms.coordinates import SCALE
from medrcube.forms.number import NumberTarget
from medrcube.forms.option import OptionTarget
from medrcube.taxonomy import Task

TASKS = ("Presence", "Abstention")


@pytest.fixture(
    params=[
        "small_demo",
        pytest.param("whole_demo", marks=(pytest.mark.thorough, pytest.mark.untraced)),
    ],
)
def demo(request):
    """The demo of three sources, in which presence is asked, and that of all, with abstention."""
    return request.getfixturevalue(request.param) / "demo"


@pytest.fixture
def pairs(demo):
    items = open_items_from_frame(pd.read_parquet(demo / "open_items.parquet"))
    entries = defaultdict(list)
    for item in items:
        if item.task in TASKS:
            entries[item.task, item.set].append(item)
    return entries


def metrics_of(demo, baseline):
    text = (demo / "runs" / baseline / "metrics.json").read_text(encoding="utf-8")
    return json.loads(text)["sets"]


def rows(demo, baseline):
    """Rows of the tasks of pairs that this demo has."""
    return {task: row for task, row in metrics_of(demo, baseline)["task"].items() if task in TASKS}


def test_there_are_pairs(pairs):
    assert len(pairs) >= 5


def test_the_words_of_a_pair_do_not_tell_its_images_apart(pairs):
    for members in pairs.values():
        assert len({(item.question, tuple(item.target.options)) for item in members}) == 1
        assert len({item.target.key for item in members}) == len(members) == 2


def test_the_share_that_a_constant_answer_has_right_is_stored_and_no_more_than_half(pairs):
    assert {item.chance for members in pairs.values() for item in members} == {0.5}


@pytest.mark.parametrize("baseline", ["first", "longest"])
def test_a_constant_answer_has_no_pair_right_and_at_most_half_of_the_items(demo, baseline):
    for row in rows(demo, baseline).values():
        assert (row["correct"], row["confusion"]) == (0, 1.0)
        assert row["item_accuracy"] <= 0.5


def test_lots_have_as_many_pairs_right_as_independent_guesses(demo):
    for row in rows(demo, "random").values():
        error = math.sqrt(row["chance"] * (1 - row["chance"]) / row["n"])
        assert abs(row["accuracy"] - row["chance"]) <= 3 * error


def test_always_yes_is_told_as_a_share_of_yes(demo):
    yes_no = metrics_of(demo, "first")["yes_no"]
    assert (yes_no["yes_share"], yes_no["yes_keys"]) == (1.0, 0.5)


def test_how_far_size_and_brightness_tell_the_images_of_a_pair_apart_is_in_both_audits(demo):
    for folder in (demo, demo / "release"):
        audit = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
        (row, *_) = audit["open_rules"]["pair-split"]["rows"]
        assert (row["task"], row["cue"], row["chance"]) == ("Presence", "all of these", 0.5)
        assert row["within"] is (row["accuracy"] <= row["threshold"])


@pytest.mark.parametrize("baseline", ["random", "first", "longest"])
def test_no_baseline_passes_more_items_of_a_task_than_their_chance(demo, baseline):
    text = (demo / "runs" / baseline / "metrics.json").read_text(encoding="utf-8")
    rows = json.loads(text)["slices"]["task"]
    beyond = {name: row for name, row in rows.items() if Task(name).declaration.rule}
    assert beyond
    assert [
        n for n, row in beyond.items() if row["accuracy"] > bound(row["chance"], row["n"])
    ] == []


@pytest.mark.parametrize("alike", ["task", "prior", "question"])
def test_what_other_patients_answer_passes_no_more_items_of_a_task_than_their_chance(demo, alike):
    items = open_items_from_frame(pd.read_parquet(demo / "open_items.parquet"))
    frame = pd.read_parquet(demo / "samples.parquet").set_index("id")
    owner = {item.id: frame.patient[item.sample] or frame.case[item.sample] for item in items}
    groups = defaultdict(list)
    for item in items:
        groups[item.task, getattr(item, alike)].append(item)
    passed, chances = defaultdict(list), defaultdict(list)
    for (task, _), own in groups.items():
        for item in own:
            others = [other.target for other in own if owner[other.id] != owner[item.id]]
            passed[task].append(bool(others) and passes(usual(others), item.target))
            chances[task].append(item.chance)
    high = {
        task: (sum(passed[task]), sum(own), len(own))
        for task, own in chances.items()
        if sum(passed[task]) / len(own) > bound(sum(own) / len(own), len(own))
    }
    assert high == {}


def test_no_audit_of_the_open_items_fails(demo):
    audit = json.loads((demo / "audit.json").read_text(encoding="utf-8"))
    assert [name for name, rule in audit["open_rules"].items() if rule["holds"] is False] == []


def bound(chance, n):
    """Share that luck reaches in one of a thousand runs."""
    return chance + 3 * math.sqrt(max(chance * (1 - chance), 1 / n) / n)


def usual(targets):
    """The commonest option, or the median of numbers and coordinates."""
    first = targets[0]
    if isinstance(first, OptionTarget):
        return Counter(dict(target.options)[target.key] for target in targets).most_common(1)[0][0]
    if isinstance(first, NumberTarget):
        return median(target.value for target in targets)
    return tuple(map(median, zip(*map(place, targets), strict=True)))


def place(target):
    """Box, or centre of the region, in the coordinates of replies."""
    numbers = target.box if isinstance(target, BoxTarget) else target.region.centre()
    return [SCALE * number / target.size[axis % 2] for axis, number in enumerate(numbers)]


def passes(answer, target):
    if isinstance(target, OptionTarget):
        return dict(target.options)[target.key] == answer
    return form_of(target).score(answer, target).passed

"""Groups of an axis: which members they hold, and in which order they stand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from medrcube.evaluate.statistics.grouping import COLUMNS, grouped
from medrcube.taxonomy import Anatomy, Level, Modality, Task, cube_tasks


def names(axis, results):
    groups = grouped(axis, results, lambda result: result.item)
    return {key: [member.item.id for member in members] for key, members in groups.items()}


def test_tasks_of_one_level_are_one_group_in_the_order_of_the_members(result):
    rows = [result(str(i), task=task) for i, task in enumerate(cube_tasks())]
    keys = names("level", rows[::-1])
    order = [level.value for level in Level]
    assert [key for (key,) in keys] == sorted((key for (key,) in keys), key=order.index)
    for (level,), members in keys.items():
        expected = [entry.item.id for entry in rows if entry.item.task.level.value == level]
        assert members == expected[::-1]
        assert len(members) > 1


@pytest.mark.parametrize(
    ("axis", "values"), [("task", Task), ("modality", Modality), ("parts", Anatomy)]
)
def test_groups_stand_in_the_order_of_the_taxonomy(result, axis, values):
    rows = [result(str(i), **{axis: value}) for i, value in enumerate(values)]
    keys = names(axis, rows[::-1])
    assert [key for (key,) in keys] == [value.value for value in values]


def test_datasets_stand_in_the_order_of_their_names(result):
    rows = [result(name, dataset=name) for name in ("b", "C", "a")]
    assert list(names("dataset", rows)) == [("C",), ("a",), ("b",)]


def test_an_unknown_visibility_stands_last(result):
    rows = []
    for visible in ("", "no", "partly", "yes"):
        answer = result(visible or "unknown")
        presentation = answer.question.presentation
        presentation = replace(presentation, item=replace(presentation.item, visible=visible))
        rows.append(replace(answer, question=replace(answer.question, presentation=presentation)))
    assert list(names("visible", rows)) == [("yes",), ("partly",), ("no",), ("",)]


def test_voxels_stand_by_modality_then_task_then_region(result):
    tasks, kinds, regions = list(Task)[:2], list(Modality)[:2], list(Anatomy)[:2]
    rows = [
        result(f"{t}{m}{r}", task=tasks[t], modality=kinds[m], parts=regions[r])
        for t in (1, 0)
        for m in (1, 0)
        for r in (1, 0)
    ]
    keys = names("voxel", rows)
    assert COLUMNS["voxel"] == ("task", "modality", "parts")
    assert list(keys) == [
        (tasks[t].value, kinds[m].value, regions[r].value)
        for m in (0, 1)
        for t in (0, 1)
        for r in (0, 1)
    ]
    assert keys[tasks[1].value, kinds[0].value, regions[1].value] == ["101"]


def test_no_member_has_no_group():
    assert grouped("voxel", [], lambda result: result.item) == {}

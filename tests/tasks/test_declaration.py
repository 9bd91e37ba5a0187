import pickle
import shutil
from pathlib import Path

import pytest

from medrcube.tasks.declaration import TaskError, load_task
from medrcube.taxonomy import Level, Task

LEVELS = [level.value for level in Level]


@pytest.fixture
def folder(tmp_path):
    """A copy of a task that a test may change."""
    return Path(
        shutil.copytree(Task("View Recognition").declaration.folder, tmp_path / "view_recognition")
    )


def edit_file(folder, old, new):
    path = folder / "task.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


def test_tasks_stand_by_level_and_place():
    order = [(LEVELS.index(task.level), task.declaration.place) for task in Task]
    assert order == sorted(order)


def test_an_answer_of_the_highest_level_rests_on_the_lower_ones():
    assert Level("high").rests_on == ("low", "mid")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('level = "low"', 'level = "deep"', r"key 'level': expected one of low, mid, high"),
        ('["view"]', '["views"]', r"key 'facts.kinds': expected one of view, protocol"),
        ('["clean"]', '["clear"]', r"key 'facts.artefacts': expected different ones of clean"),
        ('told_by = "words"', 'told_by = "noise"', r"key 'facts.told_by'"),
        ('told_by = "words"', 'told_bye = "words"', r"unknown key 'facts.told_bye'; did you mean"),
        ('"scale"]', '"scales"]', r"key 'wording.values': expected different ones of shown"),
        ('"scale"]', '"about"]', r"key 'wording.scale': expected a phrase if, and only if"),
        ('kinds = ["view"]', 'kinds = ["view"]\naxis = "modality"', r"either kinds of facts, or"),
        ('name = "View', 'name = "Plane', r"key 'name': expected the name of its folder"),
        ("accept =", "accepts =", r"key 'review.accept' is missing \(there is 'accepts'"),
        ("place = 2", "place = ", r"is not valid TOML"),
    ],
)
def test_a_wrong_declaration_is_refused_with_its_file_and_key(folder, old, new, message):
    with pytest.raises(TaskError, match=message) as refusal:
        load_task(edit_file(folder, old, new), LEVELS)
    assert "task.toml" in str(refusal.value)


def test_a_folder_without_a_declaration_is_refused(tmp_path):
    with pytest.raises(TaskError, match=r"task\.toml: cannot be read"):
        load_task(tmp_path, LEVELS)


def test_a_task_reaches_another_process_without_the_place_of_its_folder():
    task = Task("View Recognition")
    data = pickle.dumps(task)
    assert str(task.declaration.folder).encode() not in data
    assert pickle.loads(data) is task  # noqa: S301 -- our own bytes

"""The commands about tasks see those of a workspace where one is named."""

import json

import pytest
from typer.testing import CliRunner

from medrcube.build.questions.authoring.task_scaffold import new_task
from medrcube.cli.app import app
from medrcube.errors import MedrcubeError, WorkspaceError
from medrcube.vocabulary.layers import using_vocabulary
from medrcube.workspace import init_workspace


@pytest.fixture(autouse=True)
def _own_vocabulary():
    """A command activates the layers that it sees for good."""
    with using_vocabulary([]):
        yield


@pytest.fixture
def workspace(tmp_path):
    """A workspace with a drafted task of its own."""
    init_workspace(tmp_path / "work")
    new_task("Lesion Box", tmp_path / "work/vocabulary/tasks", rule=True)
    return tmp_path / "work"


def tasks(*arguments):
    return CliRunner().invoke(app, ["tasks", *map(str, arguments)])


def test_a_task_of_a_workspace_is_listed_and_shown(workspace):
    listed = json.loads(tasks("list", "--json", "--workspace", workspace).stdout)
    assert "Lesion Box" in {task["name"] for task in listed}
    assert "answer form box" in tasks("show", "Lesion Box", "--workspace", workspace).stdout


@pytest.mark.thorough
def test_a_task_of_a_workspace_is_checked(workspace):
    checked = tasks("check", "Lesion Box", "--workspace", workspace)
    assert (checked.exit_code, checked.stdout.split(":")[0]) == (0, "Lesion Box")


def test_without_the_workspace_its_task_is_not_known(workspace):
    assert workspace.is_dir()
    error = tasks("show", "Lesion Box").exception
    assert isinstance(error, MedrcubeError)
    assert "'Lesion Box' is not a known task" in str(error)


def test_a_folder_that_is_no_workspace_is_an_error(tmp_path):
    assert isinstance(tasks("list", "--workspace", tmp_path).exception, WorkspaceError)

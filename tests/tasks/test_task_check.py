import shutil
from pathlib import Path

import pytest

from medrcube.build.questions.task_check import check_task
from medrcube.build.questions.task_scaffold import new_task
from medrcube.errors import MedrcubeError
from medrcube.sources._framework.card import load_card
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.vocabulary.layers import using_vocabulary

INBREAST = find_sources()["inbreast"].folder


@pytest.fixture
def layer(tmp_path):
    """A layer with one new task, which asks how dense a breast is."""
    folder = new_task("Density Assessment", tmp_path / "tasks")
    path = folder / "task.toml"
    text = path.read_text(encoding="utf-8").replace('scale = "option"', 'scale = "density"')
    path.write_text(text, encoding="utf-8")
    return tmp_path


def failures(layer, *, given=True):
    with using_vocabulary([layer]):
        folder = Path(shutil.copytree(INBREAST, layer / "inbreast", dirs_exist_ok=True))
        path = folder / "card.toml"
        text = path.read_text(encoding="utf-8")
        if given:
            assert '"Modality Recognition"' in text
            text = text.replace('"Modality Recognition"', '"Density Assessment"', 1)
        path.write_text(text, encoding="utf-8")
        task = Task("Density Assessment")
        checks = check_task(task, [load_card(path)])
        return [failure for check in checks for failure in check.failures]


def test_a_task_of_a_layer_is_asked_by_a_source_that_names_it(layer):
    assert failures(layer) == []


def test_a_task_that_no_source_names_is_told(layer):
    (failure,) = failures(layer, given=False)
    assert failure.startswith("no source gives Density Assessment")


def test_a_task_of_a_layer_is_unknown_without_it(layer):
    with using_vocabulary([layer]):
        assert "Density Assessment" in Task
    assert "Density Assessment" not in Task


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{% block shown %}", "{% block matches %}", "block 'matches' defined twice"),
        ("{{ scale }} is shown", "{{ scales }} is shown", "'scales' is undefined"),
        ("{{ scale }} is shown", "{{ scale }} is not shown", "breaks the rule"),
        ("{% block consistent %}", "{# {% block consistent %}", "Missing end of comment"),
    ],
)
def test_a_wrong_wording_is_told_with_its_file(layer, old, new, message):
    path = layer / "tasks" / "density_assessment" / "questions.j2"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    told = failures(layer)
    assert any(message in failure for failure in told), told


def test_a_task_with_one_wording_breaks_the_contract(layer):
    path = layer / "tasks" / "density_assessment" / "questions.j2"
    path.write_text("{% block a %}Which {{ scale }} is shown in {{ shown }}?{% endblock %}")
    assert any("number of wordings: 1, expected 3" in failure for failure in failures(layer))


def test_a_task_whose_kind_no_source_states_is_told(layer):
    path = layer / "tasks" / "density_assessment" / "task.toml"
    text = path.read_text(encoding="utf-8").replace('["attribute"]', '["protocol"]')
    path.write_text(text, encoding="utf-8")
    told = failures(layer)
    assert any("has a fact that may be asked; expected one of protocol" in line for line in told)


@pytest.mark.parametrize("name", ["", "density", "Modality Recognition", "Über/Task"])
def test_a_draft_needs_a_new_name_in_capitals(tmp_path, name):
    with pytest.raises(MedrcubeError, match=r"is no name of a task|is a task already"):
        new_task(name, tmp_path)


def test_a_draft_never_overwrites_a_folder(layer):
    with pytest.raises(MedrcubeError, match="exists"):
        new_task("Density Assessment", layer / "tasks")

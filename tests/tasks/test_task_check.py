import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from medrcube.build.profile.answerable import prepare_cases
from medrcube.build.questions.authoring.task_check import check_task
from medrcube.build.questions.authoring.task_scaffold import new_task
from medrcube.errors import MedrcubeError
from medrcube.facts import Case, ImageRef, Label
from medrcube.ontologies.terms import COLUMNS, TermError, load_terms
from medrcube.sources._framework.card import load_card
from medrcube.sources._framework.card_parts.geometry import GeometryTrust
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.vocabulary.layers import using_vocabulary

SOURCES = find_sources()
INBREAST = SOURCES["inbreast"].folder


@pytest.fixture
def layer(tmp_path):
    """A layer with one new task, which asks how dense a breast is."""
    folder = new_task("Density Assessment", tmp_path / "tasks")
    path = folder / "task.toml"
    text = path.read_text(encoding="utf-8").replace('scale = "option"', 'scale = "density"')
    path.write_text(text, encoding="utf-8")
    return tmp_path


def failures(layer, *, is_given=True):
    with using_vocabulary([layer]):
        folder = Path(shutil.copytree(INBREAST, layer / "inbreast", dirs_exist_ok=True))
        path = folder / "card.toml"
        text = path.read_text(encoding="utf-8")
        if is_given:
            assert '"Modality Recognition"' in text
            text = text.replace('"Modality Recognition"', '"Density Assessment"', 1)
        path.write_text(text, encoding="utf-8")
        task = Task("Density Assessment")
        checks = check_task(task, [load_card(path)])
        return [failure for check in checks for failure in check.failures]


def test_a_task_of_a_layer_is_asked_by_a_source_that_names_it(layer):
    assert failures(layer) == []


def test_concepts_of_a_layer_count_from_when_it_is_active(layer):
    card = SOURCES["inbreast"].card
    field = next(field for field in card.fields.values() if field.group is None)
    raw = next(iter(field.values))
    renamed = replace(field, values={raw: "toy growth"})
    card = replace(card, fields={**card.fields, field.name: renamed})
    label = Label(field=field.name, value=raw, evidence="a row")
    case = Case(key="a", images=(ImageRef(paths=()),), labels=(label,))
    with pytest.raises(TermError, match="toy growth"):
        prepare_cases(card, [case])
    note = "no term: none was looked up"
    row = f"toy growth,{load_terms()['glioma'].kind},growth,,,,,,,{note},"
    (layer / "terms.csv").write_text(f"{','.join(COLUMNS)}\n{row}\n", encoding="utf-8")
    with using_vocabulary([layer]):
        prepare_cases(card, [case])


def test_a_task_that_no_source_names_is_told(layer):
    (failure,) = failures(layer, is_given=False)
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
    messages = failures(layer)
    assert any(message in failure for failure in messages), messages


def test_a_task_with_one_wording_breaks_the_contract(layer):
    path = layer / "tasks" / "density_assessment" / "questions.j2"
    path.write_text("{% block a %}Which {{ scale }} is shown in {{ shown }}?{% endblock %}")
    assert any("number of wordings: 1, expected 3" in failure for failure in failures(layer))


def test_a_task_whose_kind_no_source_states_is_told(layer):
    path = layer / "tasks" / "density_assessment" / "task.toml"
    text = path.read_text(encoding="utf-8").replace('["attribute"]', '["protocol"]')
    path.write_text(text, encoding="utf-8")
    messages = failures(layer)
    assert any(
        "has a fact that may be asked; expected one of protocol" in line for line in messages
    )


@pytest.mark.parametrize(("scale", "holds"), [("object", True), ("unknown", False)])
def test_a_task_on_scale_bars_is_asked_where_a_card_trusts_its_spacing(layer, scale, holds):
    path = layer / "tasks" / "density_assessment" / "task.toml"
    text = path.read_text(encoding="utf-8").replace('["attribute"]', '["structure"]')
    path.write_text(text.replace('["clean"]', '["scale-bar"]'), encoding="utf-8")
    with using_vocabulary([layer]):
        task = Task("Density Assessment")
        card = replace(SOURCES["acdc"].card, tasks=(task,), geometry=GeometryTrust(scale=scale))
        entries = [failure for check in check_task(task, [card]) for failure in check.failures]
    assert (entries == []) is holds


@pytest.mark.parametrize(
    "name",
    ["", "density", "X", "Modality Recognition", "Modality RECOGNITION", "Über Task", "Über/Task"],
)
def test_a_draft_needs_a_new_name_in_capitals(tmp_path, name):
    with pytest.raises(MedrcubeError, match=r"is not a name of a task|is a task already"):
        new_task(name, tmp_path / "tasks")
    assert not (tmp_path / "tasks").exists()


def test_a_draft_has_an_abbreviation_that_no_task_has(tmp_path):
    folder = new_task("Disease Detection", tmp_path / "tasks")
    assert 'abbreviation = "DD"' not in (folder / "task.toml").read_text(encoding="utf-8")
    with using_vocabulary([tmp_path]):
        assert "Disease Detection" in Task


def test_a_draft_never_overwrites_a_folder(layer):
    with pytest.raises(MedrcubeError, match="exists"):
        new_task("Density Assessment", layer / "tasks")

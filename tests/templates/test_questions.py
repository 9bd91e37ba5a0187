import re

import pytest
from jinja2 import UndefinedError

from medrcube.taxonomy import Modality, Task, cube_tasks
from medrcube.templates import (
    TemplateError,
    package_wordings,
    render_card,
    render_question,
    wording_names,
)

VALUES = {
    "shown": "this CT image here",
    "about": "the study from which this CT image was taken",
    "subject": "the study",
    "target": "the left atrium",
    "marked": True,
    "normal": False,
    "numbered": False,
    "scale": "cardiac phases",
    "one_of": "of the following structures",
}
EVERY = [(task, variant) for task in cube_tasks() for variant in wording_names(task)]


@pytest.mark.parametrize("task", cube_tasks())
def test_every_task_has_three_wordings_that_differ(task):
    texts = {render_question(task, variant, **VALUES) for variant in wording_names(task)}
    assert len(texts) >= 3


@pytest.mark.parametrize(("task", "variant"), EVERY)
@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("normal", [True, False])
def test_every_wording_is_one_clean_question(task, variant, marked, numbered, normal):
    values = {**VALUES, "marked": marked, "numbered": numbered, "normal": normal}
    text = render_question(task, variant, **values)
    assert re.fullmatch(r"[A-Z][^?{}\n]*\?", text)
    assert "  " not in text
    assert " ," not in text
    assert not re.search(r"\b(not|except|least|false)\b", text, re.IGNORECASE)


@pytest.mark.parametrize("variant", wording_names(Task("Modality Recognition")))
def test_no_wording_of_modality_recognition_hints_at_a_modality(variant):
    text = render_question(Task("Modality Recognition"), variant, **VALUES)
    names = "|".join(modality.value for modality in Modality)
    hints = rf"\b({names}|mammogram|slice|frame|film|scan|imaging|tomograph\w*)\b"
    assert not re.search(hints, text, re.IGNORECASE)


@pytest.mark.parametrize("variant", wording_names(Task("Modality Recognition")))
def test_no_wording_of_modality_recognition_names_the_part_of_the_body(variant):
    assert "heart" not in render_question(Task("Modality Recognition"), variant, **VALUES)


@pytest.mark.parametrize("variant", wording_names(Task("Organ Recognition")))
def test_no_wording_of_organ_recognition_names_the_region(variant):
    for marked in (True, False):
        text = render_question(Task("Organ Recognition"), variant, **{**VALUES, "marked": marked})
        assert "heart" not in text


def test_a_missing_value_is_an_error():
    with pytest.raises(UndefinedError, match="target"):
        render_question(Task("ROI Grounding"), "contains", shown="this CT image")


def test_an_unknown_wording_names_the_known_ones():
    with pytest.raises(TemplateError, match="no block 'poem'; found acquired, produced, with"):
        render_question(Task("Modality Recognition"), "poem", **VALUES)


def test_versions_of_task_files_differ():
    assert len({package_wordings().version(task) for task in Task}) == len(Task)


def test_an_unknown_card_is_named():
    with pytest.raises(TemplateError, match=r"cards/poem\.j2"):
        render_card("poem")

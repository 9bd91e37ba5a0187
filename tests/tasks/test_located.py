"""Point and Box Grounding: what is asked for is marked in full, and lies nowhere else."""

import re
from dataclasses import replace

import pytest

from medrcube.build.open_items.located import ANOTHER_NAME
from medrcube.build.open_items.marked_places import KIND_ELSEWHERE, ONE_OF_TWO
from medrcube.build.open_items.rule_files import open_questions
from medrcube.build.open_items.wording import question_values
from medrcube.forms import form_of
from medrcube.ontologies.terms import load_terms
from medrcube.taxonomy import Task
from medrcube.templates import render_question, wording_names

TASKS = ("Point Grounding", "Box Grounding")
HERE = {"x0": 150, "x1": 200}
INSIDE = {"x0": 160, "x1": 190}
PIECES = {"pieces": 2}
ELSEWHERE = {"x0": 350, "x1": 400}


def questions_by_concept(view):
    return {question.concept: question for question in open_questions(view)}


@pytest.fixture
def opacities(view_of):
    """A film with a marked opacity and a marked lesion."""

    def make(task, opacity, lesion):
        view = view_of(task, "chexpert", ["Lung Lesion", "Lung Opacity"], lesion, opacity)
        return questions_by_concept(view)

    return make


@pytest.mark.parametrize("task", TASKS)
def test_nothing_is_asked_where_a_kind_of_it_is_marked_elsewhere(opacities, task):
    questions = opacities(task, HERE, ELSEWHERE)
    assert questions["Lung Opacity"].bar_reason == KIND_ELSEWHERE
    assert questions["Lung Lesion"].bar_reason != KIND_ELSEWHERE


@pytest.mark.parametrize("task", TASKS)
def test_a_kind_of_it_within_the_mark_bars_nothing(opacities, task):
    assert opacities(task, HERE, INSIDE)["Lung Opacity"].bar_reason != KIND_ELSEWHERE


def test_a_region_in_pieces_is_pointed_at_and_not_boxed(view_of):
    def reason(task):
        (question,) = questions_by_concept(
            view_of(task, "vindr-mammo", ["mass BI-RADS 3-5"], PIECES)
        ).values()
        return question.bar_reason

    assert [reason(task) for task in TASKS] == ["", "several-regions"]


def passes(question, x, y):
    """Whether a point in pixels passes a question for one."""
    width, height = question.target.size
    answer = [1000 * x / width, 1000 * y / height]
    return form_of(question.target).score(answer, question.target).passed


@pytest.fixture
def pointed(view_of):
    """The question for a point on a mass from column 150 to 200 and row 180 to 240."""

    def ask(shape):
        view = view_of("Point Grounding", "vindr-mammo", ["mass BI-RADS 3-5"], {"shape": shape})
        (question,) = questions_by_concept(view).values()
        return question

    return ask


def test_a_point_in_the_corner_of_a_drawn_box_fails_and_on_an_outlined_finding_passes(pointed):
    corner, middle, edge = (151.5, 181.5), (175, 210), (199, 210)
    assert [passes(pointed("box"), *place) for place in (corner, middle, edge)] == [0, 1, 1]
    assert [passes(pointed("area"), *place) for place in (corner, middle, edge)] == [1, 1, 1]


def test_beside_an_outlined_region_a_drawn_box_counts_as_its_ellipse(view_of):
    view = view_of("Point Grounding", "vindr-mammo", ["mass BI-RADS 3-5"])
    [row] = view.geometry
    box = replace(row, region=1, shape="box", mask="", x0=300, x1=400)
    (question,) = questions_by_concept(replace(view, geometry=(row, box))).values()
    assert passes(question, 151.5, 181.5)
    assert passes(question, 350, 210)
    assert not passes(question, 303.5, 183.5)


@pytest.mark.parametrize("task", TASKS)
def test_a_structure_of_which_there_are_two_is_asked_by_its_side_alone(view_of, task):
    def reason(concept):
        return questions_by_concept(view_of(task, "montgomery-tb", [concept]))[concept].bar_reason

    assert reason("lung") == ONE_OF_TWO
    assert reason("left lung") == ""


@pytest.mark.parametrize("task", TASKS)
def test_a_name_in_words_keeps_the_category_of_what_alone_is_marked(view_of, task):
    (question,) = questions_by_concept(view_of(task, "vindr-mammo", ["mass BI-RADS 3-5"])).values()
    target = question_values(question, load_terms())["target"]
    assert target == "a breast mass (BI-RADS category 3 to 5)"


def test_a_finding_whose_mark_is_too_small_to_be_seen_is_not_asked_about(view_of):
    def reason(pixels):
        marked = {"pixels": pixels}
        view = view_of("Presence", "lidc-idri", ["lung nodule >= 3 mm"], marked)
        return questions_by_concept(view)["lung nodule >= 3 mm"].bar_reason

    assert reason(52) == "too-small"
    assert reason(53) == ""


@pytest.mark.parametrize("task", TASKS)
def test_of_two_names_of_one_place_one_is_asked(view_of, task):
    def reasons(second):
        view = view_of(task, "chexpert", ["Lung Lesion", "Lung Opacity"], {}, second)
        names = ["Pneumothorax", "Pleural Effusion"]
        rows = [replace(row, concept=name) for row, name in zip(view.geometry, names, strict=True)]
        wholes = {name: replace(field, whole=True) for name, field in view.card.fields.items()}
        present = dict.fromkeys(names, view.facts.present["Lung Lesion"])
        marked = replace(
            view,
            card=replace(view.card, fields=wholes),
            facts=replace(view.facts, present=present),
            geometry=tuple(rows),
        )
        return {question.bar_reason for question in questions_by_concept(marked).values()}

    assert reasons(_without(0)) == {"", ANOTHER_NAME}
    assert reasons(_without(12)) == {"", ANOTHER_NAME}  # 38 of 50 columns are both
    assert reasons(_without(13)) == {""}


def _without(columns):
    """The region from column 150 to 200, without its first columns."""
    runs = [(150 + columns) * 512 + 180, *([60, 512 - 60] * (50 - columns - 1)), 60]
    runs.append(512 * 512 - sum(runs))
    mask = " ".join(map(str, runs))
    return {"x0": 150 + columns, "x1": 200, "mask": mask, "pixels": 60 * (50 - columns)}


def test_no_wording_of_a_box_speaks_of_boxes_that_are_drawn(view_of):
    for name in wording_names(Task("Box Grounding")):
        text = render_question(Task("Box Grounding"), name, shown="this image", target="the heart")
        assert not re.search(r"\bwhich\b.*\bbox\b", text, re.IGNORECASE), text

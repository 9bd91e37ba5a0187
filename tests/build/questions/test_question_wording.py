"""The words of a question reveal of its picture what ``wording_context`` says, and no more."""

from dataclasses import fields
from itertools import product

import pytest

from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.question_wording import wording_context, wording_values
from medrcube.build.stages.samples import Sample
from medrcube.facts import Scope
from medrcube.ontologies.distractor_safety import CaseFacts
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.taxonomy import Anatomy, Modality, Task, cube_tasks
from medrcube.templates import render_question, wording_names

BLANK = {field.name: "" for field in fields(Sample)}
GROUPS = {Task("Modality Recognition"): "modality", Task("View Recognition"): "plane"}
ASKED_BY_OPTIONS = sorted(set(cube_tasks()) - {Task("ROI Grounding")})
PICTURES = list(product(Anatomy, Modality, ("0", "1+2", "1+2+3"), ("clean", "outline"), Scope))


def query(task, anatomy, modality, frames, artefact, scope, *, group=None, panels=()):
    cell = {"anatomy": anatomy.value, "modality": modality.value}
    return QuestionCandidate(
        task=task,
        sample=Sample(**{**BLANK, **cell, "frames": frames, "artefact": artefact}),
        field="f",
        key="X-ray",
        scope=scope,
        ground=CaseFacts(
            present={}, absent={}, unknown=frozenset(), anatomy=anatomy, modality=modality
        ),
        group=group or GROUPS.get(task),
        panels=panels,
    )


@pytest.mark.parametrize("task", ASKED_BY_OPTIONS)
def test_questions_of_one_context_read_the_same_in_every_wording(task):
    texts = {}
    for picture in PICTURES:
        candidate = query(task, *picture)
        values = wording_values(candidate, load_terms(), load_relations())
        wordings = tuple(render_question(task, name, **values) for name in wording_names(task))
        texts.setdefault(wording_context(candidate), set()).add(wordings)
    assert {key: wordings for key, wordings in texts.items() if len(wordings) > 1} == {}


def test_the_outline_above_a_scale_bar_is_named():
    place = (Anatomy("Heart"), Modality("MRI"), "0")
    task = Task("Organ Recognition")
    results = {
        kind: read(query(task, *place, kind, Scope.IMAGE)) for kind in ("outline", "scale-bar")
    }
    assert results["scale-bar"] == results["outline"]


def test_a_question_on_the_modality_has_no_context():
    contexts = {
        wording_context(query(Task("Modality Recognition"), *picture)) for picture in PICTURES
    }
    assert contexts == {""}


PHASES = ("end-diastole", "end-systole")


def ejection(**more):
    values = {"group": "LVEF band", "panels": PHASES, **more}
    place = (Anatomy("Heart"), Modality("Ultrasound"), "0+9", "clean", Scope.PATIENT)
    return query(Task("Severity Grading"), *place, **values)


def read(candidate):
    values = wording_values(candidate, load_terms(), load_relations())
    return [
        render_question(candidate.task, name, **values) for name in wording_names(candidate.task)
    ]


def test_an_ejection_fraction_is_asked_of_frames_whose_phases_are_told():
    pictures = "echocardiographic images (end-diastole, then end-systole)?"
    for text in read(ejection()):
        assert "the left ventricular ejection fraction of the patient imaged in" in text
        assert text.endswith(pictures)


def test_pictures_that_tell_their_phases_have_a_context_of_their_own():
    assert wording_context(ejection()) != wording_context(ejection(panels=()))


@pytest.mark.parametrize("task", [Task("View Recognition"), Task("Imaging Protocols Recognition")])
def test_what_panels_show_is_told_of_no_view_and_no_protocol(task):
    place = (Anatomy("Heart"), Modality("Ultrasound"), "0+9", "clean", Scope.IMAGE)
    assert not [text for text in read(query(task, *place, panels=PHASES)) if "end-" in text]


def test_a_rating_is_asked_of_what_is_rated():
    place = (Anatomy("Lungs"), Modality("CT"), "0", "clean", Scope.SLICE)
    rating = query(Task("Severity Grading"), *place, group="lung nodule malignancy")
    assert (
        "Which of the following malignancy ratings best applies to the lung nodule in this chest "
        "CT image?"
    ) in read(rating)


@pytest.mark.parametrize("task", [Task("Abnormality Diagnosis"), Task("Disease Diagnosis")])
def test_a_fact_of_a_study_of_films_is_asked_of_the_film(task):
    place = (Anatomy("Chest"), Modality("X-ray"), "0", "clean", Scope.STUDY)
    assert not [text for text in read(query(task, *place)) if "study" in text]


def test_of_two_structures_it_is_asked_which_one():
    place = (Anatomy("Lungs"), Modality("X-ray"), "0", "outline", Scope.IMAGE)
    texts = read(query(Task("Organ Recognition"), *place, group="lung side"))
    assert "Which lung is outlined in red in this radiograph?" in texts
    assert not [text for text in texts if "the following" in text]

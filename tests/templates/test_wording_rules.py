"""Every wording of every question keeps the rules of item writing, with every group of options."""

from dataclasses import replace

import pytest

from medrcube.ontologies.lint import ERROR, Draft, lint
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.records import FactKind
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task
from medrcube.templates import render_question, variants

TERMS, RELATIONS = load_terms(), load_relations()
CARDS = [source.card for source in find_sources().values()]
TASK_OF = {
    FactKind.VIEW: Task.VIEW_RECOGNITION,
    FactKind.PROTOCOL: Task.IMAGING_PROTOCOLS_RECOGNITION,
    FactKind.STRUCTURE: Task.ORGAN_RECOGNITION,
    FactKind.FINDING: Task.ABNORMALITY_DIAGNOSIS,
    FactKind.DISEASE: Task.DISEASE_DIAGNOSIS,
    FactKind.SEVERITY: Task.SEVERITY_GRADING,
}
SHOWN = ("this chest X-ray", "this CT image", "the two ultrasound images shown side by side")
ASKED = sorted(
    {
        (TASK_OF[field.kind], field.group)
        for card in CARDS
        for field in card.fields.values()
        if field.group
    }
    | {(Task.MODALITY_RECOGNITION, "modality"), (Task.ORGAN_RECOGNITION, "organ")}
)


def errors(task, variant, names, kinds, *, scale="", grouped=True, ranks=(), **values):
    """Errors of one wording for each option as the key."""
    filled = {
        "shown": "this MRI image",
        "subject": "",
        "modality": "MRI",
        "body": "the brain",
        "marked": False,
        "numbered": False,
        "scale": scale,
        "target": "",
    }
    question = render_question(task, variant, **{**filled, **values})
    draft = Draft(
        question=question, options=names, key=0, kinds=kinds, grouped=grouped, ranks=ranks
    )
    return [
        (question, names[key], flaw.rule)
        for key in range(len(names))
        for flaw in lint(replace(draft, key=key))
        if flaw.level == ERROR
    ]


@pytest.mark.parametrize(("task", "group"), ASKED, ids=str)
def test_no_wording_breaks_a_rule_with_a_group_of_options(task, group):
    members = RELATIONS.group_members(group)
    names = tuple(TERMS[label].name for label in members)
    kinds = tuple(TERMS[label].kind for label in members)
    phrase = RELATIONS.scale(group).phrase
    for variant in variants(task):
        for subject in ("", "this patient", "this study"):
            for marked in (False, True):
                values = {"subject": subject, "marked": marked, "scale": phrase}
                assert not errors(task, variant, names, kinds, **values)


FREE = sorted(
    {
        (TASK_OF[field.kind], card.id)
        for card in CARDS
        for field in card.fields.values()
        if not field.group and not field.constant
    }
)


@pytest.mark.parametrize(("task", "source"), FREE, ids=str)
def test_no_wording_breaks_a_rule_with_labels_of_a_source(task, source):
    (card,) = [card for card in CARDS if card.id == source]
    labels = [
        label
        for field in card.fields.values()
        if TASK_OF[field.kind] is task and not field.group
        for label in field.concepts()
    ]
    for label in dict.fromkeys(labels):
        pair = (TERMS[label].name, "hernia of a rib")
        for variant in variants(task):
            for shown in SHOWN:
                found = errors(task, variant, pair, ("", ""), shown=shown, marked=True)
                assert not [flaw for flaw in found if flaw[1] == pair[0]]


@pytest.mark.parametrize("variant", variants(Task.IMAGING_PROTOCOLS_RECOGNITION))
@pytest.mark.parametrize("target", ["end-systole", "end-diastole"])
def test_a_question_about_numbered_frames_names_what_is_asked_for(variant, target):
    task, frames = Task.IMAGING_PROTOCOLS_RECOGNITION, ("Frame 1", "Frame 2")
    values = {"numbered": True, "target": target, "scale": "imaging protocol"}
    assert not errors(task, variant, frames, ("", ""), ranks=(0, 1), **values)
    values |= {"shown": "the two MRI images", "marked": False, "subject": "", "body": "the heart"}
    assert target in render_question(task, variant, **values)


@pytest.mark.parametrize("variant", variants(Task.ROI_GROUNDING))
def test_no_wording_breaks_a_rule_with_boxes(variant):
    boxes = ("Box 1", "Box 2", "Box 3", "Box 4")
    for target in ("lung opacity", "breast mass of BI-RADS 3 to 5"):
        assert not errors(
            Task.ROI_GROUNDING, variant, boxes, ("",) * 4, target=target, ranks=(0, 1, 2, 3)
        )

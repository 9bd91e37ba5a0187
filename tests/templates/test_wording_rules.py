"""Every wording of every question keeps the rules of item writing, with every group of options."""

from dataclasses import fields, replace

import pytest

from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.question_wording import own_names, wording_values
from medrcube.build.stages.samples import Sample
from medrcube.fact_kind import FactKind
from medrcube.facts import Scope
from medrcube.ontologies.distractor_safety import CaseFacts
from medrcube.ontologies.item_rules import ERROR, ItemText, lint
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.target_phrases import target_phrase
from medrcube.ontologies.terms import load_terms
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.templates import render_question, wording_names

TERMS, RELATIONS = load_terms(), load_relations()
CARDS = [source.card for source in find_sources().values()]
TASK_OF = {
    FactKind("view"): Task("View Recognition"),
    FactKind("protocol"): Task("Imaging Protocols Recognition"),
    FactKind("structure"): Task("Organ Recognition"),
    FactKind("finding"): Task("Abnormality Diagnosis"),
    FactKind("disease"): Task("Disease Diagnosis"),
    FactKind("severity"): Task("Severity Grading"),
}
OTHER = "Pneumothorax"
BLANK = {field.name: "" for field in fields(Sample)}
PLACES = sorted(
    {
        (TASK_OF[field.kind], field.group, card.anatomy, card.modality)
        for card in CARDS
        for field in card.fields.values()
        if field.group and field.kind in TASK_OF
    }
    | {(Task("Modality Recognition"), "modality", Anatomy("Chest"), Modality("X-ray"))}
)


def candidate(task, key, group, anatomy, modality, *, scope=Scope.IMAGE, artefact="clean"):
    sample = replace(
        Sample(**BLANK), anatomy=anatomy, modality=modality, frames="0", artefact=artefact
    )
    ground = CaseFacts(
        present={}, absent={}, unknown=frozenset(), anatomy=anatomy, modality=modality
    )
    return QuestionCandidate(
        task=task, sample=sample, field="f", key=key, scope=scope, ground=ground, group=group
    )


def errors(query, labels, *, ranks=()):
    """Errors of every wording with each of the labels as the key."""
    names = own_names(labels, TERMS)
    draft = ItemText(
        question="",
        options=tuple(names[label].text for label in labels),
        key=0,
        kinds=tuple(TERMS[label].kind for label in labels),
        concepts=tuple(labels),
        grouped=query.group is not None,
        ranks=ranks,
    )
    values = wording_values(query, TERMS, RELATIONS, labels)
    return [
        (question, labels[key], flaw.rule)
        for name in wording_names(query.task)
        for question in [render_question(query.task, name, **values)]
        for key in range(len(labels))
        for flaw in lint(replace(draft, question=question, key=key))
        if flaw.level == ERROR
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(("task", "group", "anatomy", "modality"), PLACES, ids=str)
def test_no_wording_breaks_a_rule_with_a_group_of_options(task, group, anatomy, modality):
    members = RELATIONS.group_members(group)
    ordered = RELATIONS.scale(group).ordered
    ranks = tuple(RELATIONS.rank(group, member) for member in members) if ordered else ()
    for scope in (Scope.IMAGE, Scope.STUDY, Scope.PATIENT):
        for artefact in ("clean", "outline"):
            query = candidate(
                task, members[0], group, anatomy, modality, scope=scope, artefact=artefact
            )
            assert errors(query, members, ranks=ranks) == []


FREE = sorted(
    {
        (card.id, TASK_OF[field.kind])
        for card in CARDS
        for field in card.fields.values()
        if not field.group and not field.constant and field.kind in TASK_OF
    }
)


@pytest.mark.parametrize(("source", "task"), FREE, ids=str)
def test_no_wording_breaks_a_rule_with_labels_of_a_source(source, task):
    (card,) = [card for card in CARDS if card.id == source]
    labels = [
        label
        for field in card.fields.values()
        if TASK_OF.get(field.kind) is task and not field.group
        for label in field.concepts()
    ]
    for label in dict.fromkeys(labels):
        query = candidate(task, label, None, card.anatomy, card.modality)
        results = errors(query, (label, OTHER)) if label != OTHER else []
        form = {"mixed-kinds", "mixed-number"}  # of the other option, which is not an answer here
        assert [flaw for flaw in results if flaw[1] == label and flaw[2] not in form] == []


NUMBERED = [
    (Task("ROI Grounding"), "boxes", "Box", label)
    for label in ("Lung Opacity", "Cardiomegaly", "mass BI-RADS 3-5", "LV")
] + [
    (Task("Imaging Protocols Recognition"), "numbered", "Frame", label)
    for label in ("end-systole", "end-diastole")
]


@pytest.mark.parametrize(("task", "artefact", "word", "label"), NUMBERED, ids=str)
def test_no_wording_breaks_a_rule_with_boxes_or_frames(task, artefact, word, label):
    query = candidate(task, label, None, Anatomy("Heart"), Modality("MRI"), artefact=artefact)
    values = wording_values(query, TERMS, RELATIONS)
    draft = ItemText(
        question="",
        options=(f"{word} 1", f"{word} 2"),
        key=0,
        kinds=("", ""),
        ranks=(0, 1),
    )
    for name in wording_names(query.task):
        question = render_question(query.task, name, **values)
        assert target_phrase(TERMS[label]) in question
        assert not [flaw for flaw in lint(replace(draft, question=question)) if flaw.level == ERROR]

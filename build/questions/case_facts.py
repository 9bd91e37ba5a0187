"""Facts of a case for the safety rules: each concept is present, absent or unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from medrcube.build.questions.fact_conflicts import ConceptStatement, conflicting_concepts
from medrcube.facts import Absence, Case, Grade, Label, LabelState, Rectangle, Region
from medrcube.ontologies.distractor_safety import CaseFacts, Evidence
from medrcube.ontologies.relations import Relations, load_relations
from medrcube.ontologies.terms import DEVICE, NORMALITY, Terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import concept_of, field_of
from medrcube.sources._framework.card_parts.fields import CardField

__all__ = ["SILENCE", "facts_of_case", "facts_of_region"]

SILENCE = {Absence.READER: Grade.A, Absence.IMPLIED: Grade.B, Absence.SILENT: Grade.C}
"""Evidence grade of "not mentioned" under each promise that a card makes for a field."""


def facts_of_case(
    card: Card, case: Case, terms: Terms, relations: Relations | None = None
) -> CaseFacts:
    """Return all facts of a case, three-valued.

    A concept is unknown if any statement leaves it open or if statements contradict each other: two
    readers, "no finding" together with a finding that is named or left open, or statements that
    exclude each other by what they imply; see ``conflicting_concepts``. A concept that a field does
    not mention is absent with the grade of its silence, or implied absent by the "no finding" of a
    field whose denials a reader made (grade A). A field of mutually exclusive values that states
    none, or a contradicted one, says nothing about any of them.

    Args:
        card: card of the source.
        case: the case.
        terms: term table.
        relations: relation table; the package's own by default.

    Raises:
        SourceError: a label or region names a field or value that the card lacks.
        TermError: a concept of the card is in no table.
    """
    present: dict[str, Evidence] = {}
    absent: dict[str, Evidence] = {}
    unknown: set[str] = set()
    affirmed: list[ConceptStatement] = []
    denied: list[ConceptStatement] = []
    for field in card.fields.values():
        if field.constant:
            present[field.constant] = _mark(field, SILENCE[field.absence])
            affirmed.append(_statement(field, field.constant))
    statements: Iterable[Label | Region] = (*case.labels, *case.regions)
    for statement in statements:
        concept, field = concept_of(card, statement), field_of(card, statement)
        if concept is None:
            continue
        state = statement.state if isinstance(statement, Label) else LabelState.PRESENT
        if state is LabelState.PRESENT:
            present[concept] = _mark(field, SILENCE[field.absence])
            affirmed.append(_statement(field, concept, statement))
        elif state is LabelState.ABSENT:
            _keep_worst(absent, concept, _mark(field, field.stated))
            denied.append(_statement(field, concept))
        else:
            unknown.add(concept)
    unknown |= present.keys() & absent.keys()
    unknown |= conflicting_concepts(affirmed, denied, terms, relations or load_relations())
    normals = [
        label
        for label, mark in present.items()
        if terms[label].kind == NORMALITY and card.fields[mark.field].group is None
    ]
    for label in normals:
        against = {
            concept_of(card, statement)
            for statement in statements
            if _contradicts(card, statement, present[label], terms)
        }
        unknown |= {name for name in against if name} | ({label} if against else set())
    grades = [card.fields[present[label].field].stated for label in normals if label not in unknown]
    normal = Grade.A in grades  # one mined from a report proves no more than silence
    stated = {*present, *absent, *unknown}
    for concept, field in _unmentioned_concepts(card, case, stated, unknown):
        grade = SILENCE[field.absence]
        if normal and _covered_by_no_finding(concept, field, terms):
            grade = min(grade, Grade.B)
        _keep_worst(absent, concept, _mark(field, grade))
    return CaseFacts(
        present=_without(present, unknown),
        absent=_without(absent, unknown),
        unknown=frozenset(unknown),
        anatomy=case.anatomy or card.anatomy,
        modality=case.modality or card.modality,
    )


def facts_of_region(card: Card, case: Case, ground: CaseFacts, concept: str) -> CaseFacts:
    """Return the facts about one marked region: it is this concept and no other of the fields."""
    present = {concept: ground.present[concept]} if concept in ground.present else {}
    fields = [field for field in card.fields.values() if field.kind.structure]
    absent = {
        other: _mark(field, Grade.B)
        for field in fields
        for other in field.concepts()
        if other != concept
    }
    unknown = ground.unknown | frozenset(_overlapping_concepts(card, case, concept))
    return replace(
        ground,
        present=_without(present, unknown),
        absent=_without(absent, unknown),
        unknown=unknown,
        region=True,
    )


def _mark(field: CardField, grade: Grade) -> Evidence:
    return Evidence(field=field.name, scope=field.scope, grade=grade)


def _statement(
    field: CardField, concept: str, statement: Label | Region | None = None
) -> ConceptStatement:
    return ConceptStatement(
        concept=concept,
        scope=field.scope,
        marked=isinstance(statement, Region),
        compound=field.name if field.compound else "",
    )


def _keep_worst(marks: dict[str, Evidence], concept: str, mark: Evidence) -> None:
    """Of several statements of absence, keep the one with the weakest evidence."""
    previous = marks.get(concept)
    if previous is None or (mark.grade, -mark.scope) > (previous.grade, -previous.scope):
        marks[concept] = mark


def _without(marks: dict[str, Evidence], unknown: Iterable[str]) -> dict[str, Evidence]:
    unknown_labels = frozenset(unknown)
    return {label: mark for label, mark in marks.items() if label not in unknown_labels}


def _unmentioned_concepts(
    card: Card, case: Case, stated: set[str], unknown: set[str]
) -> Iterator[tuple[str, CardField]]:
    present_labels = [label for label in case.labels if label.state is LabelState.PRESENT]
    speaks = {label.field for label in present_labels}
    usable = {label.field for label in present_labels if concept_of(card, label) is not None}
    disputed = {
        label.field
        for label in present_labels
        if card.fields[label.field].group is not None and concept_of(card, label) in unknown
    }
    for field in card.fields.values():
        # "Unknown", or a number between two bands, says nothing about the other values either.
        unusable = field.name in speaks - usable
        silent = field.group is not None and field.name not in speaks
        if unusable or silent or field.name in disputed:
            continue
        for concept in field.concepts():
            if concept not in stated:
                yield concept, field


def _covered_by_no_finding(concept: str, field: CardField, terms: Terms) -> bool:
    """CheXpert: "no finding" denies everything except support devices."""
    return field.kind.several and terms[concept].kind != DEVICE


def _contradicts(card: Card, statement: Label | Region, no_finding: Evidence, terms: Terms) -> bool:
    """Whether a statement names, or leaves open, a concept denied by the "no finding"."""
    concept, field = concept_of(card, statement), field_of(card, statement)
    if concept is None or terms[concept].kind == NORMALITY or field.scope > no_finding.scope:
        return False
    denied = isinstance(statement, Label) and statement.state is LabelState.ABSENT
    return not denied and _covered_by_no_finding(concept, field, terms)


def _overlapping_concepts(card: Card, case: Case, concept: str) -> Iterator[str]:
    concepts = [(concept_of(card, region), region) for region in case.regions]
    own = [region for name, region in concepts if name == concept]
    for name, region in concepts:
        if (
            name is not None
            and name != concept
            and any(_overlap(region, other_region) for other_region in own)
        ):
            yield name


def _overlap(a: Region, b: Region) -> bool:
    if a.image != b.image:
        return False
    if not isinstance(a.shape, Rectangle) or not isinstance(b.shape, Rectangle):
        return False
    left, right = a.shape.xyxy, b.shape.xyxy
    return left[0] < right[2] and right[0] < left[2] and left[1] < right[3] and right[1] < left[3]

"""Question candidates from facts: which kind of fact may be asked about in which task.

A fact is asked about only if the image can show it. The reason that bars a question is kept on the
candidate, so that every fact without an item is counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as attribute
from functools import lru_cache
from typing import Any

from medrcube.build.burnt_in.detection import has_words, points_at_lesion
from medrcube.build.questions.case_facts import SILENCE, facts_of_case, facts_of_region
from medrcube.build.questions.task_rules import FactRule, fact_rules
from medrcube.build.stages.samples import Sample
from medrcube.facts import Case, Grade, LabelState, Scope, Visibility
from medrcube.ontologies.distractor_safety import CaseFacts, Evidence
from medrcube.ontologies.label_words import is_composite, is_rest_class
from medrcube.ontologies.relations import Relations, load_relations
from medrcube.ontologies.terms import Terms, load_terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import concept_of, missing_regions, quirk_of
from medrcube.sources._framework.card_parts.fields import CardField
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = [
    "OUT_OF_SCOPE",
    "UNDIAGNOSED",
    "CaseFactsCache",
    "QuestionCandidate",
    "bar_of",
    "derive_questions",
    "is_vague",
    "only_one",
    "visible_of",
]

UNDIAGNOSED, OUT_OF_SCOPE, UNSURE = "undiagnosed", "scope", "panels-unsure"
"""Reasons that bar a question: a quirk of the source with that action; a fact wider than the image;
masks that do not confirm what its images show.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionCandidate:
    """A candidate for a question about one image.

    Attributes:
        task: the task.
        sample: the image.
        field: card field of the fact; empty for the modality.
        key: concept of the right answer, or of the region to find.
        scope: what the fact is about.
        ground: facts about the image or about the marked region.
        group: exclusive group whose members are the options, or ``None``.
        pool: concepts of the source's label table that may be options.
        panels: concept that each of several clean images alone shows, in order; empty if none is
            stated.
        grade: evidence, beyond that of the options, that the answer is the only right one: for
            boxes, that no other place shows the concept.
        visible: whether a reader of the image could know the answer; ``eligibility`` compares it
            with the minimum of the workspace.
        bar_reason: reason why this must not be asked; empty if it may.
    """

    task: Task
    sample: Sample
    field: str
    key: str
    scope: Scope
    ground: CaseFacts
    group: str | None = None
    pool: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    grade: Grade = Grade.A
    visible: Visibility = Visibility.YES
    bar_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFactsCache:
    """Facts of the cases of one source; one object is shared by all cases with equal facts."""

    card: Card
    terms: Terms = attribute(default_factory=load_terms)
    _cache: dict[Any, CaseFacts] = attribute(default_factory=dict)

    def of(self, case: Case) -> CaseFacts:
        """Return all facts of a case; see ``facts_of_case``."""
        statements = (
            tuple((label.field, label.value, label.state) for label in case.labels),
            tuple((region.field, region.value) for region in case.regions),
            case.anatomy,
            case.modality,
        )
        if statements not in self._cache:
            self._cache[statements] = facts_of_case(self.card, case, self.terms)
        return self._cache[statements]


@dataclass(frozen=True, slots=True, kw_only=True)
class _CaseContext:
    """Inputs of the rules for one case."""

    card: Card
    case: Case
    ground: CaseFacts
    terms: Terms
    relations: Relations
    confirmed: frozenset[str]
    """Fields whose panels could be numbered."""


def derive_questions(
    card: Card,
    case: Case,
    samples: Sequence[Sample],
    terms: Terms | None = None,
    relations: Relations | None = None,
    *,
    grounds: CaseFactsCache | None = None,
) -> list[QuestionCandidate]:
    """Return all question candidates for the images of one case, in a fixed order.

    Args:
        card: card of the source.
        case: the case.
        samples: images of the case, in any order.
        terms: term table; the package's own by default.
        relations: relation table; the package's own by default.
        grounds: cache of the facts of the source's cases; if given, cases share it.

    Raises:
        SourceError: a label or region names a field or value that the card lacks.
        TermError: the card names a concept or group that is in no table.
    """
    terms = terms or load_terms()
    grounds = grounds or CaseFactsCache(card=card, terms=terms)
    facts = _CaseContext(
        card=card,
        case=case,
        ground=grounds.of(case),
        terms=terms,
        relations=relations or load_relations(),
        confirmed=frozenset(sample.field for sample in samples if sample.artefact == "numbered"),
    )
    queries: list[QuestionCandidate] = []
    for sample in sorted(samples, key=lambda sample: sample.id):
        for rule in fact_rules(card.tasks):
            if rule.artefact == sample.artefact:
                make = _MAKERS.get(sample.artefact, _region_questions)
                queries.extend((make if rule.kind else _axis_questions)(facts, sample, rule))
    return queries


def _axis_questions(
    facts: _CaseContext, sample: Sample, rule: FactRule
) -> Iterator[QuestionCandidate]:
    """Yield the question about the modality, which needs no field: every image has one."""
    # Two panels suggest a heart, and hearts are mostly imaged by MRI and ultrasound.
    if len(facts.case.images) > 1:
        return
    key = facts.ground.modality.concept
    yield QuestionCandidate(
        task=rule.task,
        sample=sample,
        field="",
        key=key,
        scope=Scope.IMAGE,
        ground=_modality_ground(
            key, facts.ground.anatomy, facts.ground.modality, active_vocabulary()
        ),
        group="modality",
    )


@lru_cache(maxsize=64)
def _modality_ground(
    key: str, anatomy: Anatomy, modality: Modality, _vocabulary: Vocabulary
) -> CaseFacts:
    return CaseFacts(
        present={key: Evidence(field="", scope=Scope.IMAGE, grade=Grade.A)},
        absent={},
        unknown=frozenset(),
        anatomy=anatomy,
        modality=modality,
    )


def _label_questions(
    facts: _CaseContext, sample: Sample, rule: FactRule
) -> Iterator[QuestionCandidate]:
    """Yield questions about the labels of a clean image."""
    fields = [field for field in facts.card.fields.values() if field.kind == rule.kind]
    pool = tuple(dict.fromkeys(name for field in fields for name in field.concepts()))
    panels = tuple(name for panel in facts.case.panels if (name := concept_of(facts.card, panel)))
    for field in fields:
        group = field.group
        if rule.kind is not None and rule.kind.structure:
            # A structure that is shown together with others is not an answer to "which organ is
            # shown".
            organs = facts.relations.group_members("organ")
            group = group or ("organ" if field.constant in organs else None)
            if group is None:
                continue
        for key in _keys(facts, field, group):
            yield QuestionCandidate(
                task=rule.task,
                sample=sample,
                field=field.name,
                key=key,
                scope=field.scope,
                ground=facts.ground,
                group=group,
                pool=pool if group is None else (),
                panels=panels,
                visible=visible_of(facts.card, facts.case, field),
                bar_reason=_bar(facts, sample, rule.task, field),
            )


def _region_questions(
    facts: _CaseContext, sample: Sample, rule: FactRule
) -> Iterator[QuestionCandidate]:
    """Yield questions about the region that is marked on an image."""
    field = facts.card.fields[sample.field]
    if field.kind != rule.kind:
        return
    boxes = rule.artefact == "boxes"
    ground = facts_of_region(facts.card, facts.case, facts.ground, sample.marked)
    structures = [
        name
        for other in facts.card.fields.values()
        if other.kind.structure and not other.constant
        for name in other.concepts()
    ]
    yield QuestionCandidate(
        task=rule.task,
        sample=sample,
        field=field.name,
        key=sample.marked,
        scope=field.scope,
        ground=ground,
        group=None if boxes else field.group,
        pool=() if boxes or field.group else tuple(dict.fromkeys(structures)),
        grade=only_one(field) if boxes else Grade.A,
        visible=visible_of(facts.card, facts.case, field),
        bar_reason=_bar(facts, sample, rule.task, field)
        or _bar_region(facts.card, facts.case, sample, boxes=boxes),
    )


def _panel_questions(
    facts: _CaseContext, sample: Sample, rule: FactRule
) -> Iterator[QuestionCandidate]:
    """Yield the question which of the numbered images of a case shows a fact."""
    field = facts.card.fields[sample.field]
    if field.kind != rule.kind:
        return
    grade = SILENCE[field.absence]
    yield QuestionCandidate(
        task=rule.task,
        sample=sample,
        field=field.name,
        key=sample.marked,
        scope=Scope.IMAGE,
        ground=CaseFacts(
            present={sample.marked: Evidence(field=field.name, scope=Scope.IMAGE, grade=grade)},
            absent={},
            unknown=frozenset(),
            anatomy=facts.ground.anatomy,
            modality=facts.ground.modality,
        ),
        grade=grade,
        visible=visible_of(facts.card, facts.case, field),
        bar_reason=_bar(facts, sample, rule.task, field),
    )


_MAKERS = {"clean": _label_questions, "numbered": _panel_questions}


def _keys(facts: _CaseContext, field: CardField, group: str | None) -> list[str]:
    """Return a field's present concepts worth asking about: the most specific, none residual."""
    stated = {
        concept_of(facts.card, label)
        for label in facts.case.labels
        if label.field == field.name and label.state is LabelState.PRESENT
    }
    present = [
        name
        for name in field.concepts()
        if name in facts.ground.present and (name in stated or name == field.constant)
    ]
    if group is not None:
        return present
    return [
        name
        for name in present
        if not is_vague(facts.terms, name)
        and not any(
            name in facts.relations.closure(other) and other not in facts.relations.synonyms(name)
            for other in facts.ground.present
        )
    ]


def is_vague(terms: Terms, name: str) -> bool:
    """Whether a concept is a residual category or combines two concepts."""
    words = (terms[name].name, name)
    return any(is_rest_class(text) or is_composite(text) for text in words)


def visible_of(card: Card, case: Case, field: CardField) -> Visibility:
    """Return whether a reader of the case's images could know a fact of this field."""
    unseen = (quirk for quirk in card.quirks if quirk.action == "unseen")
    hidden = any(field.name in quirk.fields and quirk.names(case.key) for quirk in unseen)
    return Visibility.NO if hidden else field.visible


def _bar(facts: _CaseContext, sample: Sample, task: Task, field: CardField) -> str:
    told_by = task.declaration.told_by
    return bar_of(facts.card, facts.case, sample, field, told_by=told_by, confirmed=facts.confirmed)


def bar_of(
    card: Card,
    case: Case,
    sample: Sample,
    field: CardField,
    *,
    told_by: str,
    confirmed: Collection[str] = (),
) -> str:
    """Return the reason why an image must not be asked about a field; empty if it may.

    Args:
        card: card of the source.
        case: the case.
        sample: the image.
        field: field of the fact.
        told_by: which burnt-in graphics reveal the answer: none, text or marks.
        confirmed: fields whose panels could be numbered.
    """
    if field.kind.abnormal and quirk_of(card, case.key, UNDIAGNOSED):
        return UNDIAGNOSED
    if told_by == "marks" and _marked_by_a_reader(card, case, sample):
        return "burnt-in"
    if told_by == "words" and has_words(sample.graphics):
        return "burnt-in"
    if field.scope > Scope[sample.scope.upper()]:
        return OUT_OF_SCOPE
    if field.rests_on and field.rests_on not in confirmed:
        return UNSURE
    return ""


def _marked_by_a_reader(card: Card, case: Case, sample: Sample) -> bool:
    listed = quirk_of(card, case.key, "marked") is not None
    return listed or points_at_lesion(sample.graphics)


def _bar_region(card: Card, case: Case, sample: Sample, *, boxes: bool) -> str:
    least, most = card.roi
    if boxes and missing_regions(card, case):
        return "regions-missing"
    if not least <= sample.area <= most:
        return "roi-size"
    if boxes and sample.regions != 1:
        return "several-regions"
    if boxes and not (sample.choices >= 2 and sample.truth.isdigit()):
        return "no-boxes"
    return ""


def only_one(field: CardField) -> Grade:
    """Return the evidence that no other place in the image shows the concept of the region.

    A structure exists once; if its mask covers all of it, its absence elsewhere is implied. For
    findings it depends on how completely the source marks them.
    """
    grade = SILENCE[field.absence]
    once = field.kind.structure and field.whole
    return min(grade, Grade.B) if once else grade

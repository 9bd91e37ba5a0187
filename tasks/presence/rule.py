"""Presence: whether the image shows a finding or disease, asked where it was stated or denied.

For the answer "no", the concept must be absent by every condition that a distractor has to meet,
and it must have been denied: by name, by a value of its group that means "none" or that the card
calls sole, or by the silence of readers who name everything they see. Concepts that a source does
not mention, or covers only with a general "no finding", are never asked. The other content of the
"no" image is its contrast: a normal image is paired with the finding only if the source has no
other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from medrcube.build.open_items.pairing.contrast import ANOTHER, NORMAL, UNSTATED
from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.build.questions.fact_rules import bar_of, is_vague, visible_of
from medrcube.build.questions.question_wording import denies
from medrcube.build.stages.samples import Sample
from medrcube.facts import Absence, Grade, LabelState
from medrcube.forms.option import OptionTarget
from medrcube.ontologies.distractor_safety import (
    CaseFacts,
    DistractorRequest,
    SafetyRules,
    judge_absence,
    judge_key,
)
from medrcube.ontologies.label_words import is_rest_class
from medrcube.ontologies.name_grammar import with_article
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import DEVICE, Terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import concept_of
from medrcube.sources._framework.card_parts.fields import CardField

YES, NO = "yes", "no"
OPTIONS = (("A", "Yes"), ("B", "No"))
SILENT, OTHER_CLASS, VIEW_UNKNOWN = "silent", "other-class", "view-unknown"
TOO_SMALL = "too-small"
"""Reasons why nothing is asked: absence is only implied by silence; only another value of the group
was named, with which the concept may coexist, as a breast with a cancer may also show a cyst; the
source distinguishes views but the view of this image is unknown, so no image of the same view can
be paired with it; all marks of the concept are too small to be visible."""

_HEDGED = re.compile(r"(?:possible|probable|suspected)\b", re.IGNORECASE)
"""Words that express the certainty of a reader and not what an image shows."""


_MOST = 4_096
"""Combinations of labels whose known concepts are kept."""


class PresenceRule:
    """Asks one question per concept known to be present or absent on a clean image."""

    def __init__(self) -> None:
        self._rules = SafetyRules(evidence=Grade.B)
        self._card: Card | None = None
        self._facts_of_view: dict[object, tuple[CaseFacts, dict[str, _KnownFact]]] = {}

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield questions in the order of the images, then of the card's fields and concepts."""
        if len(view.case.images) > 1:
            return
        facts = self._known_of(view)
        for sample in view.samples:
            if sample.artefact == "clean":
                for concept, what in facts.items():
                    yield _question(view, sample, concept, what)

    def _known_of(self, view: CaseView) -> dict[str, _KnownFact]:
        """Return the known concepts of a case; cases of a source with equal labels share them."""
        rules = self._rules
        if self._rules_over(view.terms, view.relations) is not rules or self._card is not view.card:
            self._card = view.card
            self._facts_of_view.clear()
        kinds = tuple(view.task.declaration.kinds)
        labels = tuple((label.field, label.value, label.state) for label in view.case.labels)
        key = (kinds, id(view.facts), labels)
        if key not in self._facts_of_view:
            if len(self._facts_of_view) >= _MOST:
                self._facts_of_view.clear()
            self._facts_of_view[key] = (
                view.facts,
                _known_concepts(view, self._rules),
            )  # the id stays taken
        return self._facts_of_view[key][1]

    def _rules_over(self, terms: Terms, relations: Relations) -> SafetyRules:
        """Return the safety rules with absence at grade A or B; cached for all cases of a batch."""
        if self._rules.terms is not terms or self._rules.relations is not relations:
            self._rules = SafetyRules(terms=terms, relations=relations, evidence=Grade.B)
        return self._rules


rule = PresenceRule()


class _KnownFact(NamedTuple):
    """Knowledge about a concept: field, right answer and evidence grade."""

    field: CardField
    role: str
    grade: Grade
    bar_reason: str


def _known_concepts(view: CaseView, rules: SafetyRules) -> dict[str, _KnownFact]:
    """Return the findings and diseases with known state, by the first field that proves it."""
    kinds = set(view.task.declaration.kinds)
    facts: dict[str, _KnownFact] = {}
    for field in view.card.fields.values():
        if field.kind not in kinds or field.constant:
            continue
        for concept in field.concepts():
            if not _is_asked(view.terms, field, concept):
                continue
            what = _known_fact(view, field, concept, rules)
            if what and (concept not in facts or facts[concept].bar_reason):
                facts[concept] = what
    return facts


def _is_asked(terms: Terms, field: CardField, concept: str) -> bool:
    """Whether a concept is a definite finding or disease, not a rest or composite class."""
    term = terms[concept]
    if term.kind == DEVICE or denies(term) or is_rest_class(term.name) or _HEDGED.match(term.name):
        return False
    return field.group is not None or not is_vague(terms, concept)


def _known_fact(
    view: CaseView, field: CardField, concept: str, rules: SafetyRules
) -> _KnownFact | None:
    """Return what one field proves about a concept; ``None`` if unknown or unproved."""
    facts = view.facts
    stated = {
        label.state
        for label in view.case.labels
        if label.field == field.name and concept_of(view.card, label) == concept
    }
    if concept in facts.present:
        request = DistractorRequest(key=concept, ground=facts, scope=field.scope)
        proved = LabelState.PRESENT in stated and judge_key(request, rules).allowed
        return _KnownFact(field, YES, Grade.A, "") if proved else None
    verdict = judge_absence(concept, facts, field.scope, rules, group=field.group)
    if not verdict.allowed or verdict.grade is None:
        return None
    reason = ""
    if LabelState.ABSENT not in stated:
        if field.group is not None:
            reason = "" if _is_denied(view, field, concept) else OTHER_CLASS
        elif field.absence is Absence.SILENT:
            reason = SILENT
    return _KnownFact(field, NO, verdict.grade, reason)


def _is_denied(view: CaseView, field: CardField, concept: str) -> bool:
    """Whether a value of the group states that the image shows none of its findings."""
    return any(
        view.relations.parted_by(field.group or "", concept, label)
        and (concept in field.sole or denies(view.terms[label]))
        for label in view.facts.present
    )


def _contrast(view: CaseView, asked_field: CardField) -> str:
    """Return what a "no" image shows instead, from fields of no wider scope."""
    kinds = set(view.task.declaration.kinds)
    fields = {
        field.name
        for field in view.card.fields.values()
        if field.kind in kinds and field.scope <= asked_field.scope and not field.constant
    }
    stated = (
        concept_of(view.card, label)
        for label in view.case.labels
        if label.field in fields and label.state is LabelState.PRESENT
    )
    terms = [view.terms[name] for name in stated if name and name in view.facts.present]
    if any(term.kind != DEVICE and not denies(term) for term in terms):
        return ANOTHER
    return NORMAL if any(map(denies, terms)) else UNSTATED


def _question(view: CaseView, sample: Sample, concept: str, what: _KnownFact) -> OpenQuestion:
    field, views = what.field, _views(view)
    bars = (
        bar_of(view.card, view.case, sample, field, told_by=told_by, confirmed=_confirmed(view))
        for told_by in (view.task.declaration.told_by, "words")
    )
    no_view = VIEW_UNKNOWN if views is None else ""
    return OpenQuestion(
        task=view.task,
        sample=sample,
        field=field.name,
        concept=concept,
        target=OptionTarget(options=OPTIONS, key="A" if what.role == YES else "B"),
        values={"finding": with_article(view.terms[concept].name)},
        prior=(sample.source, concept),
        stratum=(
            *(sample.source, concept, sample.anatomy, sample.modality, sample.split),
            *(sample.licence, "colour" if sample.colour else "grey"),
            *(views or ()),
            *_origin(view),
        ),
        topic=field.group or "",  # its values are exclusive: one answer reveals the others
        role=what.role,
        contrast=_contrast(view, field) if what.role == NO else "",
        grade=what.grade,
        visible=visible_of(view.card, view.case, field),
        bar_reason=what.bar_reason
        or next(filter(None, bars), "")
        or no_view
        or _size(view, sample, concept),
    )


def _size(view: CaseView, sample: Sample, concept: str) -> str:
    """Return the reason if all marks of a concept or its subtypes are too small; else empty."""
    rows = [row for row in view.geometry if row.sample == sample.id and row.concept]
    closure = view.relations.closure
    regions = [row for row in rows if concept in closure(row.concept)]
    regions = regions or [row for row in rows if row.concept in closure(concept)]
    area = sum(row.pixels / (row.width * row.height) for row in regions)
    return TOO_SMALL if regions and area < view.task.declaration.settings["least_area"] else ""


def _views(view: CaseView) -> tuple[str, ...] | None:
    """Return the acquisition in the source's wording; ``None`` if it does not state the view."""
    fields = [
        field
        for field in view.card.fields.values()
        if field.kind in ("view", "protocol") and not field.constant
    ]
    stated = {
        field.name: sorted(label.value for label in view.case.labels if label.field == field.name)
        for field in fields
    }
    views = [field.name for field in fields if field.kind == "view"]
    if views and not any(stated[name] for name in views):
        return None
    return tuple(f"{name}={'+'.join(values)}" for name, values in stated.items())


def _origin(view: CaseView) -> Iterator[str]:
    """Yield device and origin of the image, as stated by the source."""
    names: Collection[str] = view.task.declaration.settings["origin"]
    for name, value in sorted(view.case.facts):
        if name.casefold() in names:
            yield f"{name}={value}"


def _confirmed(view: CaseView) -> frozenset[str]:
    return frozenset(sample.field for sample in view.samples if sample.artefact == "numbered")

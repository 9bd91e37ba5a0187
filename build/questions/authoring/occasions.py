"""Wording occasions: every kind of question that the cards of some sources can lead to.

An occasion holds everything that the wording of a question depends on: task, region of the body,
modality, mark, scope, number of images, group of the options, whether one of them denies a finding,
and the concept to find. Cards do not state which findings a source marks, nor which cases hold two
images. Therefore all findings of a source with box questions are covered, and two images for every
fact about a patient, with one cardiac phase each if the card declares two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import Any

from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.question_wording import denies
from medrcube.build.questions.task_rules import FactRule, fact_rules
from medrcube.build.stages.samples import NUMBERED, Sample
from medrcube.facts import Scope
from medrcube.ontologies.distractor_safety import CaseFacts
from medrcube.ontologies.label_words import is_rest_class
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import Terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.fields import CardField
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = ["Occasion", "occasions"]

_TYPES: dict[str, Any] = {"str": "", "int": 0, "float": 0.0, "bool": False}
_BLANK = Sample(**{field.name: _TYPES.get(str(field.type), "") for field in fields(Sample)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """A possible question, and options on which its wording depends."""

    query: QuestionCandidate
    labels: tuple[str, ...] = ()


def occasions(cards: Iterable[Card], terms: Terms, relations: Relations) -> Iterator[Occasion]:
    """Yield every occasion of the cards, in their order; several cards may yield equal ones."""
    for card in cards:
        rules = fact_rules(card.tasks)
        for place in sorted({(voxel.anatomy, voxel.modality) for voxel in card.voxels}):
            for rule in rules:
                if rule.kind is None:
                    key = place[1].concept
                    yield Occasion(query=_query(rule.task, _sample(place), key, group="modality"))
            for rule, field in product(rules, card.fields.values()):
                if field.kind == rule.kind:
                    yield from _of_field(card, rule, field, _sample(place), (terms, relations))


def _of_field(
    card: Card, rule: FactRule, field: CardField, plain: Sample, knowledge: tuple[Terms, Relations]
) -> Iterator[Occasion]:
    """Yield occasions of one rule and field, on one image and, if the card has such, on two."""
    terms, relations = knowledge
    patient = any(other.scope is Scope.PATIENT for other in card.fields.values())
    several = field.scope is Scope.PATIENT or (patient and field.kind.view)
    for frames in _panels(rule.artefact, several=several):
        sample = replace(plain, artefact=rule.artefact, frames=frames)
        if rule.artefact in NUMBERED:
            yield from _numbered(rule.task, field, sample, terms)
        else:
            panels = _phases(card) if frames != "0" and rule.artefact == "clean" else ()
            yield from _with_options(rule.task, field, sample, terms, relations, panels=panels)


def _phases(card: Card) -> tuple[str, ...]:
    """Return what each of two images shows, if a card distinguishes them by cardiac phase."""
    fields = (field for field in card.fields.values() if field.group == "cardiac phase")
    return next((tuple(field.concepts()) for field in fields if not field.constant), ())


def _panels(artefact: str, *, several: bool) -> tuple[str, ...]:
    """Return the frames of one image or two; marks lie on one, numbers distinguish two."""
    if artefact == "numbered":
        return ("0+0",)
    return ("0", "0+0") if several and artefact == "clean" else ("0",)


def _numbered(task: Task, field: CardField, sample: Sample, terms: Terms) -> Iterator[Occasion]:
    """Yield what a box or frame may show: no denial, and for frames only the cardiac phase."""
    if field.constant or field.scope > Scope.IMAGE:
        return
    for key in field.concepts():
        vague = denies(terms[key]) or is_rest_class(terms[key].name)
        if not vague and (sample.artefact == "boxes" or terms[key].kind == "cardiac phase"):
            yield Occasion(query=_query(task, sample, key, field=field))


def _with_options(
    task: Task,
    field: CardField,
    sample: Sample,
    terms: Terms,
    relations: Relations,
    *,
    panels: tuple[str, ...] = (),
) -> Iterator[Occasion]:
    """Yield options that all name a concept, and options of which one denies it."""
    group = field.group
    if field.kind.structure:
        if sample.artefact == "clean":
            kinds = {terms[concept].kind for concept in field.concepts()}
            organ = "organ" if field.constant in relations.group_members("organ") else None
            group = (group or organ) if kinds == {"anatomy"} else None
            if group is None:
                return
        elif field.constant:
            return
    pool = relations.group_members(group) if group else tuple(field.concepts())
    if not pool or _elsewhere(pool, sample, terms):
        return
    query = _query(task, sample, pool[0], field=field, group=group, panels=panels)
    for denial in (False, True):
        labels = tuple(concept for concept in pool if denies(terms[concept]) is denial)
        if labels:
            yield Occasion(query=query, labels=labels[:1])


def _elsewhere(pool: tuple[str, ...], sample: Sample, terms: Terms) -> bool:
    """Whether the pool does not fit the image: planes for a film, or film views for a slice."""
    kind = terms[pool[0]].kind
    film = Modality(sample.modality).projection
    return (kind == "plane" and film) or ({"AP", "PA"} <= set(pool) and not film)


def _sample(place: tuple[Anatomy, Modality]) -> Sample:
    anatomy, modality = place
    return replace(_BLANK, anatomy=anatomy, modality=modality, artefact="clean", frames="0")


def _query(
    task: Task,
    sample: Sample,
    key: str,
    *,
    field: CardField | None = None,
    group: str | None = None,
    panels: tuple[str, ...] = (),
) -> QuestionCandidate:
    anatomy, modality = Anatomy(sample.anatomy), Modality(sample.modality)
    return QuestionCandidate(
        task=task,
        sample=sample,
        field=field.name if field else "",
        key=key,
        scope=field.scope if field else Scope.IMAGE,
        ground=CaseFacts(
            present={}, absent={}, unknown=frozenset(), anatomy=anatomy, modality=modality
        ),
        group=group,
        panels=panels,
    )

"""Answers of a source that may be asked about, and their distractors, from placeholder cases.

A placeholder is a case with one known fact and an image that is never rendered. It goes through the
same rules as a real case (``fact_rules``, ``prepare_questions``), so the card's statements on
visibility, evidence, groups and scope have the same effect as in a build.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from medrcube.build.questions.eligibility import PreparedQuestions, prepare_questions
from medrcube.build.questions.fact_rules import CaseFactsCache, derive_questions
from medrcube.build.questions.task_rules import fact_rules
from medrcube.build.stages.plan import REGION_MARKS, artefacts_of, is_drawn
from medrcube.build.stages.samples import Sample
from medrcube.facts import Case, ImageRef, Label, LabelState, Rectangle, Region
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.distractor_selection import SOURCES
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_lookup import concept_of
from medrcube.sources._framework.card_parts.fields import CardField
from medrcube.vocabulary.layers import Vocabulary, active_vocabulary

__all__ = [
    "AnswerableFact",
    "answerable_facts",
    "placeholder_samples",
    "prepare_cases",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerableFact:
    """Questions that one fact of a source leads to.

    Attributes:
        field: field of the fact; empty for a fact about every image.
        artefact: kind of image.
        concept: the fact; empty for a fact about every image.
        prepared: questions that may be asked about it, and why the others may not.
        assumed: whether this requires that the other values of the field are denied.
    """

    field: str
    artefact: str
    concept: str
    prepared: PreparedQuestions
    assumed: bool = False


def answerable_facts(card: Card) -> Iterator[AnswerableFact]:
    """Yield every fact that the tasks of a card ask about, alone on its kind of image.

    An image is assumed to show the fact of its field. If a value alone permits no question, the
    other values of its field are denied as far as the card accepts denials.
    """
    rules = _rules()
    case = Case(key="any", images=(ImageRef(paths=()),))
    yield AnswerableFact(
        field="", artefact="clean", concept="", prepared=prepare_cases(card, [case], rules)
    )
    for field in card.fields.values():
        kinds = {rule.artefact for rule in fact_rules(card.tasks) if rule.kind == field.kind}
        for artefact in sorted(kind for kind in kinds if is_drawn(card, kind)):
            for concept in field.concepts() if field.constant is None else ():
                prepared = _of_fact(card, field, concept, artefact, rules)
                assumed = False
                if not prepared.ready and field.group is None and field.kind.several:
                    prepared = _of_fact(card, field, concept, artefact, rules, denied=True)
                    assumed = bool(prepared.ready)
                yield AnswerableFact(
                    field=field.name,
                    artefact=artefact,
                    concept=concept,
                    prepared=prepared,
                    assumed=assumed,
                )


def placeholder_samples(card: Card, case: Case) -> list[Sample]:
    """Return the images of a case as far as they are known before rendering."""
    return [
        _sample(card, case, artefact.kind, artefact.field, artefact.concept)
        for artefact in artefacts_of(card, case)
    ]


def prepare_cases(
    card: Card, cases: Iterable[Case], rules: SafetyRules | None = None
) -> PreparedQuestions:
    """Return the possible questions about cases, as far as they do not depend on pixels."""
    rules = rules or _rules()
    grounds = CaseFactsCache(card=card, terms=rules.terms)
    queries = (
        query
        for case in cases
        for query in derive_questions(
            card,
            case,
            placeholder_samples(card, case),
            rules.terms,
            rules.relations,
            grounds=grounds,
        )
    )
    return prepare_questions(queries, rules, SOURCES, seed=0)


def _rules() -> SafetyRules:
    return _rules_of(active_vocabulary())


@cache
def _rules_of(_vocabulary: Vocabulary) -> SafetyRules:
    return SafetyRules()


def _of_fact(
    card: Card,
    field: CardField,
    concept: str,
    artefact: str,
    rules: SafetyRules,
    *,
    denied: bool = False,
) -> PreparedQuestions:
    image = ImageRef(paths=())
    label = Label(field=field.name, value=field.raw_value(concept), evidence="stand-in")
    others = (
        [concept_name for concept_name in field.concepts() if concept_name != concept]
        if denied
        else []
    )
    labels = [
        label,
        *(
            replace(label, value=field.raw_value(concept_name), state=LabelState.ABSENT)
            for concept_name in others
        ),
    ]
    case = Case(
        key="one",
        images=(image, image) if artefact == "numbered" else (image,),
        labels=tuple(labels) if artefact == "clean" else (),
        regions=(_region(label),) if artefact in REGION_MARKS else (),
        shows=max(card.shows, field.scope),
    )
    marks = ("", "") if artefact == "clean" else (field.name, concept)
    sample = _sample(card, case, artefact, *marks)
    queries = derive_questions(card, case, [sample], rules.terms, rules.relations)
    own_queries = [query for query in queries if query.field == field.name]
    return prepare_questions(own_queries, rules, SOURCES, seed=0)


def _region(label: Label) -> Region:
    shape = Rectangle(xyxy=(0.0, 0.0, 1.0, 1.0))
    return Region(field=label.field, value=label.value, shape=shape, evidence=label.evidence)


def _sample(card: Card, case: Case, artefact: str, field: str, concept: str) -> Sample:
    """Return a sample with only the properties that card and case determine.

    A region is assumed to have a suitable size if only its pixels determine it.
    """
    regions = [region for region in case.regions if artefact in REGION_MARKS]
    regions = [
        region
        for region in regions
        if region.field == field and concept_of(card, region) == concept
    ]
    return Sample(
        id=f"{case.key}/{artefact}/{field}/{concept}",
        source=card.id,
        case=case.key,
        artefact=artefact,
        field=field,
        marked=concept,
        truth="1" if artefact in ("boxes", "numbered") else "",
        choices=max(len(case.images), 4 if artefact == "boxes" else 0),
        area=sum(_area(region, card.roi) for region in regions),
        regions=len(regions),
        image="",
        pixel_sha256="",
        perceptual_hash="",
        width=0,
        height=0,
        anatomy=(case.anatomy or card.anatomy).value,
        modality=(case.modality or card.modality).value,
        patient=case.patient or "",
        split=case.split or "",
        scope=(case.shows or card.shows).name.lower(),
        licence="",
        redistribute=False,
        frames="",
        reason="",
        recipe="",
    )


def _area(region: Region, roi: tuple[float, float]) -> float:
    shape = region.shape
    if isinstance(shape, Rectangle) and shape.frame is not None:
        left, top, right, bottom = shape.xyxy
        return (right - left) * (bottom - top) / (shape.frame[0] * shape.frame[1])
    return sum(roi) / 2

"""Marked places: all regions of one concept on one clean image, and whether to ask about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from medrcube.build.open_items.question import CaseView
from medrcube.build.questions.fact_rules import bar_of, only_one, visible_of
from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.samples import Sample
from medrcube.facts import Grade, Visibility
from medrcube.ontologies.target_phrases import is_paired
from medrcube.sources._framework.card_lookup import missing_regions
from medrcube.sources._framework.card_parts.fields import CardField

__all__ = ["KIND_ELSEWHERE", "ONE_OF_TWO", "MarkedPlace", "marked_places"]

KIND_ELSEWHERE = "a kind of it is marked elsewhere"
"""Reason that bars a question: a subtype is marked elsewhere, where an answer would be right as
well.
"""

ONE_OF_TWO = "one of two"
"""Reason that bars a question about "the lung" or "the kidney": the name does not state which of
the two.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedPlace:
    """All regions of one field and concept on one clean image.

    Attributes:
        sample: the image.
        field: card field of the regions.
        concept: concept of the regions.
        rows: their measurements, at least one.
        grade: evidence that nothing else on the image shows the concept.
        visible: whether a reader of the image could know it.
        bar_reason: reason why the place must not be asked about; empty if it may.
    """

    sample: Sample
    field: CardField
    concept: str
    rows: tuple[Geometry, ...]
    grade: Grade
    visible: Visibility
    bar_reason: str


def marked_places(view: CaseView) -> Iterator[MarkedPlace]:
    """Yield the marked places of a case, in the order of images, fields and concepts.

    Kinds of facts that the task does not ask about are left out.
    """
    samples = {sample.id: sample for sample in view.samples if sample.artefact == "clean"}
    rows_of: dict[tuple[str, str, str], list[Geometry]] = {}
    for row in view.geometry:
        is_asked = view.card.fields[row.field].kind in view.task.declaration.kinds
        if row.concept and row.sample in samples and is_asked:
            rows_of.setdefault((row.sample, row.field, row.concept), []).append(row)
    for (sample, name, concept), rows in sorted(rows_of.items()):
        field = view.card.fields[name]
        yield MarkedPlace(
            sample=samples[sample],
            field=field,
            concept=concept,
            rows=tuple(rows),
            grade=only_one(field),
            visible=visible_of(view.card, view.case, field),
            bar_reason=_bar(view, samples[sample], field, rows) or _bar_kinds(view, rows),
        )


def _bar(view: CaseView, sample: Sample, field: CardField, rows: list[Geometry]) -> str:
    told_by = view.task.declaration.told_by
    if bar_reason := bar_of(view.card, view.case, sample, field, told_by=told_by):
        return bar_reason
    if missing_regions(view.card, view.case):
        return "regions-missing"
    if any(is_paired(row.concept) for row in rows):
        return ONE_OF_TWO
    if any(row.partial for row in rows):
        return "partial"
    least, most = view.card.roi
    covered = sum(row.pixels for row in rows) / (rows[0].width * rows[0].height)
    return "" if least <= covered <= most else "roi-size"


def _bar_kinds(view: CaseView, rows: list[Geometry]) -> str:
    """Return a reason if a subtype of the concept is marked elsewhere; empty otherwise.

    A marked nodule is also a lung opacity: pointing at it would be a right answer too.
    """
    sample, concept = rows[0].sample, rows[0].concept
    kinds = (
        row
        for row in view.geometry
        if row.sample == sample
        and row.concept
        and row.concept != concept
        and concept in view.relations.closure(row.concept)
    )
    return "" if all(any(_holds(row, kind) for row in rows) for kind in kinds) else KIND_ELSEWHERE


def _holds(outer: Geometry, inner: Geometry) -> bool:
    across = outer.x0 <= inner.x0 and inner.x1 <= outer.x1
    return across and outer.y0 <= inner.y0 and inner.y1 <= outer.y1

"""Rule of the tasks that ask for a number: applies every measure of a card that names the task.

One rule serves all such tasks: the card states where a number comes from and the tolerance of an
answer, the declaration of the task on which kind of image it is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from medrcube.build.burnt_in.detection import has_words, points_at_lesion
from medrcube.build.open_items.marked_places import ONE_OF_TWO
from medrcube.build.open_items.measured_values import (
    MeasuredValue,
    measured_region,
    measured_widths,
    number_target,
)
from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.build.pixels.scale_bar import ScaleBar, scale_bar_of
from medrcube.build.questions.fact_rules import OUT_OF_SCOPE, visible_of
from medrcube.build.stages.geometry_table import AREA, Geometry, view_of_case
from medrcube.build.stages.samples import Sample
from medrcube.facts import Scope, Visibility
from medrcube.forms.number import NumberAsk, NumberTarget
from medrcube.ontologies.target_phrases import is_paired
from medrcube.sources._framework.card_lookup import concept_of, quirk_of
from medrcube.sources._framework.card_parts.measures import (
    RATIO,
    STATED,
    Measure,
    MeasureTask,
    Tolerance,
)

__all__ = ["LOTS", "REFORMATTED", "MeasureRule", "size_lot"]

REFORMATTED = "not the plane of acquisition"
"""Reason that bars a length: across the slices its resolution is the slice thickness."""

LOTS = 8
"""Size classes over which items are balanced."""

_Found = tuple[MeasuredValue | None, str]
"""The known value of a measure on an image, and the reason why it must not be asked."""


class MeasureRule:
    """Yields one question for each measure and image of the kind that the task uses."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield the questions of one case, in the order of the card and of its images."""
        for measure in view.card.measures.values():
            if measure.task_settings is None or measure.task_settings.task != view.task:
                continue
            for sample in view.samples:
                if sample.artefact in view.task.declaration.artefacts:
                    yield from _questions(view, measure, measure.task_settings, sample)


def size_lot(measure: Measure, tolerance: Tolerance, value: float) -> str:
    """Return the size class of a value within the plausible range, ``0`` for the smallest.

    Classes are of equal width on the scale of the tolerance: the logarithm of the value if the
    tolerance is relative, the value itself if it is in points.
    """
    low, high = measure.low, measure.high
    if tolerance.share:
        low, high, value = (math.log(max(number, high / 1000)) for number in (low, high, value))
    share = (value - low) / (high - low)
    return str(min(max(int(share * LOTS), 0), LOTS - 1))


def _questions(
    view: CaseView, measure: Measure, settings: MeasureTask, sample: Sample
) -> Iterator[OpenQuestion]:
    rows, concept, values = _rows(view, measure, sample), measure.about, {}
    visible_values: tuple[float, ...] = (math.log(sample.width), math.log(sample.height))
    if measure.origin == STATED:
        if not any(quantity.field == measure.name for quantity in view.case.quantities):
            return
        measured, bar_reason = _stated(view, measure, settings)
    elif measure.origin == RATIO:
        measured, bar_reason = _ratio(measure, rows)
    elif sample.field == measure.of:
        concept = sample.marked
        rows = [row for row in rows if row.concept == concept]
        bar = _bar_of(sample, rows)
        if bar:
            values = {"bar": f"{bar.length_mm} mm"}
            visible_values = (*visible_values, math.log(bar.length_mm / bar.pixels))
        measured, bar_reason = _length(
            view, measure, sample, rows, tolerance=settings.tolerance, bar=bar
        )
    else:
        return
    target = _unmeasured(measure)
    if measured is not None:
        target = number_target(measured, settings.tolerance, measure.unit)
        if not (measured.value > 0 and measure.is_plausible(measured.value)):
            bar_reason = bar_reason or "implausible"
    yield OpenQuestion(
        task=view.task,
        sample=sample,
        field=measure.name,
        concept=concept,
        target=target,
        values=values,
        prior=(view.card.id, measure.name, concept, view_of_case(view.card, view.case)),
        lot=size_lot(measure, settings.tolerance, target.value),
        visible_values=visible_values,
        grade=settings.grade,
        visible=_visible(view, measure, settings),
        bar_reason=_objection(view, measure, sample) or bar_reason,
    )


def _visible(view: CaseView, measure: Measure, settings: MeasureTask) -> Visibility:
    """Return how far an image shows a measure: no further than the structure that is measured."""
    field = view.card.fields.get(measure.of)
    if field is None:
        return settings.visible
    return min(settings.visible, visible_of(view.card, view.case, field))


def _stated(view: CaseView, measure: Measure, settings: MeasureTask) -> _Found:
    """Return the value that the source states, if the case shows the required images."""
    stated = [quantity for quantity in view.case.quantities if quantity.field == measure.name]
    if len(stated) > 1:
        return None, "stated-twice"
    panels = sorted(concept_of(view.card, label) or "" for label in view.case.panels)
    measured = MeasuredValue(value=stated[0].value, readings=stated[0].readings)
    return measured, "" if panels == sorted(settings.panels) else OUT_OF_SCOPE


def _ratio(measure: Measure, rows: Sequence[Geometry]) -> _Found:
    """Return the ratio of two widths, if each region is present once and complete."""
    concepts = [row.concept for row in rows]
    if any(concepts.count(concept) != 1 for concept in (*measure.part, *measure.whole)):
        return None, "regions-missing"
    used = [row for row in rows if row.concept in (*measure.part, *measure.whole)]
    measured = measured_widths(
        [row for row in used if row.concept in measure.part],
        [row for row in used if row.concept in measure.whole],
    )
    return measured, next(filter(None, map(_unfit, used)), "")


def _length(
    view: CaseView,
    measure: Measure,
    sample: Sample,
    rows: Sequence[Geometry],
    *,
    tolerance: Tolerance,
    bar: ScaleBar | None,
) -> _Found:
    """Return a length of the region that is outlined above a scale bar."""
    if len(rows) != 1:
        return None, "several-regions" if rows else "regions-missing"
    [row] = rows
    if bar is None:
        return None, "no-scale"
    measured = measured_region(row, measure.origin, bar.length_mm / bar.pixels)
    bar_reason = "in-pieces" if row.pieces > 1 else _unfit(row)
    if is_paired(row.concept):
        bar_reason = ONE_OF_TWO
    if view.case.plane not in (None, view.card.pixels.plane):
        bar_reason = REFORMATTED  # readers measure in the plane of acquisition
    if sample.area < view.card.roi[0]:
        bar_reason = bar_reason or "roi-size"
    for quantity in view.case.quantities:
        if quantity.field == measure.name:
            low, high = tolerance.bounds(quantity.value, quantity.value)
            if not low <= measured.value <= high:
                bar_reason = bar_reason or "stated-otherwise"
            readings = (measured.value, *measured.readings, *quantity.readings)
            measured = replace(measured, value=quantity.value, readings=readings)
    return measured, bar_reason


def _bar_of(sample: Sample, rows: Sequence[Geometry]) -> ScaleBar | None:
    """Return the scale bar below an image, as drawn by the worker; ``None`` if there is none."""
    sides = {row.mm_per_pixel for row in rows if row.scale == "object"}
    side = sides.pop() if len(sides) == 1 else None
    return scale_bar_of(sample.width, side) if side else None


def _unfit(row: Geometry) -> str:
    """Return why the extent of a region is not that of the structure; empty if it is."""
    if row.shape != AREA:
        return "box-drawn"
    if row.cut:
        return "cut"
    return "partial" if row.partial else ""


def _rows(view: CaseView, measure: Measure, sample: Sample) -> list[Geometry]:
    """Return the geometry of a field's regions on the slice that an image shows."""
    clean = {
        other.id
        for other in view.samples
        if other.artefact == "clean" and other.frames == sample.frames
    }
    return [row for row in view.geometry if row.sample in clean and row.field == measure.of]


def _unmeasured(measure: Measure) -> NumberTarget:
    """Return a target with only the plausible range, for a question that is barred early."""
    unit = "" if measure.unit == RATIO else measure.unit
    return NumberTarget(
        ask=NumberAsk(unit=unit), value=measure.high, low=measure.low, high=measure.high
    )


def _objection(view: CaseView, measure: Measure, sample: Sample) -> str:
    """Return why no number may be asked here; empty if one may."""
    if measure.scope > Scope[sample.scope.upper()]:
        return OUT_OF_SCOPE
    told_by = view.task.declaration.told_by
    listed = quirk_of(view.card, view.case.key, "marked") is not None
    if told_by == "marks" and (listed or points_at_lesion(sample.graphics)):
        return "burnt-in"
    return "burnt-in" if told_by != "nothing" and has_words(sample.graphics) else ""

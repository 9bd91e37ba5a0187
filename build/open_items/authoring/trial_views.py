"""Trial views: placeholder cases of a source, on which ``medrcube tasks check`` tests a rule.

Nothing is rendered: a region is an invented one in the middle of an image of 512 by 512 pixels, and
its geometry has the millimetres and sides that the card allows for real ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

from medrcube.build.open_items.question import CaseView
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.stages.geometry_table import Geometry
from medrcube.build.stages.samples import NUMBERED, Sample
from medrcube.facts import Case, ImageRef, Label, LabelState, Quantity, Rectangle, Region
from medrcube.ontologies.relations import load_relations
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.fields import CardField
from medrcube.sources._framework.card_parts.measures import STATED, Measure, MeasureTask
from medrcube.taxonomy import Task

__all__ = ["trial_views", "unknown_views"]

_SIDE = 512
_BOX = (150, 180, 200, 240)
_BESIDE = 200
"""Columns between two regions of one image."""
_EVIDENCE = "stand-in"
_ZEROS: dict[str, Any] = {"str": "", "int": 0, "float": 0.0, "bool": False}
_BLANK_SAMPLE = {column.name: _ZEROS.get(str(column.type), "") for column in fields(Sample)}
_BLANK_GEOMETRY = {column.name: _ZEROS.get(str(column.type), "") for column in fields(Geometry)}


def trial_views(task: Task, card: Card) -> Iterator[CaseView]:
    """Yield every fact of the kinds that a task asks about, on its image: alone, then in pairs.

    A case has all numbers that the card declares, each in the middle of its plausible range, and
    the other values of the field are denied if it states several. For a fact wider than the images
    of the source there is also a case whose image does not show it. A number that the task asks for
    by the card has a case of its own, with the images and regions that it needs.
    """
    kinds = task.declaration.kinds
    fitting = [field for field in card.fields.values() if not kinds or field.kind in kinds]
    for field in fitting:
        for concept in field.concepts():
            yield _view(task, card, field, concept, LabelState.PRESENT)
        if field.scope > card.shows:
            yield _narrow(_view(task, card, field, field.concepts()[0], LabelState.UNKNOWN))
    facts = [
        (field, concept) for field in fitting if not field.constant for concept in field.concepts()
    ]
    views = (_view(task, card, *fact, LabelState.PRESENT) for fact in facts)
    for first, second in pairwise(views):
        yield _beside(first, second)
    for measure in card.measures.values():
        if measure.task_settings and measure.task_settings.task == task:
            yield _measured_view(task, card, measure, measure.task_settings)


def unknown_views(task: Task, card: Card) -> Iterator[CaseView]:
    """Yield the same facts, each left open by its source, without marks."""
    kinds = task.declaration.kinds
    for field in card.fields.values():
        if field.kind in kinds and field.constant is None:
            for concept in field.concepts():
                yield _view(task, card, field, concept, LabelState.UNKNOWN)


def _narrow(view: CaseView) -> CaseView:
    """Return the case on an image that shows less than the field describes."""
    scope = view.card.shows.name.lower()
    case = replace(view.case, labels=(), shows=view.card.shows)
    return replace(
        view,
        case=case,
        facts=facts_of_case(view.card, case, view.terms),
        samples=tuple(replace(sample, scope=scope) for sample in view.samples),
    )


def _view(task: Task, card: Card, field: CardField, concept: str, state: LabelState) -> CaseView:
    case = _case(card, field, concept, state)
    has_region = state is LabelState.PRESENT
    samples = [_sample(card, case, "clean")]
    if has_region:
        kinds = [kind for kind in task.declaration.artefacts if kind != "clean"]
        samples += [_sample(card, case, kind, field.name, concept) for kind in kinds]
    samples.sort(key=lambda sample: sample.id)
    terms, relations = load_terms(), load_relations()
    return CaseView(
        task=task,
        card=card,
        case=case,
        facts=facts_of_case(card, case, terms),
        samples=tuple(samples),
        geometry=(_geometry(card, case, field.name, concept),) if has_region else (),
        terms=terms,
        relations=relations,
    )


def _measured_view(task: Task, card: Card, measure: Measure, settings: MeasureTask) -> CaseView:
    """Return a case for one number: stated for its images, or measured on its regions."""
    stated = measure.origin == STATED
    fields_of = {name: field for field in card.fields.values() for name in field.concepts()}
    field = card.fields.get(measure.of) or fields_of[next(iter(settings.panels), measure.about)]
    concepts = (*measure.part, *measure.whole) or field.concepts()[:1]
    view = _view(task, card, field, concepts[0], LabelState.PRESENT)
    panels = (
        Label(field=fields_of[name].name, value=fields_of[name].raw_value(name), evidence=_EVIDENCE)
        for name in settings.panels
    )
    shows = max(view.case.shows or card.shows, measure.scope)
    # A ratio in the middle of the plausible range, with the whole as wide as the image.
    width = int(_SIDE * (measure.low + measure.high) / 2) if measure.part else _SIDE
    return replace(
        view,
        case=replace(
            view.case,
            panels=tuple(panels),
            shows=shows,
            quantities=view.case.quantities if stated else (),
        ),
        samples=tuple(replace(sample, scope=shows.name.lower()) for sample in view.samples),
        geometry=tuple(
            replace(row, concept=name, x0=0, x1=width if name in measure.part else _SIDE)
            if measure.part
            else row
            for row in view.geometry
            for name in concepts
        ),
    )


def _beside(view: CaseView, other: CaseView) -> CaseView:
    """Return a view with the region of another one added, to the right of its own."""
    labels = dict.fromkeys((*view.case.labels, *other.case.labels))
    case = replace(
        view.case,
        labels=tuple(label for label in labels if label.state is LabelState.PRESENT),
        regions=(*view.case.regions, *other.case.regions),
    )
    moved = (
        replace(
            row,
            region=1,
            side="left" if row.side else "",
            whole_side="left" if row.whole_side else "",
            from_midline=round((row.centroid_x + _BESIDE - row.midline) / row.width, 6),
            **{
                name: getattr(row, name) + _BESIDE
                for name in ("x0", "x1", "centroid_x", "inside_x", "longest_x0", "longest_x1")
            },
        )
        for row in other.geometry
    )
    return replace(
        view,
        case=case,
        facts=facts_of_case(view.card, case, view.terms),
        geometry=(*view.geometry, *moved),
    )


def _case(card: Card, field: CardField, concept: str, state: LabelState) -> Case:
    if field.constant:
        labels: tuple[Label, ...] = ()
        regions: tuple[Region, ...] = ()
    else:
        label = Label(
            field=field.name, value=field.raw_value(concept), state=state, evidence=_EVIDENCE
        )
        labels = (label,)
        if field.group is None and field.kind.several:
            labels += tuple(
                replace(label, value=field.raw_value(other), state=_of_others(state))
                for other in field.concepts()
                if other != concept
            )
        x0, y0, x1, y1 = _BOX
        region = Region(
            field=field.name,
            value=label.value,
            shape=Rectangle(xyxy=(x0, y0, x1, y1), frame=(_SIDE, _SIDE)),
            evidence=_EVIDENCE,
        )
        regions = (region,) if state is LabelState.PRESENT else ()
    return Case(
        key="any",
        images=(ImageRef(paths=()),),
        patient="any",
        labels=labels,
        regions=regions,
        quantities=tuple(
            Quantity(
                field=measure.name,
                value=(measure.low + measure.high) / 2,
                unit=measure.unit,
                evidence=_EVIDENCE,
            )
            for measure in card.measures.values()
        ),
        shows=max(card.shows, field.scope),
    )


def _of_others(state: LabelState) -> LabelState:
    return LabelState.ABSENT if state is LabelState.PRESENT else state


def _sample(card: Card, case: Case, artefact: str, field: str = "", concept: str = "") -> Sample:
    x0, y0, x1, y1 = _BOX
    return Sample(
        **{
            **_BLANK_SAMPLE,
            "id": f"{case.key}/{artefact}",
            "source": card.id,
            "case": case.key,
            "artefact": artefact,
            "field": field,
            "marked": concept,
            "truth": "1" if artefact in NUMBERED else "",
            "choices": 4 if artefact in NUMBERED else 0,
            "area": (x1 - x0) * (y1 - y0) / _SIDE**2 if concept else 0.0,
            "regions": int(bool(concept)),
            "width": _SIDE,
            "height": _SIDE,
            "anatomy": card.anatomy.value,
            "modality": card.modality.value,
            "patient": "any",
            "scope": (case.shows or card.shows).name.lower(),
            "frames": "0",
        }
    )


def _geometry(card: Card, case: Case, field: str, concept: str) -> Geometry:
    x0, y0, x1, y1 = _BOX
    width, height = x1 - x0, y1 - y0
    sides = card.geometry.orientation != "unknown"
    longest = math.hypot(width - 1, height - 1)
    values: dict[str, Any] = {
        "sample": f"{case.key}/clean",
        "source": card.id,
        "case": case.key,
        "patient": "any",
        "field": field,
        "concept": concept,
        "shape": "area",
        "width": _SIDE,
        "height": _SIDE,
        "x0": x0,
        "y0": y0,
        "x1": x1,
        "y1": y1,
        "pixels": width * height,
        "pieces": 1,
        "largest": width * height,
        "centroid_x": (x0 + x1) / 2,
        "centroid_y": (y0 + y1) / 2,
        "inside_x": (x0 + x1) // 2,
        "inside_y": (y0 + y1) // 2,
        "longest": longest,
        "longest_x0": x0 + 0.5,
        "longest_y0": y0 + 0.5,
        "longest_x1": x1 - 0.5,
        "longest_y1": y1 - 0.5,
        "across": min(width, height),
        "hull": 2.0 * (width + height),
        "major": longest,
        "minor": min(width, height),
        "circumference": 2.0 * (width + height),
        "mm_per_pixel": 0.7 if card.geometry.scale != "unknown" else None,
        "scale": card.geometry.scale if card.geometry.scale != "unknown" else "",
        "orientation": card.geometry.orientation if sides else "",
        "right_at": "left" if sides else "",
        "midline": _SIDE / 2,
        "midline_from": "body" if sides else "",
        "side": "right" if sides else "",
        "whole_side": "right" if sides else "",
        "from_midline": round(abs((x0 + x1) / 2 - _SIDE / 2) / _SIDE, 6),
        "mask": _MASK,
    }
    return Geometry(**{**_BLANK_GEOMETRY, **values})


def _mask() -> str:
    """Return the runs of the region's mask."""
    x0, y0, x1, y1 = _BOX
    height = y1 - y0
    columns = (*(height, _SIDE - height) * (x1 - x0 - 1), height)
    runs = (x0 * _SIDE + y0, *columns, (_SIDE - x1) * _SIDE + _SIDE - y1)
    return " ".join(map(str, runs))


_MASK = _mask()

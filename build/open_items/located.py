"""Located answers: a point on a marked region, or the box around it, on one clean image.

Both tasks have the same requirement as ROI Grounding: nothing else in the image may show the target
concept, or a correct answer would be counted as wrong. The bars are derived from reader variability
(``docs/explanation/tolerances.md``). For a finding marked by a box, no outline is known: the
corners of the box lie outside the finding, so a point passes only within the inscribed ellipse.

Two names may have one place, such as an enlarged heart and an enlarged mediastinum. One answer
passes both, so only one of them is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from medrcube.build.open_items.marked_places import MarkedPlace, marked_places
from medrcube.build.open_items.question import CaseView, OpenQuestion
from medrcube.build.regions.run_lengths import decode_runs, encode_runs
from medrcube.build.stages.geometry_table import BOX, Geometry
from medrcube.facts import Grade
from medrcube.forms.box import BoxAsk, BoxTarget
from medrcube.forms.point import PointAsk, PointTarget
from medrcube.forms.regions import EllipseRegion, MaskRegion, TargetRegion
from medrcube.ontologies.label_words import is_rest_class

__all__ = ["IOU", "MARGIN", "SAME_PLACE", "BoxRule", "PointRule"]

IOU = 0.5
"""Least IoU with the true box: 94 % of readers of lung nodules reach it."""
MARGIN = 1.0
"""Pixels by which a region is dilated for a point: all readers of lung nodules lie within it."""
SAME_PLACE = 0.75
"""Least IoU of two places that count as one: half of the pairs of readers of one lung nodule do not
agree better.
"""
ANOTHER_NAME = "asked by another name"
"""Reason that bars a question: the place is already asked about under another name."""

_Pixels = NDArray[np.bool_]
_PlaceQuestion = tuple[MarkedPlace, OpenQuestion]


class PointRule:
    """A point on the region; if a concept has several regions, a point on any of them."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield one question for each concept that is marked on a clean image."""
        return _each_place_once(self._place_questions(view), _pixels)

    def _place_questions(self, view: CaseView) -> Iterator[_PlaceQuestion]:
        for place in marked_places(view):
            row = place.rows[0]
            target = PointTarget(
                ask=PointAsk(),
                size=(row.width, row.height),
                region=_region(place.rows),
                margin=MARGIN,
            )
            yield place, _question(view, place, target, "")


class BoxRule:
    """The box around the region; not asked if a concept has several regions."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """Yield one question for each concept that is marked on a clean image."""
        return _each_place_once(self._place_questions(view), _box_pixels)

    def _place_questions(self, view: CaseView) -> Iterator[_PlaceQuestion]:
        for place in marked_places(view):
            row, bar_reason = place.rows[0], ""
            if len(place.rows) > 1 or row.pieces != 1:
                bar_reason = "several-regions"
            elif not place.field.whole:
                bar_reason = "not all of it is marked"
            target = BoxTarget(
                ask=BoxAsk(),
                size=(row.width, row.height),
                box=(row.x0, row.y0, row.x1, row.y1),
                iou=IOU,
            )
            yield place, _question(view, place, target, bar_reason)


def _question(
    view: CaseView, place: MarkedPlace, target: PointTarget | BoxTarget, bar_reason: str
) -> OpenQuestion:
    row = place.rows[0]
    has_readings = all(len(each.readings.split()) > 1 for each in place.rows)
    return OpenQuestion(
        task=view.task,
        sample=place.sample,
        field=row.field,
        concept=place.concept,
        target=target,
        prior=(row.source, place.concept, row.view or "any view", row.shape),
        # Reader variability has been measured only for lung nodules with several readers.
        grade=max(place.grade, Grade.A if has_readings else Grade.B),
        visible=place.visible,
        bar_reason=place.bar_reason or _bar(view, place.concept) or bar_reason,
    )


def _bar(view: CaseView, concept: str) -> str:
    """Return why the place of a concept must not be asked; empty if it may."""
    if concept in view.facts.unknown or concept not in view.facts.present:
        return "key-not-true"
    # "Lung nodule 3 mm or larger" is one structure, and can be pointed at.
    rest = any(is_rest_class(text) for text in (view.terms[concept].name, concept))
    return "residual category" if rest else ""


def _each_place_once(
    questions: Iterable[_PlaceQuestion], draw: Callable[[Sequence[Geometry]], _Pixels]
) -> Iterator[OpenQuestion]:
    """Yield the questions; of those about one place, all but a random one are barred.

    Args:
        questions: questions about one case.
        draw: pixels in which an answer lies.
    """
    open_ones: dict[str, list[_Pixels]] = {}
    for place, question in sorted(questions, key=_turn):
        if question.bar_reason:
            yield question
            continue
        pixels, earlier = draw(place.rows), open_ones.setdefault(place.sample.id, [])
        if any(_overlap(pixels, other) >= SAME_PLACE for other in earlier):
            yield replace(question, bar_reason=ANOTHER_NAME)
        else:
            earlier.append(pixels)
            yield question


def _turn(entry: _PlaceQuestion) -> tuple[object, ...]:
    """Sort key: strongest evidence and best visibility first, then random."""
    _, question = entry
    names = (question.sample.source, question.sample.case, question.sample.id, question.concept)
    return question.grade, -question.visible, sha256("/".join(names).encode()).digest()


def _overlap(area: _Pixels, other: _Pixels) -> float:
    """Return the intersection over union."""
    return float(np.count_nonzero(area & other) / np.count_nonzero(area | other))


def _box_pixels(rows: Sequence[Geometry]) -> _Pixels:
    mask = np.zeros((rows[0].height, rows[0].width), np.bool_)
    for row in rows:
        mask[row.y0 : row.y1, row.x0 : row.x1] = True
    return mask


def _region(rows: Sequence[Geometry]) -> TargetRegion:
    """Return the region in which a point passes: ellipses in drawn boxes, else region pixels."""
    row = rows[0]
    boxes = [each for each in rows if each.shape == BOX]
    if len(boxes) == len(rows):
        return EllipseRegion(
            boxes=tuple(
                (float(each.x0), float(each.y0), float(each.x1), float(each.y1)) for each in boxes
            )
        )
    return MaskRegion(size=(row.width, row.height), counts=encode_runs(_pixels(rows)))


def _pixels(rows: Sequence[Geometry]) -> _Pixels:
    size = (rows[0].width, rows[0].height)
    mask = np.zeros(size[::-1], np.bool_)
    for row in rows:
        if row.shape == BOX:
            mask |= _ellipse(row)
        else:
            mask |= decode_runs([int(count) for count in row.mask.split()], size)
    return mask


def _ellipse(row: Geometry) -> _Pixels:
    """Return the pixels whose centre lies in the ellipse inscribed in a box."""
    down, across = np.ogrid[: row.height, : row.width]
    x = (2 * across + 1 - row.x0 - row.x1) / (row.x1 - row.x0)
    y = (2 * down + 1 - row.y0 - row.y1) / (row.y1 - row.y0)
    return np.asarray(x**2 + y**2 <= 1)

"""Located answers: a point on a marked region, or the box around it, of one clean image.

Both tasks rest on the same obligation as ROI Grounding: nothing else in the image may show what is
asked for, or a good answer would be called wrong. The bars are what readers differ by
(``docs/explanation/tolerances.md``). Of a finding around which a box was drawn nobody has drawn the
outline: its corners lie beside the finding, so that a point passes in the ellipse alone that
touches its sides.

Two names may be of one place, as an enlarged heart and an enlarged mediastinum. One answer passes
both, so only one of them is asked.
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
from medrcube.forms.regions import EllipseRegion, MaskRegion, Region
from medrcube.ontologies.label_words import is_rest_class

__all__ = ["IOU", "MARGIN", "SAME_PLACE", "BoxRule", "PointRule"]

IOU = 0.5
"""Least overlap with the true box: 94 % of readers of lung nodules reach it."""
MARGIN = 1.0
"""Pixels by which a region is grown for a point: all readers of lung nodules lie within it."""
SAME_PLACE = 0.75
"""Least overlap of two places that count as one: half of the pairs of readers of one lung nodule
agree no further."""
ANOTHER_NAME = "asked by another name"
"""Why nothing is asked: the place is asked already, under the name of something else."""

_Pixels = NDArray[np.bool_]
_Asked = tuple[MarkedPlace, OpenQuestion]


class PointRule:
    """A point on the region; where a concept has several regions, a point on any of them."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """One question for each concept that is marked on a clean image."""
        return _each_place_once(self._asked(view), _pixels)

    def _asked(self, view: CaseView) -> Iterator[_Asked]:
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
    """The box around the region; of several regions of one concept none is asked."""

    def questions(self, view: CaseView) -> Iterator[OpenQuestion]:
        """One question for each concept that is marked on a clean image."""
        return _each_place_once(self._asked(view), _box_pixels)

    def _asked(self, view: CaseView) -> Iterator[_Asked]:
        for place in marked_places(view):
            row, barred = place.rows[0], ""
            if len(place.rows) > 1 or row.pieces != 1:
                barred = "several-regions"
            elif not place.field.whole:
                barred = "not all of it is marked"
            target = BoxTarget(
                ask=BoxAsk(),
                size=(row.width, row.height),
                box=(row.x0, row.y0, row.x1, row.y1),
                iou=IOU,
            )
            yield place, _question(view, place, target, barred)


def _question(
    view: CaseView, place: MarkedPlace, target: PointTarget | BoxTarget, barred: str
) -> OpenQuestion:
    row = place.rows[0]
    read = all(len(each.readings.split()) > 1 for each in place.rows)
    return OpenQuestion(
        task=view.task,
        sample=place.sample,
        field=row.field,
        concept=place.concept,
        target=target,
        prior=(row.source, place.concept, row.view or "any view", row.shape),
        # Beyond lung nodules of several readers nobody has measured how far readers differ.
        grade=max(place.grade, Grade.A if read else Grade.B),
        visible=place.visible,
        barred=place.barred or _bar(view, place.concept) or barred,
    )


def _bar(view: CaseView, concept: str) -> str:
    """Why the place of a concept must not be asked; empty where it may."""
    if concept in view.facts.unknown or concept not in view.facts.present:
        return "key-not-true"
    # "Lung nodule 3 mm or larger" is one thing, and can be pointed at.
    rest = any(is_rest_class(text) for text in (view.terms[concept].name, concept))
    return "rest class" if rest else ""


def _each_place_once(
    asked: Iterable[_Asked], drawn: Callable[[Sequence[Geometry]], _Pixels]
) -> Iterator[OpenQuestion]:
    """The questions; of those about one place, all but one by lot are barred.

    Args:
        asked: questions about one case.
        drawn: pixels in which an answer lies.
    """
    open_ones: dict[str, list[_Pixels]] = {}
    for place, question in sorted(asked, key=_turn):
        if question.barred:
            yield question
            continue
        pixels, earlier = drawn(place.rows), open_ones.setdefault(place.sample.id, [])
        if any(_overlap(pixels, other) >= SAME_PLACE for other in earlier):
            yield replace(question, barred=ANOTHER_NAME)
        else:
            earlier.append(pixels)
            yield question


def _turn(asked: _Asked) -> tuple[object, ...]:
    """The best proved and best seen first, then by lot."""
    _, question = asked
    names = (question.sample.source, question.sample.case, question.sample.id, question.concept)
    return question.grade, -question.visible, sha256("/".join(names).encode()).digest()


def _overlap(one: _Pixels, other: _Pixels) -> float:
    """Intersection over union."""
    return float(np.count_nonzero(one & other) / np.count_nonzero(one | other))


def _box_pixels(rows: Sequence[Geometry]) -> _Pixels:
    mask = np.zeros((rows[0].height, rows[0].width), np.bool_)
    for row in rows:
        mask[row.y0 : row.y1, row.x0 : row.x1] = True
    return mask


def _region(rows: Sequence[Geometry]) -> Region:
    """Where a point passes: the ellipses in boxes, else the pixels of all regions."""
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
    """Pixels whose middle lies in the ellipse that touches the sides of a box."""
    down, across = np.ogrid[: row.height, : row.width]
    x = (2 * across + 1 - row.x0 - row.x1) / (row.x1 - row.x0)
    y = (2 * down + 1 - row.y0 - row.y1) / (row.y1 - row.y0)
    return np.asarray(x**2 + y**2 <= 1)

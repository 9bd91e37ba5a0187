"""Leakage test of numbered boxes: can their geometry alone predict the key?

Two kinds of readers see only the corners: simple shortcuts, such as choosing the box nearest to the
centre, and a conditional logit (``conditional_logit``) over all their features, cross-validated in
five folds that never split a patient.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.build.audit.leakage.conditional_logit import LogitQuestion, cross_validate
from medrcube.build.audit.leakage.leakage_tests import groups_of, score_against_chance
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample

__all__ = ["MODEL", "box_geometry"]

MODEL = "a model of box geometry"
BOUND_SE = 3.0
"""Standard errors above chance that a score may reach: of so many shortcuts one exceeds two by
chance, and a rule of level error prevents a release.
"""
MODEL_BOUND_SE = 1.2 * BOUND_SE
"""The same for the model, whose folds share training data: over 180 batches of 34 and 70 items with
exchangeable boxes, its scores spread 1.2 times as far as their standard error suggests.
"""
_NEAR = 1e-9
_BORDER = 1 / 16
"""Share of a side of the image within which a box counts as at the border."""
_LATTICES = (8, 10, 12, 16)
"""Numbers of steps of the lattices to which boxes may be aligned."""
FEWEST = 20
"""Fewest items for which a score is judged: a rule of level error must not fail by chance."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Boxes:
    """Boxes of one image, relative to its width and height."""

    width: int
    height: int
    corners: tuple[tuple[float, float, float, float], ...]


def box_geometry(items: Iterable[ChoiceItem], samples: Iterable[Sample]) -> list[Row]:
    """Return the score of each shortcut and of the model on all items about numbered boxes.

    Returns:
        Rows like those of ``leakage_tests.options_only``, with the shortcut in ``task``; empty
        without such items. The score of the model is ``None`` if all items are in one group.
    """
    pictures = {sample.id: sample for sample in samples}
    readable = [
        item
        for item in sorted(items, key=lambda item: item.id)
        if item.sample in pictures and _readable(item, pictures[item.sample])
    ]
    if not readable:
        return []
    groups = groups_of(readable, pictures.values())
    layouts = [_boxes(pictures[item.sample]) for item in readable]
    own = [groups[item.id] for item in readable]
    keys = [item.key for item in readable]
    rows = []
    for name, measure in _MEASURES.items():
        values = [measure(boxes) for boxes in layouts]
        for most in (True, False):
            hits = [_hit(row, key, most=most) for row, key in zip(values, keys, strict=True)]
            rows.append(_row(f"{'most' if most else 'least'} {name}", hits, layouts, own))
    questions = [
        LogitQuestion(options=_features(boxes), key=key)
        for boxes, key in zip(layouts, keys, strict=True)
    ]
    hits_of_model = cross_validate(questions, own)
    return [*rows, _row(MODEL, hits_of_model, layouts, own, bound=MODEL_BOUND_SE)]


def _readable(item: ChoiceItem, sample: Sample) -> bool:
    return bool(sample.boxes) and len(item.options) == sample.boxes.count(",") + 1 > item.key


def _boxes(sample: Sample) -> _Boxes:
    corners = []
    for box in sample.boxes.split(", "):
        x0, y0, x1, y1 = map(int, box.split())
        corners.append(
            (x0 / sample.width, y0 / sample.height, x1 / sample.width, y1 / sample.height)
        )
    return _Boxes(width=sample.width, height=sample.height, corners=tuple(corners))


def _row(
    name: str,
    hits: list[float] | None,
    layouts: Sequence[_Boxes],
    own: Sequence[str],
    *,
    bound: float = BOUND_SE,
) -> Row:
    chances = [1 / len(boxes.corners) for boxes in layouts]
    if hits is None:
        row_head = {"task": name, "n": len(chances), "groups": 1, "chance": sum(chances) / len(own)}
        return row_head | dict.fromkeys(("accuracy", "se", "threshold", "within"))
    row = score_against_chance(list(zip(hits, chances, own, strict=True)))
    most = row["chance"] + bound * row["se"]
    within = row["accuracy"] <= most if row["n"] >= FEWEST else None
    return {"task": name, **row, "threshold": most, "within": within}


def _hit(values: Sequence[float], key: int, *, most: bool) -> float:
    """Probability that the box with the extreme value is the right one; ties count as a draw."""
    best = max(values) if most else min(values)
    nearest = [index for index, value in enumerate(values) if abs(value - best) < _NEAR]
    return (key in nearest) / len(nearest)


Measure = Callable[[_Boxes], list[float]]


def _each(of: Callable[[float, float, float, float], float]) -> Measure:
    return lambda boxes: [of(*corners) for corners in boxes.corners]


def _apart(boxes: _Boxes) -> list[float]:
    """Distance of the centre of each box to the nearest other centre."""
    centres = [((x0 + x1) / 2, (y0 + y1) / 2) for x0, y0, x1, y1 in boxes.corners]
    return [
        min(math.dist(own, other) for n, other in enumerate(centres) if n != index)
        for index, own in enumerate(centres)
    ]


def _aligned(boxes: _Boxes) -> list[float]:
    """Number of edges of other boxes that are collinear with an edge of each box."""
    return [
        float(
            sum(
                abs(edge - other[side]) < _NEAR
                for n, other in enumerate(boxes.corners)
                if n != index
                for side, edge in enumerate(own)
            )
        )
        for index, own in enumerate(boxes.corners)
    ]


def _off_lattice(steps: int, border: float) -> Measure:
    """Distance of each box to a lattice of positions that excludes a border, in pixels."""

    def off(start: float, end: float, length: int) -> float:
        room = (1 - (end - start) - 2 * border) * length / steps
        if room < 1:
            return 0.0
        share = (start - border) * length / room
        return min(abs(share - round(share)) * room, 2.0)

    return lambda boxes: [
        off(x0, x1, boxes.width) + off(y0, y1, boxes.height) for x0, y0, x1, y1 in boxes.corners
    ]


def _out_of_order(boxes: _Boxes) -> list[float]:
    """Distance of the number of each box from its rank in reading order."""
    order = sorted(range(len(boxes.corners)), key=lambda n: boxes.corners[n][1::-1])
    return [float(abs(order.index(number) - number)) for number in range(len(order))]


_MEASURES: dict[str, Measure] = {
    "far from the border": _each(lambda x0, y0, x1, y1: min(x0, y0, 1 - x1, 1 - y1)),
    "far from the centre": _each(lambda x0, y0, x1, y1: math.hypot(x0 + x1 - 1, y0 + y1 - 1)),
    "far to the right": _each(lambda x0, _y0, x1, _y1: x0 + x1),
    "far down": _each(lambda _x0, y0, _x1, y1: y0 + y1),
    "large": _each(lambda x0, y0, x1, y1: (x1 - x0) * (y1 - y0)),
    "wide for its height": _each(lambda x0, y0, x1, y1: (x1 - x0) / (y1 - y0)),
    "far from the other boxes": _apart,
    "in line with the other boxes": _aligned,
    "out of the order of reading": _out_of_order,
    "high in number": lambda boxes: [float(n) for n in range(len(boxes.corners))],
    **{
        f"far from a lattice of {steps} steps{' inside a border' if border else ''}": _off_lattice(
            steps, border
        )
        for border in (0.0, _BORDER)
        for steps in _LATTICES
    },
}


def _features(boxes: _Boxes) -> list[dict[Hashable, float]]:
    """Features of each box for the model: all measures, their extremes, positions and the image."""
    count = len(boxes.corners)
    size = round(math.log2(boxes.width * boxes.height))
    features_of_boxes: list[dict[Hashable, float]] = []
    for number, (x0, y0, x1, y1) in enumerate(boxes.corners):
        x, y = x0 + x1 - 1, y0 + y1 - 1
        places: dict[Hashable, float] = {
            "x": x,
            "y": y,
            "from the middle": abs(x),
            "from mid-height": abs(y),
        }
        margins = {"left": x0, "top": y0, "right": 1 - x1, "bottom": 1 - y1}
        features_of_boxes.append(
            {
                ("number", count, number): 1.0,
                **places,
                **{(size, name): value for name, value in places.items()},
                **{(side, "border"): 1.0 for side, margin in margins.items() if margin < _BORDER},
                ("column", int((x + 1) * 3)): 1.0,
                ("row", int((y + 1) * 3)): 1.0,
            }
        )
    for name, measure in _MEASURES.items():
        values = measure(boxes)
        low, high = min(values), max(values)
        for features, value in zip(features_of_boxes, values, strict=True):
            features[name] = value
            if high - low > _NEAR:
                features["most", name] = float(high - value < _NEAR)
                features["least", name] = float(value - low < _NEAR)
    return features_of_boxes

"""The target of a point or box item as an SVG path over the image, and in words."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from medrcube.forms.box import BoxTarget
from medrcube.forms.option import OptionTarget
from medrcube.forms.point import PointTarget
from medrcube.forms.protocol import Target
from medrcube.forms.regions import (
    EllipseRegion,
    MaskRegion,
    PolygonRegion,
    TargetRegion,
    distance_to_edge,
)

__all__ = ["DrawnPlace", "drawn_place"]

_SMALL = 16
"""Simplification tolerance as a fraction of a loop's longer side, so that small loops keep shape.
"""

_Corner = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPlace:
    """A location on an image.

    Attributes:
        size: width and height of the image in pixels, the coordinate system of the path.
        path: SVG path, filled by the even-odd rule.
        words: the location in words.
    """

    size: tuple[int, int]
    path: str
    words: str


def drawn_place(
    target: Target | OptionTarget | None, steps: int | None = None
) -> DrawnPlace | None:
    """Return the reference box or the region for a point; ``None`` if the answer is not a location.

    The margin of a point is in the text, not in the path.

    Args:
        target: target of the item.
        steps: resolution of the display along the longer side of the image: outlines are simplified
            within one step; without it they follow every pixel.
    """
    if isinstance(target, BoxTarget):
        left, top, right, bottom = target.box
        path = f"M{left:.6g} {top:.6g}H{right:.6g}V{bottom:.6g}H{left:.6g}Z"
        words = f"the true box, {_extent(target.box, target.size)}"
    elif isinstance(target, PointTarget):
        path = _path(target.region, max(target.size) / steps if steps else 0.0)
        grown = f", and {target.margin:g} px around it" if target.margin else ""
        extent = _extent(target.region.bounds(), target.size)
        words = f"where a point passes: {_shape(target.region)}, {extent}{grown}"
    else:
        return None
    return DrawnPlace(size=target.size, path=path, words=words)


def _extent(box: Sequence[float], size: tuple[int, int]) -> str:
    left, right = (f"{100 * edge / size[0]:.0f}" for edge in (box[0], box[2]))
    top, bottom = (f"{100 * edge / size[1]:.0f}" for edge in (box[1], box[3]))
    return f"{left} to {right} % from the left and {top} to {bottom} % from the top"


def _shape(region: TargetRegion) -> str:
    if isinstance(region, EllipseRegion):
        number = len(region.boxes)
        return "an ellipse" if number == 1 else f"{number} ellipses"
    return "a region"


def _path(region: TargetRegion, tolerance: float) -> str:
    if isinstance(region, EllipseRegion):
        return "".join(map(_ellipse, region.boxes))
    loops: Iterable[Sequence[_Corner]]
    if isinstance(region, MaskRegion):
        loops = _mask_loops(region)
    else:
        assert isinstance(region, PolygonRegion)  # noqa: S101 - there are no others
        loops = region.polygons
    return "".join(
        f"M{'L'.join(f'{x:.6g} {y:.6g}' for x, y in _simplified(loop, tolerance))}Z"
        for loop in loops
    )


def _ellipse(box: tuple[float, float, float, float]) -> str:
    """Return the ellipse inscribed in a box, as two arcs from its left to its right end."""
    left, top, right, bottom = box
    across, down, middle = (right - left) / 2, (bottom - top) / 2, (top + bottom) / 2
    arcs = "".join(f"A{across:.6g} {down:.6g} 0 0 1 {x:.6g} {middle:.6g}" for x in (right, left))
    return f"M{left:.6g} {middle:.6g}{arcs}Z"


def _mask_loops(mask: MaskRegion) -> Iterator[list[_Corner]]:
    """Trace the outlines of a mask along its pixel edges.

    The outline has a corner wherever an odd number of column runs has one. Along every grid line,
    the sorted corners are alternately start and end of an edge.
    """
    corners: set[tuple[int, int]] = set()
    for x, top, bottom in mask.pieces():
        corners ^= {(x, top), (x + 1, top), (x, bottom + 1), (x + 1, bottom + 1)}
    along = [_edges(corners, axis) for axis in (0, 1)]
    while corners:
        start = min(corners)
        loop = [start]
        while (corner := along[(len(loop) - 1) % 2][loop[-1]]) != start:
            loop.append(corner)
        corners.difference_update(loop)
        yield [(float(x), float(y)) for x, y in loop]


def _edges(corners: Iterable[tuple[int, int]], axis: int) -> dict[tuple[int, int], tuple[int, int]]:
    """Map each corner to the other end of its edge along the line of constant ``axis``."""
    lines: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for corner in sorted(corners):
        lines[corner[axis]].append(corner)
    other = {}
    for line in lines.values():
        for start, end in zip(line[::2], line[1::2], strict=True):
            other[start], other[end] = end, start
    return other


def _simplified(loop: Sequence[_Corner], tolerance: float) -> list[_Corner]:
    """Simplify a loop within a tolerance (Douglas and Peucker 1973)."""
    xs, ys = zip(*loop, strict=True)
    tolerance = min(tolerance, max(max(xs) - min(xs), max(ys) - min(ys)) / _SMALL)
    if tolerance <= 0:
        return list(loop)
    closed = [*loop, loop[0]]
    farthest = max(range(len(loop)), key=lambda place: math.dist(loop[0], loop[place]))
    corners = {0, farthest}
    open_parts = [(0, farthest), (farthest, len(loop))]
    while open_parts:
        first, last = open_parts.pop()
        between = range(first + 1, last)
        distances = [distance_to_edge(closed[at], closed[first], closed[last]) for at in between]
        if max(distances, default=0.0) > tolerance:
            at = between[distances.index(max(distances))]
            corners.add(at)
            open_parts += [(first, at), (at, last)]
    return [closed[at] for at in sorted(corners)]

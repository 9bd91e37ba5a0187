"""Measurements of a mask: box, centroid, components, longest diameter, extent across, ellipse.

Coordinates are ``(x, y)`` in pixels from the top left corner of the image: the centre of the first
pixel is (0.5, 0.5). A region reaches to the middle of each edge of its pixels, like contours at the
level one half, so that a row of ``n`` pixels is ``n`` long. All arithmetic is exact integer
arithmetic up to the last square root, so that every platform measures the same. scipy is not used:
it would take as much memory in a worker as everything else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medrcube.build.regions.box_labels import Box
from medrcube.build.regions.draw_shapes import bounding_box

__all__ = ["Ellipse", "Measurement", "Point", "count_pieces", "longest_diameter", "measure"]

Point = tuple[float, float]
"""``(x, y)`` in pixels of the image."""

_DIGITS = 4
"""Decimal digits of a pixel to which lengths and means are rounded."""
_ROWS = 16
"""Rows processed at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipse:
    """The ellipse with the same area and second moments as a region.

    Attributes:
        major: full length of the major axis, in pixels.
        minor: full length of the minor axis, in pixels.
        degrees: angle of the major axis from the x axis towards the y axis, from 0 to below 180.
    """

    major: float
    minor: float
    degrees: float

    @property
    def circumference(self) -> float:
        """Return the circumference in pixels, by S. Ramanujan's second formula.

        Its error is below a thousandth up to axes of 10:1.
        """
        a, b = self.major / 2, self.minor / 2
        flat = 3 * ((a - b) / (a + b)) ** 2
        return math.pi * (a + b) * (1 + flat / (10 + math.sqrt(4 - flat)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Measurements of one region on the grid of an image.

    Attributes:
        box: smallest box around it.
        pixels: number of its pixels.
        pieces: number of its 8-connected components.
        largest: number of pixels of its largest component.
        cut: whether it reaches the border of the image, beyond which it may continue.
        centroid: mean coordinates of its pixels.
        inside: column and row of one of its pixels: that of the centroid, or, if the centroid lies
            outside, the one farthest from any unmarked pixel.
        longest: end points ``(x0, y0, x1, y1)`` of its longest diameter, over all components.
        across: its extent perpendicular to the longest diameter.
        hull: perimeter of its convex hull.
        ellipse: ellipse with the same area and second moments.
    """

    box: Box
    pixels: int
    pieces: int
    largest: int
    cut: bool
    centroid: Point
    inside: tuple[int, int]
    longest: tuple[float, float, float, float]
    across: float
    hull: float
    ellipse: Ellipse

    @property
    def diameter(self) -> float:
        """Length of the longest diameter, in pixels."""
        x0, y0, x1, y1 = self.longest
        return round(math.hypot(x1 - x0, y1 - y0), _DIGITS)


def measure(mask: NDArray[np.bool_]) -> Measurement:
    """Measure a non-empty ``(rows, columns)`` mask."""
    x0, y0, x1, y1 = box = bounding_box(mask)
    part = mask[y0:y1, x0:x1]
    sizes = count_pieces(part)
    moments = _moments(part)
    centre = (moments.x / moments.count + 0.5, moments.y / moments.count + 0.5)
    column, row = _inside(part, centre)
    hull = _hull(part)
    ends = _farthest(hull)
    height, width = mask.shape
    return Measurement(
        box=box,
        pixels=moments.count,
        pieces=len(sizes),
        largest=max(sizes),
        cut=x0 == 0 or y0 == 0 or x1 == width or y1 == height,
        centroid=(round(x0 + centre[0], _DIGITS), round(y0 + centre[1], _DIGITS)),
        inside=(x0 + column, y0 + row),
        longest=(
            x0 + int(hull[ends[0], 0]) / 2,
            y0 + int(hull[ends[0], 1]) / 2,
            x0 + int(hull[ends[1], 0]) / 2,
            y0 + int(hull[ends[1], 1]) / 2,
        ),
        across=round(_across(hull, ends), _DIGITS),
        hull=round(_around(hull), _DIGITS),
        ellipse=_ellipse(moments),
    )


def longest_diameter(mask: NDArray[np.bool_]) -> float:
    """Return the longest diameter of a non-empty ``(rows, columns)`` mask, in pixels."""
    x0, y0, x1, y1 = bounding_box(mask)
    hull = _hull(mask[y0:y1, x0:x1])
    first, last = _farthest(hull)
    return round(math.sqrt(int(((hull[first] - hull[last]) ** 2).sum())) / 2, _DIGITS)


def count_pieces(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the number of pixels of each 8-connected component of a mask, in any order.

    Runs of marked pixels are joined with the runs of the next row that they touch.
    """
    height, width = mask.shape
    # A background column on the right separates the runs of two rows.
    flat = np.zeros((height, width + 1), np.int8)
    flat[:, :width] = mask
    steps = np.diff(flat.ravel(), prepend=0, append=0)
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    # A run touches those of the next row that end after its start and start before its end, with
    # both widened by one pixel for diagonal contact.
    below = width + 1
    first = np.searchsorted(ends, starts + below, side="left")
    last = np.searchsorted(starts, ends + below, side="right")
    parents = list(range(len(starts)))

    def root(run: int) -> int:
        while parents[run] != run:
            parents[run] = parents[parents[run]]
            run = parents[run]
        return run

    for run, (start, stop) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for other in range(start, stop):
            a, b = root(run), root(other)
            if a != b:
                parents[max(a, b)] = min(a, b)
    roots = np.array([root(run) for run in range(len(starts))], np.int64)
    sizes = np.bincount(roots, weights=ends - starts)
    return tuple(int(size) for size in sizes if size)


def _inside(part: NDArray[np.bool_], centre: Point) -> tuple[int, int]:
    """Return column and row of a marked pixel: at the centre, or the deepest, nearest first."""
    column, row = int(centre[0]), int(centre[1])
    if part[row, column]:
        return (column, row)
    depth = _depths(part)
    rows, columns = np.nonzero(depth == depth.max())
    apart = (columns + 0.5 - centre[0]) ** 2 + (rows + 0.5 - centre[1]) ** 2
    best = int(apart.argmin())
    return (int(columns[best]), int(rows[best]))


def _depths(part: NDArray[np.bool_]) -> NDArray[np.uint16]:
    """Return the city-block distance of each pixel to the nearest unmarked one."""
    depth = np.zeros(part.shape, np.uint16)
    above = np.zeros(part.shape[1], np.uint16)
    for row, bits in enumerate(part):
        above = depth[row] = np.where(bits, above + 1, 0)
    below = np.zeros(part.shape[1], np.uint16)
    columns = np.arange(1, part.shape[1] + 1)
    for row in range(len(part) - 1, -1, -1):
        below = np.where(part[row], below + 1, 0).astype(np.uint16)
        steps = np.minimum(depth[row], below).astype(np.int64)
        from_left = np.minimum(np.minimum.accumulate(steps - columns), 0) + columns
        from_right = (steps + columns)[::-1]
        from_right = np.minimum.accumulate(np.minimum(from_right, len(columns) + 1))[::-1]
        depth[row] = np.minimum(from_left, from_right - columns)
    return depth


def _hull(part: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Corners ``(x, y)`` of the convex hull in half pixels, in order around it.

    In each row only the outer edges of the first and last pixel can lie on the hull, and likewise
    in each column. The hull is found by A. M. Andrew's "Another efficient algorithm for convex
    hulls in two dimensions", Information Processing Letters 9(5), 1979.
    """
    rows, columns = (np.flatnonzero(part.any(axis=axis)) for axis in (1, 0))
    left = part[rows].argmax(axis=1)
    right = part.shape[1] - part[rows, ::-1].argmax(axis=1)
    top = part[:, columns].argmax(axis=0)
    bottom = part.shape[0] - part[::-1, columns].argmax(axis=0)
    x = np.concatenate([2 * left, 2 * right, 2 * columns + 1, 2 * columns + 1])
    y = np.concatenate([2 * rows + 1, 2 * rows + 1, 2 * top, 2 * bottom])
    points = sorted(set(zip(x.tolist(), y.tolist(), strict=True)))
    lower, upper = _chain(points), _chain(points[::-1])
    return np.array([*lower[:-1], *upper[:-1]], np.int64)


def _chain(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the points from first to last, without those where the path does not turn left."""
    chain: list[tuple[int, int]] = []
    for x, y in points:
        while len(chain) > 1:
            (x0, y0), (x1, y1) = chain[-2:]
            if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                break
            chain.pop()
        chain.append((x, y))
    return chain


def _farthest(hull: NDArray[np.int64]) -> tuple[int, int]:
    """Return the two corners that are farthest apart; of equal pairs the first around the hull.

    A hull on a grid of ``n`` points a side has about ``n ** (2 / 3)`` corners, so there are fewer
    pairs than pixels.
    """
    apart = np.square(hull[:, None] - hull[None]).sum(axis=2)
    first, last = divmod(int(apart.argmax()), len(hull))
    return (first, last)


def _across(hull: NDArray[np.int64], ends: tuple[int, int]) -> float:
    along = hull[ends[1]] - hull[ends[0]]
    offsets = hull[:, 0] * -along[1] + hull[:, 1] * along[0]
    return int(np.ptp(offsets)) / (2 * math.sqrt(int((along**2).sum())))


def _around(hull: NDArray[np.int64]) -> float:
    steps = np.roll(hull, -1, axis=0) - hull
    return math.fsum(math.sqrt(length) for length in np.square(steps).sum(axis=1).tolist()) / 2


def _moments(part: NDArray[np.bool_]) -> _Moments:
    across, down = part.sum(axis=0), part.sum(axis=1)
    columns, rows = np.arange(part.shape[1]), np.arange(part.shape[0])
    products = sum(
        int(rows[y : y + _ROWS] @ (part[y : y + _ROWS] @ columns))
        for y in range(0, part.shape[0], _ROWS)  # numpy makes eight bytes of every pixel
    )
    return _Moments(
        count=int(down.sum()),
        x=int(across @ columns),
        y=int(down @ rows),
        xx=int(across @ columns**2),
        yy=int(down @ rows**2),
        xy=products,
    )


def _ellipse(of: _Moments) -> Ellipse:
    """Return the ellipse of the moments.

    Variance along an axis of an ellipse is a quarter of the squared half axis; that of a pixel is
    one twelfth.
    """
    xx = (of.count * of.xx - of.x**2) / of.count**2 + 1 / 12
    yy = (of.count * of.yy - of.y**2) / of.count**2 + 1 / 12
    xy = (of.count * of.xy - of.x * of.y) / of.count**2
    spread = math.hypot(xx - yy, 2 * xy)
    turn = math.degrees(math.atan2(2 * xy, xx - yy)) / 2 % 180
    return Ellipse(
        major=round(math.sqrt(8 * (xx + yy + spread)), _DIGITS),
        minor=round(math.sqrt(max(8 * (xx + yy - spread), 0.0)), _DIGITS),
        degrees=round(turn, 2) % 180,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """Number of pixels, and sums of their columns (x), rows (y), squares and products."""

    count: int
    x: int
    y: int
    xx: int
    yy: int
    xy: int

"""Target regions for points: run-length mask, polygons or ellipses, in pixels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from medrcube.forms.protocol import Json, TargetError
from medrcube.forms.strict_fields import read_box, read_fields, read_number

__all__ = [
    "EllipseRegion",
    "MaskRegion",
    "PolygonRegion",
    "TargetRegion",
    "distance_to_edge",
    "read_region",
]

_MOST_RUNS = 1_000_000
_HALVINGS = 60
_Point = tuple[float, float]
_Box = tuple[float, float, float, float]


class TargetRegion(Protocol):
    """A region of an image."""

    def distance(self, x: float, y: float) -> float:
        """Distance in pixels from a point to the region; 0 inside."""
        ...

    def centre(self) -> _Point:
        """Return a point inside the region."""
        ...

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom edge of the bounding box."""
        ...

    def to_json(self) -> dict[str, Json]:
        """Return the JSON form that ``read_region`` parses."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskRegion:
    """Run-length mask in COCO's uncompressed format.

    Attributes:
        size: width and height in pixels.
        counts: run lengths, background first, column by column from the left.
    """

    size: tuple[int, int]
    counts: tuple[int, ...]

    def distance(self, x: float, y: float) -> float:
        """Distance from the pixel containing a point to the nearest pixel of the mask."""
        width, height = self.size
        column, row = min(math.floor(x), width - 1), min(math.floor(y), height - 1)
        best = math.inf
        for at, top, bottom in self.pieces():
            across = at - column
            if abs(across) < best:
                down = max(top - row, row - bottom, 0)
                best = min(best, math.hypot(across, down))
        return best

    def centre(self) -> _Point:
        """Return the middle of the longest vertical run."""
        column, top, bottom = max(self.pieces(), key=lambda piece: piece[2] - piece[1])
        return column + 0.5, (top + bottom + 1) / 2

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom edge of the bounding box of its pixels."""
        columns, tops, bottoms = zip(*self.pieces(), strict=True)
        return min(columns), min(tops), max(columns) + 1, max(bottoms) + 1

    def to_json(self) -> dict[str, Json]:
        """Return ``{"mask": {"size": [height, width], "counts": [...]}}``."""
        width, height = self.size
        return {"mask": {"size": [height, width], "counts": list(self.counts)}}

    def pieces(self) -> Iterator[tuple[int, int, int]]:
        """Yield (column, first row, last row) of every run, split at column boundaries."""
        height = self.size[1]
        position = 0
        for index, count in enumerate(self.counts):
            start, position = position, position + count
            if index % 2 == 0:
                continue
            while start < position:
                column, row = divmod(start, height)
                end = min(position, (column + 1) * height)
                yield column, row, row + end - start - 1
                start = end


@dataclass(frozen=True, slots=True, kw_only=True)
class PolygonRegion:
    """Polygons; a point is inside by the even-odd rule over all of them, so holes are respected.

    Attributes:
        polygons: vertices (x, y) of each, in pixels.
    """

    polygons: tuple[tuple[_Point, ...], ...]

    def distance(self, x: float, y: float) -> float:
        """Distance from a point to the nearest edge; 0 inside."""
        inside = False
        best = math.inf
        for start, end in self._edges():
            if (start[1] > y) != (end[1] > y):
                crossing = start[0] + (y - start[1]) * (end[0] - start[0]) / (end[1] - start[1])
                inside ^= x < crossing
            best = min(best, distance_to_edge((x, y), start, end))
        return 0.0 if inside else best

    def centre(self) -> _Point:
        """Return the middle of the widest span on the horizontal halfway up the tallest polygon."""
        heights = [[y for _, y in polygon] for polygon in self.polygons]
        rows = max(heights, key=lambda each: max(each) - min(each))
        # Exactly at a vertex, an edge would be intersected twice.
        y = min(rows) + (max(rows) - min(rows)) * 0.500001
        crossings = sorted(
            start[0] + (y - start[1]) * (end[0] - start[0]) / (end[1] - start[1])
            for start, end in self._edges()
            if (start[1] > y) != (end[1] > y)
        )
        left, right = max(
            zip(crossings[::2], crossings[1::2], strict=True), key=lambda piece: piece[1] - piece[0]
        )
        return (left + right) / 2, y

    def bounds(self) -> tuple[float, float, float, float]:
        """Return left, top, right and bottom edge of the bounding box of all polygons."""
        corners = [corner for polygon in self.polygons for corner in polygon]
        xs, ys = zip(*corners, strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    def to_json(self) -> dict[str, Json]:
        """Return ``{"polygons": [[[x, y], ...], ...]}``."""
        return {"polygons": [[list(corner) for corner in each] for each in self.polygons]}

    def _edges(self) -> Iterator[tuple[_Point, _Point]]:
        for polygon in self.polygons:
            yield from pairwise((*polygon, polygon[0]))


@dataclass(frozen=True, slots=True, kw_only=True)
class EllipseRegion:
    """Axis-aligned ellipses; a point is inside if it lies in any of them.

    A bounding box contains more than the finding, whose outline nobody drew. The inscribed ellipse
    excludes the corners; for a square it is a disc.

    Attributes:
        boxes: left, top, right and bottom edge of the box around each, in pixels.
    """

    boxes: tuple[_Box, ...]

    def distance(self, x: float, y: float) -> float:
        """Distance from a point to the nearest ellipse; 0 inside."""
        return min(_distance_to_ellipse((x, y), box) for box in self.boxes)

    def centre(self) -> _Point:
        """Return the centre of the largest ellipse."""
        left, top, right, bottom = max(
            self.boxes, key=lambda box: (box[2] - box[0]) * (box[3] - box[1])
        )
        return (left + right) / 2, (top + bottom) / 2

    def bounds(self) -> _Box:
        """Return left, top, right and bottom edge of the bounding box of all ellipses."""
        lefts, tops, rights, bottoms = zip(*self.boxes, strict=True)
        return min(lefts), min(tops), max(rights), max(bottoms)

    def to_json(self) -> dict[str, Json]:
        """Return ``{"ellipses": [[left, top, right, bottom], ...]}``."""
        return {"ellipses": [list(box) for box in self.boxes]}


def read_region(name: str, value: object, size: tuple[int, int]) -> TargetRegion:
    """Parse ``{"mask": {...}}``, ``{"polygons": [...]}`` or ``{"ellipses": [...]}``.

    Args:
        name: name of the field, for error messages.
        value: its content.
        size: width and height of the image in pixels.

    Raises:
        TargetError: it is none of these, is empty, or has a different size.
    """
    if isinstance(value, dict) and "polygons" in value:
        return _read_polygons(name, read_fields(name, value, ("polygons",))["polygons"], size)
    if isinstance(value, dict) and "ellipses" in value:
        return _read_ellipses(name, read_fields(name, value, ("ellipses",))["ellipses"], size)
    fields = read_fields(name, value, ("mask",))
    mask = read_fields(f"{name} mask", fields["mask"], ("size", "counts"))
    width, height = size
    if mask["size"] != [height, width]:
        raise TargetError(
            f"{name} mask size is {str(mask['size'])[:60]}; expected [{height}, {width}], height "
            "and width of the image"
        )
    counts = mask["counts"]
    if not isinstance(counts, list) or len(counts) > _MOST_RUNS:
        raise TargetError(f"{name} mask counts: expected a list of lengths of runs")
    if any(type(count) is not int or not 0 <= count <= width * height for count in counts):
        raise TargetError(
            f"{name} mask counts: expected whole numbers from 0 to {width * height:,}"
        )
    if sum(counts) != width * height or not sum(counts[1::2]):
        raise TargetError(
            f"{name} mask counts add up to {sum(counts):,} pixels, {sum(counts[1::2]):,} of them "
            f"inside; expected {width * height:,}, and at least 1 inside"
        )
    return MaskRegion(size=size, counts=tuple(counts))


def _read_polygons(name: str, value: object, size: tuple[int, int]) -> PolygonRegion:
    width, height = size
    if not isinstance(value, list) or not value:
        raise TargetError(f"{name} polygons: expected a list of polygons")
    polygons = []
    for polygon in value:
        if not isinstance(polygon, list) or len(polygon) < 3:
            raise TargetError(f"{name} polygons: expected three corners or more in each")
        corners = []
        for corner in polygon:
            if not isinstance(corner, list) or len(corner) != 2:
                raise TargetError(f"{name} polygons: {str(corner)[:60]!r}; expected [x, y]")
            x, y = corner
            corners.append(
                (
                    read_number(f"{name} x", x, least=0, most=width),
                    read_number(f"{name} y", y, least=0, most=height),
                )
            )
        if not abs(_area(corners)) > 0:
            raise TargetError(f"{name} polygons: one has no area")
        polygons.append(tuple(corners))
    return PolygonRegion(polygons=tuple(polygons))


def _read_ellipses(name: str, value: object, size: tuple[int, int]) -> EllipseRegion:
    if not isinstance(value, list) or not value:
        raise TargetError(f"{name} ellipses: expected a list of boxes around them")
    boxes = (read_box(f"{name} ellipse", box, size) for box in value)
    return EllipseRegion(boxes=tuple(boxes))


def _area(corners: list[_Point]) -> float:
    edges = pairwise((*corners, corners[0]))
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in edges) / 2


def distance_to_edge(point: _Point, start: _Point, end: _Point) -> float:
    """Distance from a point to a line segment."""
    along, across = end[0] - start[0], end[1] - start[1]
    length = along * along + across * across
    offset = (point[0] - start[0]) * along + (point[1] - start[1]) * across
    share = min(1.0, max(0.0, offset / length)) if length else 0.0
    return math.dist(point, (start[0] + share * along, start[1] + share * across))


def _distance_to_ellipse(point: _Point, box: _Box) -> float:
    """Distance from a point to the ellipse inscribed in a box; 0 inside.

    For a point (x, y) outside the ellipse with semi-axes a and b, the nearest point on it is
    (a^2 x / (t + a^2), b^2 y / (t + b^2)), with t above 0 (Eberly, Distance from a Point to an
    Ellipse, https://www.geometrictools.com/Documentation/DistancePointEllipseEllipsoid.pdf).
    """
    left, top, right, bottom = box
    across, down = (right - left) / 2, (bottom - top) / 2
    x, y = abs(point[0] - left - across), abs(point[1] - top - down)
    if math.hypot(x / across, y / down) <= 1:
        return 0.0
    low, high = 0.0, max(across, down) * math.hypot(x, y)
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        if math.hypot(across * x / (t + across**2), down * y / (t + down**2)) > 1:
            low = t
        else:
            high = t
    return math.hypot(x * high / (high + across**2), y * high / (high + down**2))

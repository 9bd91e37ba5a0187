"""LIDC-IDRI nodule readings (XML, one file per CT series), matched across readers.

Readers worked independently without common nodule names, so their marks are matched by distance, as
in pylidc's ``cluster_annotations``: marks whose outlines come within the slice thickness are one
nodule, and a smaller distance is tried while a nodule has more marks than readers.
"""

from __future__ import annotations

import math
import re
import statistics
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.errors import RowError
from medrcube.sources._formats.bounded_xml import read_xml
from medrcube.sources._formats.tables.redaction import redact_cell, redact_exception

__all__ = [
    "Contour",
    "NoduleMark",
    "SeriesReading",
    "Unreadable",
    "has_one_mark_per_reader",
    "largest_slice",
    "match_marks",
    "median_rating",
    "read_reading",
]

CT_ROOT, XRAY_ROOT = "LidcReadMessage", "IdriReadMessage"
_SERIES = "{*}ResponseHeader/{*}SeriesInstanceUid"
_SERIES_IN_TEXT = re.compile(rb"<SeriesInstanceUid>\s*([\d.]+)\s*</SeriesInstanceUid>")

_HEADER = 1 << 20
"""Number of bytes at the start of a damaged file that are searched for its series UID."""
_SHRINK, _LEAST = 0.9, 0.1
"""Factor between successive tolerances, and the smallest one in mm (values of pylidc)."""

_HIGHEST = {"internalStructure": 4, "calcification": 6}
"""Maximum of ratings other than 5."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contour:
    """One contour of a reader, on the pixels just outside the nodule.

    Attributes:
        slice: SOP instance UID.
        z: position of the slice in mm.
        points: pixels as ``(x, y)``.
        hole: whether it excludes its interior.
    """

    slice: str
    z: float
    points: tuple[tuple[float, float], ...]
    hole: bool

    @property
    def area(self) -> float:
        """Return the enclosed area in pixels; negative for a hole."""
        following = (*self.points[1:], *self.points[:1])
        pairs = zip(self.points, following, strict=True)
        doubled = abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs))
        return -doubled / 2 if self.hole else doubled / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class NoduleMark:
    """One reader's mark of a nodule of at least 3 mm.

    Attributes:
        reader: index of the reading session in the file, not a name.
        ratings: characteristic -> 1 to 5 or 6, without blank and 0.
        contours: contours, at least one of them with three or more points.
    """

    reader: int
    ratings: Mapping[str, int]
    contours: tuple[Contour, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesReading:
    """Reading of one CT series from one file.

    Attributes:
        series: UID of the series.
        readers: number of reading sessions.
        marks: marks of nodules of at least 3 mm; smaller ones are omitted.
        path: the file; two files may have the same content.
    """

    series: str
    readers: int
    marks: tuple[NoduleMark, ...]
    path: Path = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A file with an unusable reading.

    Attributes:
        series: UID of its series; empty if unknown.
        reason: explanation for people.
    """

    series: str
    reason: str


def read_reading(path: Path) -> SeriesReading | Unreadable | None:
    """Read one XML file; ``None`` for a reading of a chest X-ray."""
    name = f"{path.parent.name}/{path.name}"
    try:
        root = ET.fromstring(read_xml(path))  # noqa: S314  # looked through; no entity is in it
    except RowError as error:
        return Unreadable(series=_series_in_text(path), reason=str(error))
    kind = root.tag.rpartition("}")[2]
    if kind == XRAY_ROOT:
        return None
    if kind != CT_ROOT:
        root_is, expected = redact_cell(kind, (CT_ROOT, XRAY_ROOT)), f"{CT_ROOT} or {XRAY_ROOT}"
        reason = f"{name}: its root is {root_is}; expected {expected}: is it a reading?"
        return Unreadable(series="", reason=reason)
    series = (root.findtext(_SERIES) or "").strip()
    try:
        sessions = root.findall("{*}readingSession")
        marks = [
            mark for number, session in enumerate(sessions) for mark in _marks(number, session)
        ]
        _text(root, _SERIES)
    except (ValueError, TypeError) as error:
        what = redact_exception(error)
        reason = f"{name}: a part is missing or is not a number ({what}); is this another edition?"
        return Unreadable(series=series, reason=reason)
    return SeriesReading(series=series, readers=len(sessions), marks=tuple(marks), path=path)


def _series_in_text(path: Path) -> str:
    """Return the series UID of a damaged file, whose header precedes the readings."""
    with path.open("rb") as file:
        match = _SERIES_IN_TEXT.search(file.read(_HEADER))
    return match[1].decode() if match else ""


def match_marks(
    marks: Sequence[NoduleMark], *, spacing: float, thickness: float, readers: int = 4
) -> list[tuple[NoduleMark, ...]]:
    """Group the marks of one scan into nodules, each sorted by reader.

    Groups that stay larger than ``readers`` at the smallest tolerance, and groups with two marks
    of one reader, are returned as they are: check them with ``has_one_mark_per_reader``.

    Args:
        marks: marks in any order.
        spacing: pixel spacing in mm.
        thickness: slice thickness in mm; the first tolerance.
        readers: maximum number of marks per nodule.
    """
    ordered = sorted(marks, key=lambda mark: (mark.reader, _place(mark)))
    edges = [_edge(mark, spacing) for mark in ordered]
    near = {
        (a, b): _distance(edges[a], edges[b], thickness)
        for a, b in combinations(range(len(ordered)), 2)
    }
    tolerance = thickness
    while True:
        groups = _joined(len(ordered), [pair for pair, gap in near.items() if gap <= tolerance])
        tolerance *= _SHRINK
        if tolerance < _LEAST or all(len(group) <= readers for group in groups):
            return [tuple(ordered[k] for k in group) for group in groups]


def has_one_mark_per_reader(nodule: Sequence[NoduleMark]) -> bool:
    """Whether no reader marked the nodule more than once."""
    return len({mark.reader for mark in nodule}) == len(nodule)


def largest_slice(nodule: Sequence[NoduleMark]) -> str:
    """Return the SOP instance UID of the slice with the largest area of at least half the readers.

    The area is the one that half of the readers reach; of equal slices the lowest is returned.
    """
    heights = {contour.slice: contour.z for mark in nodule for contour in mark.contours}
    half = {name: statistics.median_high(_areas(nodule, name)) for name in heights}
    return min(heights, key=lambda name: (-half[name], heights[name], name))


def median_rating(nodule: Sequence[NoduleMark], name: str) -> float | None:
    """Return the median rating; ``None`` if one is missing or they differ by over 1."""
    ratings = [mark.ratings[name] for mark in nodule if name in mark.ratings]
    if len(ratings) < len(nodule) or max(ratings) - min(ratings) > 1:
        return None
    return float(statistics.median(ratings))


def _marks(reader: int, session: ET.Element) -> Iterator[NoduleMark]:
    for nodule in session.findall("{*}unblindedReadNodule"):
        contours = tuple(_contour(roi) for roi in nodule.findall("{*}roi"))
        # A nodule below 3 mm is a single point; a few of them nevertheless have ratings of 0.
        if any(len(contour.points) > 2 for contour in contours):
            yield NoduleMark(reader=reader, ratings=_ratings(nodule), contours=contours)


def _contour(roi: ET.Element) -> Contour:
    inclusion = _text(roi, "{*}inclusion")
    if inclusion not in {"TRUE", "FALSE"}:
        raise ValueError(f"inclusion is {inclusion!r}, expected TRUE or FALSE")
    points = [
        (_number(edge, "{*}xCoord"), _number(edge, "{*}yCoord"))
        for edge in roi.findall("{*}edgeMap")
    ]
    return Contour(
        slice=_text(roi, "{*}imageSOP_UID"),
        z=_number(roi, "{*}imageZposition"),
        points=tuple(points),
        hole=inclusion == "FALSE",
    )


def _ratings(nodule: ET.Element) -> dict[str, int]:
    ratings: dict[str, int] = {}
    for entry in nodule.findall("{*}characteristics/*"):
        name, value = entry.tag.rpartition("}")[2], (entry.text or "").strip()
        if value.isdigit() and 1 <= int(value) <= _HIGHEST.get(name, 5):
            ratings[name] = int(value)
    return ratings


def _text(element: ET.Element, path: str) -> str:
    text = element.findtext(path)
    if text is None or not text.strip():
        raise ValueError(f"{path.replace('{*}', '')} of {element.tag.rpartition('}')[2]} is empty")
    return text.strip()


def _number(element: ET.Element, path: str) -> float:
    number = float(_text(element, path))
    if not math.isfinite(number):
        raise ValueError(f"{path.replace('{*}', '')} is {number}, expected a finite number")
    return number


def _areas(nodule: Sequence[NoduleMark], name: str) -> list[float]:
    return [
        sum(contour.area for contour in mark.contours if contour.slice == name) for mark in nodule
    ]


def _place(mark: NoduleMark) -> tuple[float, tuple[tuple[float, float], ...]]:
    return min((contour.z, contour.points) for contour in mark.contours)


def _edge(mark: NoduleMark, spacing: float) -> NDArray[np.float64]:
    """Return the points of all contours in mm, ``(n, 3)``."""
    points = [(x, y, contour.z) for contour in mark.contours for x, y in contour.points]
    return np.array(points) * (spacing, spacing, 1)


def _distance(a: NDArray[np.float64], b: NDArray[np.float64], enough: float) -> float:
    """Return the minimum distance of two point sets; infinite if boxes exceed ``enough``."""
    apart = np.maximum(a.min(axis=0) - b.max(axis=0), b.min(axis=0) - a.max(axis=0))
    if apart.max() > enough:
        return float("inf")
    return float(min(np.linalg.norm(b - point, axis=1).min() for point in a))


def _joined(count: int, pairs: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components, in order of their first member."""
    group = list(range(count))
    for a, b in pairs:
        lower, gone = sorted((group[a], group[b]))
        group = [lower if name == gone else name for name in group]
    members: dict[int, list[int]] = {}
    for number, name in enumerate(group):
        members.setdefault(name, []).append(number)
    return list(members.values())

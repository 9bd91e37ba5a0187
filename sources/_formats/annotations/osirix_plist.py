"""Regions of interest in OsiriX property lists (``.xml``)."""

from __future__ import annotations

import plistlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import RowError
from medrcube.sources._formats.bounded_xml import read_xml

__all__ = ["Corners", "OsirixRoi", "Points", "read_rois", "read_rois_if_any"]

Points = tuple[tuple[float, float], ...]
Corners = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OsirixRoi:
    """One region of interest.

    Attributes:
        name: name as typed by the reader, in lower case and stripped; may be empty.
        points: corners as ``(x, y)`` in pixels of the stored image; a single point for a spot.
        corners: corners as ``(x, y, z)`` in patient coordinates (mm); empty if not stated.
        image: ImageIndex of its image, as stated; programs count in different ways.
        evidence: location in the file.
    """

    name: str
    points: Points
    corners: Corners = ()
    image: int | None = None
    evidence: str

    @property
    def area(self) -> float:
        """Area in mm² of an axial outline; 0 for a line, a spot, or without mm coordinates."""
        behind = (*self.corners[1:], *self.corners[:1])
        pairs = zip(self.corners, behind, strict=True)
        return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in pairs)) / 2


def read_rois(path: Path) -> tuple[OsirixRoi, ...]:
    """Return all marks of a file, in file order.

    Marks are in lists below ``Images`` and ``ROIs``, or the file itself is one: everything with
    ``Point_px`` is a mark.

    Raises:
        RowError: the file is missing, not a property list, too large, or contains no mark.
    """
    marks = read_rois_if_any(path)
    if not marks:
        raise RowError(
            f"{path.name}: holds no mark; expected Point_px, which every known form of these files "
            "has: is this another export?"
        )
    return marks


def read_rois_if_any(path: Path) -> tuple[OsirixRoi, ...]:
    """Return all marks of a file as ``read_rois``, but allow a file without marks.

    Raises:
        RowError: the file is missing, not a property list, or too large.
    """
    try:
        content = plistlib.loads(read_xml(path), fmt=plistlib.FMT_XML)
        return tuple(_mark(roi, image, path) for roi, image in _rois(content, None))
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise RowError(
            f"{path.name} is not a readable property list of OsiriX ({type(error).__name__}); get "
            "the file again"
        ) from error


def _rois(node: Any, image: Any) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield marks with the enclosing ImageIndex."""
    if isinstance(node, dict) and "Point_px" in node:
        yield node, image
    elif isinstance(node, dict):
        for inner in node.values():
            yield from _rois(inner, node.get("ImageIndex", image))
    elif isinstance(node, list):
        for inner in node:
            yield from _rois(inner, image)


def _mark(roi: dict[str, Any], image: Any, path: Path) -> OsirixRoi:
    name = str(roi.get("Name", "")).strip()
    return OsirixRoi(
        name=name.lower(),
        points=tuple(_point(text) for text in roi["Point_px"]),
        corners=_corners(roi.get("Point_mm", ())),
        image=image if isinstance(image, int) else None,
        evidence=f"{path.name} {name}".strip(),
    )


def _corners(texts: Any) -> Corners:
    """Return points in mm; empty unless each has three numbers, as no pixel depends on them."""
    try:
        places = [text.strip().strip("()").split(",") for text in texts]
        return tuple((float(x), float(y), float(z)) for x, y, z in places)
    except (ValueError, AttributeError, TypeError):
        return ()


def _point(text: str) -> tuple[float, float]:
    x, y = text.strip().strip("()").split(",")
    return (float(x), float(y))

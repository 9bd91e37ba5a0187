"""Regions of interest in OsiriX property lists (``.xml``)."""

from __future__ import annotations

import plistlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import RowError
from medrcube.sources._formats.bounded_xml import read_xml

__all__ = ["OsirixRoi", "Points", "read_rois"]

Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OsirixRoi:
    """One region of interest.

    Attributes:
        name: as its reader typed it, in lower case and stripped; may be empty.
        points: its corners as ``(x, y)`` in pixels of the stored image; one point for a spot.
        evidence: where it stands.
    """

    name: str
    points: Points
    evidence: str


def read_rois(path: Path) -> tuple[OsirixRoi, ...]:
    """Every mark of one file, in file order.

    Marks lie in lists below ``Images`` and ``ROIs``, or are the file itself: whatever holds
    ``Point_px`` is one.

    Raises:
        RowError: the file is missing, no property list or larger than any, or holds no mark.
    """
    try:
        content = plistlib.loads(read_xml(path), fmt=plistlib.FMT_XML)
        marks = tuple(_mark(roi, path) for roi in _rois(content))
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise RowError(
            f"{path.name}: is no readable property list of OsiriX ({type(error).__name__}); get "
            "the file again"
        ) from error
    if not marks:
        raise RowError(
            f"{path.name}: holds no mark; expected Point_px, which every known shape of these "
            "files has: is this another export?"
        )
    return marks


def _rois(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict) and "Point_px" in node:
        yield node
    elif isinstance(node, dict | list):
        for inner in node.values() if isinstance(node, dict) else node:
            yield from _rois(inner)


def _mark(roi: dict[str, Any], path: Path) -> OsirixRoi:
    name = str(roi.get("Name", "")).strip()
    points = tuple(_point(text) for text in roi["Point_px"])
    return OsirixRoi(name=name.lower(), points=points, evidence=f"{path.name} {name}".strip())


def _point(text: str) -> tuple[float, float]:
    x, y = text.strip().strip("()").split(",")
    return (float(x), float(y))

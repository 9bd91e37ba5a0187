"""Burnt-in graphics detection: calipers, text, arrows, coloured drawings, and their location.

An annotation gives the lesion away, whatever the question is. Ultrasound and film are annotated
differently, so each has its own detector; ``docs/reference/burnt-in-graphics.md`` states their
accuracy. scipy is imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medrcube.build.burnt_in.filled_shapes import arrows, coloured_drawings
from medrcube.build.burnt_in.strokes import Extent, calipers, strokes_of, text_rows
from medrcube.build.regions.box_labels import Box

__all__ = [
    "BurntInMark",
    "detect_marks",
    "graphics_of",
    "has_words",
    "points_at_lesion",
]

_NEAR = 0.03
"""Distance, as a share of the longer side of an image, within which a mark is near a region: in
BUSI, the words and numbers that a reader places next to the structure they name.
"""
_RIM = 0.15
"""Width of the rim, as a share of each side of an image; words there name side, time or
manufacturer, not a lesion.
"""
_SPAN = (0.045, 0.5)
_EDGE = 0.065
"""Extent of a coloured drawing on film, and its distance from the edge, as shares of a side."""
_POINTS = ("arrow", "caliper", "colour")
"""Kinds of marks that are placed on or next to a lesion, wherever it is."""


class BurntInMark(NamedTuple):
    """One burnt-in mark: its kind (``arrow``, ``caliper``, ``colour`` or ``text``) and extent."""

    kind: str
    extent: Extent


def detect_marks(picture: NDArray[np.uint8], detector: str) -> list[BurntInMark]:
    """Detect the burnt-in marks of an image.

    Args:
        picture: (rows, columns) or (rows, columns, 3), 8 bit.
        detector: ``ultrasound`` or ``film``.
    """
    grey = np.ascontiguousarray(picture.max(axis=2)) if picture.ndim > 2 else picture
    marks = [BurntInMark("colour", extent) for extent in coloured_drawings(picture)]
    if detector == "film":
        marks = [mark for mark in marks if _draws(mark.extent, grey.shape)]
        return marks + [BurntInMark("arrow", extent) for extent in arrows(grey)]
    for strokes in strokes_of(grey):
        marks += [BurntInMark("caliper", extent) for extent in calipers(grey, strokes)]
        marks += [BurntInMark("text", extent) for extent in text_rows(grey, strokes)]
    return marks


def graphics_of(picture: NDArray[np.uint8], detector: str, regions: Sequence[Box]) -> str:
    """Return the burnt-in marks of an image and their location, such as ``caliper:on text:apart``.

    A mark is ``on`` a marked region if their boxes intersect, ``near`` within 3 % of the longer
    side of the image, else ``apart``. Without regions it is ``inside`` the image or on its ``rim``,
    the outer 15 % of each side.

    Returns:
        Each combination once, sorted; empty if there are no marks.
    """
    marks = detect_marks(picture, detector)
    return " ".join(sorted({f"{kind}:{_place(at, picture.shape, regions)}" for kind, at in marks}))


def points_at_lesion(graphics: str) -> bool:
    """Whether marks, in the form of ``graphics_of``, reveal where the lesion is or what it is.

    Calipers and arrows do, wherever they are: in an image of a lesion they are placed on it, or on
    another one that the source does not mark. Words do if they are on a lesion or near it.
    """
    marks = (mark.partition(":") for mark in graphics.split())
    return any(kind in _POINTS or place in ("on", "near", "inside") for kind, _, place in marks)


def has_words(graphics: str) -> bool:
    """Whether marks, in the form of ``graphics_of``, include text anywhere."""
    return any(mark.startswith("text:") for mark in graphics.split())


def _draws(extent: Extent, shape: Sequence[int]) -> bool:
    """Whether colour on a film is a drawing; viewer text is small or at the edge."""
    rows, columns = shape
    span = max((extent.bottom - extent.top) / rows, (extent.right - extent.left) / columns)
    middles = ((extent.top + extent.bottom) / 2 / rows, (extent.left + extent.right) / 2 / columns)
    inner = all(_EDGE < middle < 1 - _EDGE for middle in middles)
    return _SPAN[0] <= span <= _SPAN[1] and inner


def _place(extent: Extent, shape: Sequence[int], regions: Sequence[Box]) -> str:
    rows, columns = shape[:2]
    if regions:
        nearest = min(_distances(extent, regions))
        if nearest == 0:
            return "on"
        return "near" if nearest <= _NEAR * max(rows, columns) else "apart"
    row, column = (extent.top + extent.bottom) / 2, (extent.left + extent.right) / 2
    middle = abs(row / rows - 0.5) <= 0.5 - _RIM and abs(column / columns - 0.5) <= 0.5 - _RIM
    return "inside" if middle else "rim"


def _distances(extent: Extent, regions: Sequence[Box]) -> Iterator[int]:
    """Yield the Chebyshev distance in pixels from a mark to each region; 0 if they intersect."""
    for x0, y0, x1, y1 in regions:
        yield max(x0 - extent.right, extent.left - x1, y0 - extent.bottom, extent.top - y1, 0)

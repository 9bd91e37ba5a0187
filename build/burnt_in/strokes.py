"""Detection of thin bright strokes: caliper crosses and rows of glyphs.

A burnt-in stroke is one to four pixels wide and reaches its full grey value within one pixel;
speckle and specular echoes do neither. The residue of a white top-hat (``scipy.ndimage``) is
labelled and searched for crosses, which have four equal arms and empty quadrants, and for rows of
glyphs, which share height and baseline.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Extent", "calipers", "ndimage", "strokes_of", "text_rows"]

Strokes = NDArray[np.bool_]

_WIDEST = 7
"""Side in pixels of the square that is wider than any stroke."""
_LEVELS = ((60, 0), (40, 205))
"""Contrast to the surroundings, and least grey value: bright strokes may lie on bright tissue.
Chosen on the images of BUSI (``docs/reference/burnt-in-graphics.md``).
"""
_ARM = (3, 13)
"""Shortest and longest arm of a cross, in pixels."""
_UNEVEN = 3
"""Greatest difference in pixels between the arms of one cross."""
_CONTRAST = 30
"""Grey levels by which the arms of a cross stand out from the third darkest of its quadrants: a
line may pass through the fourth, with a number next to it.
"""
_TALL = (6, 24)
_WIDE = (1, 28)
"""Range of height and width of a glyph in pixels."""
_RAGGED = 40
"""Standard deviation of the grey values of one glyph above which it is tissue."""


class Extent(NamedTuple):
    """Rows ``top`` to ``bottom`` and columns ``left`` to ``right``, ends excluded."""

    top: int
    bottom: int
    left: int
    right: int


def ndimage() -> Any:
    """Import ``scipy.ndimage`` when the first image is examined: most sources do not need it."""
    return import_module("scipy.ndimage")


def strokes_of(grey: NDArray[np.uint8]) -> list[Strokes]:
    """Return masks of thin bright lines, (rows, columns), one for each of the levels."""
    rise = grey - ndimage().grey_opening(grey, size=(_WIDEST, _WIDEST))
    return [(rise > least) & (grey >= bright) for least, bright in _LEVELS]


def calipers(grey: NDArray[np.uint8], strokes: Strokes) -> list[Extent]:
    """Detect upright crosses, which are calipers."""
    centres = strokes.copy()
    for step in range(1, _ARM[0] + 1):
        for axis in (0, 1):
            centres &= _moved(strokes, step, axis) & _moved(strokes, -step, axis)
    labels, _ = ndimage().label(centres, np.ones((3, 3)))
    candidates = (_cross(grey, strokes, place) for place in ndimage().find_objects(labels))
    return [cross for cross in candidates if cross is not None]


def text_rows(grey: NDArray[np.uint8], strokes: Strokes) -> list[Extent]:
    """Detect words and numbers of at least two glyphs, from left to right."""
    glyphs = sorted(_glyphs(grey, strokes), key=lambda glyph: glyph.left)
    rows: list[list[Extent]] = []
    for glyph in glyphs:
        row = next((row for row in rows if _follows(row[-1], glyph)), None)
        if row is None:
            rows.append([glyph])
        else:
            row.append(glyph)
    return [_around(row) for row in rows if len(row) > 1]


def _moved(strokes: Strokes, step: int, axis: int) -> Strokes:
    """Shift the strokes; pixels that enter at the border are empty."""
    moved = np.roll(strokes, step, axis)
    border = slice(0, step) if step > 0 else slice(step, None)
    moved[(border, slice(None)) if axis == 0 else (slice(None), border)] = False
    return moved


def _cross(grey: NDArray[np.uint8], strokes: Strokes, place: tuple[slice, slice]) -> Extent | None:
    row, column = ((part.start + part.stop - 1) // 2 for part in place)
    arms = (
        _run(strokes[row::-1, column]),
        _run(strokes[row:, column]),
        _run(strokes[row, column::-1]),
        _run(strokes[row, column:]),
    )
    if not (_ARM[0] <= min(arms) and max(arms) <= _ARM[1] and max(arms) - min(arms) <= _UNEVEN):
        return None
    arm = max(arms)
    extent = Extent(row - arm, row + arm + 1, column - arm, column + arm + 1)
    if min(extent) < 0 or extent.bottom > len(grey) or extent.right > grey.shape[1]:
        return None
    box = (slice(extent.top, extent.bottom), slice(extent.left, extent.right))
    side = max(1, arm - 2)  # the stroke itself is up to five pixels wide
    around = sorted(float(np.percentile(corner, 75)) for corner in _corners(grey[box], side))
    of_arms = np.percentile(np.concatenate([grey[box][arm], grey[box][:, arm]]), 20)
    if of_arms - around[2] < _CONTRAST:
        return None
    return extent


def _corners(box: NDArray[Any], side: int) -> tuple[NDArray[Any], ...]:
    return box[:side, :side], box[:side, -side:], box[-side:, :side], box[-side:, -side:]


def _run(line: NDArray[np.bool_]) -> int:
    """Return the steps from the first pixel of a line to the last before a gap."""
    line = line[: _ARM[1] + 2]
    return len(line) - 1 if line.all() else int(np.argmin(line)) - 1


def _glyphs(grey: NDArray[np.uint8], strokes: Strokes) -> list[Extent]:
    labels, _ = ndimage().label(strokes, np.ones((3, 3)))
    glyphs = []
    for number, (rows, columns) in enumerate(ndimage().find_objects(labels), start=1):
        extent = Extent(rows.start, rows.stop, columns.start, columns.stop)
        if not (
            _TALL[0] <= extent.bottom - extent.top <= _TALL[1]
            and _WIDE[0] <= extent.right - extent.left <= _WIDE[1]
        ):
            continue
        greys = grey[rows, columns][labels[rows, columns] == number]
        if len(greys) > _TALL[0] and greys.std() <= _RAGGED:
            glyphs.append(extent)
    return glyphs


def _follows(left: Extent, right: Extent) -> bool:
    """Whether a glyph follows directly after another, on the same line and of equal height."""
    heights = (left.bottom - left.top, right.bottom - right.top)
    return (
        -1 <= right.left - left.right <= heights[0]
        and abs(right.bottom - left.bottom) <= 2  # pixels of a ragged baseline
        and min(heights) >= 0.7 * max(heights)  # digits next to capitals
    )


def _around(extents: list[Extent]) -> Extent:
    return Extent(
        min(extent.top for extent in extents),
        max(extent.bottom for extent in extents),
        min(extent.left for extent in extents),
        max(extent.right for extent in extents),
    )

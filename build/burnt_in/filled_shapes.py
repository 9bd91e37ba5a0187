"""Detection of filled shapes burnt into an image: coloured drawings, and arrows on film.

Thresholds that separate arrows from letters were chosen on films of covid-chestxray; see
``docs/reference/burnt-in-graphics.md``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from medrcube.build.burnt_in.strokes import Extent, ndimage

__all__ = ["arrows", "coloured_drawings"]

_COLOURFUL = 60
"""Difference between channels above which a pixel of a grey image is part of a drawing: tinted
images of pocus-lung stay below, yellow calipers and colour flow are above.
"""
_TINTED = 0.1
"""Share of such pixels above which the image itself is coloured."""
_LEAST = 12
"""Least coloured pixels of a drawing; fewer are JPEG artefacts."""

_WORKING_SIZE = 1024
"""Longer side, in pixels, at which arrows are searched for."""
_WHITE = 248
_FALL = 60
"""Grey levels by which nine tenths of the ring around an arrow are darker than it (or lighter)."""
_AREA = 0.0003
"""Least area as a share of the film; most letters are smaller."""
_THICK, _MARGIN = 5, 4
"""Least width of an arrow and its least distance from the edge, in pixels."""
_LONG = 0.2
"""Greatest length of an arrow, as a share of the longer side of the film."""
_ROWS = (0.2, 0.88)
"""Range of rows of the film, as shares, in which there are no side letters or captions."""
_BLOCK = 0.95
"""Greatest share of its box that an arrow fills; a rectangle is a plate with a letter."""
_HOLES = 0.05


def coloured_drawings(picture: NDArray[np.uint8]) -> list[Extent]:
    """Detect coloured drawings on an otherwise grey image, (rows, columns, 3)."""
    if picture.ndim == 2:
        return []
    colourful = np.ptp(picture, axis=2) > _COLOURFUL
    if not _LEAST <= colourful.sum() <= _TINTED * colourful.size:
        return []
    labels, _ = ndimage().label(ndimage().binary_dilation(colourful, np.ones((3, 3)), iterations=2))
    sizes = np.bincount(labels[colourful])
    return [
        Extent(rows.start, rows.stop, columns.start, columns.stop)
        for number, (rows, columns) in enumerate(ndimage().find_objects(labels), start=1)
        if sizes[number] >= _LEAST
    ]


def arrows(grey: NDArray[np.uint8]) -> list[Extent]:
    """Detect white or black arrows and arrowheads on a film: uniform, sharp, away from the edges.

    Side letters and captions are as uniform and as sharp; they are in the outer rows, or smaller.
    """
    step = max(1, round(max(grey.shape) / _WORKING_SIZE))
    small = grey[: len(grey) // step * step, : grey.shape[1] // step * step]
    small = small.reshape(len(small) // step, step, -1, step).mean(axis=(1, 3)).astype(np.uint8)
    extents = [*_flat(small, small >= _WHITE), *_flat(255 - small, small <= 255 - _WHITE)]
    return [Extent(*(edge * step for edge in extent)) for extent in extents]


def _flat(light: NDArray[np.uint8], white: NDArray[np.bool_]) -> Iterator[Extent]:
    """Yield the white shapes that stand out sharply all around."""
    rows, columns = light.shape
    labels, _ = ndimage().label(white)
    for number, (down, across) in enumerate(ndimage().find_objects(labels), start=1):
        extent = Extent(down.start, down.stop, across.start, across.stop)
        high, wide = down.stop - down.start, across.stop - across.start
        middle = (down.start + down.stop) / 2 / rows
        if (
            min(high, wide) < _THICK
            or max(high, wide) > _LONG * max(rows, columns)
            or not _ROWS[0] < middle < _ROWS[1]
            or min(extent.top, extent.left) < _MARGIN
            or extent.bottom > rows - _MARGIN
            or extent.right > columns - _MARGIN
        ):
            continue
        near = np.s_[
            extent.top - _MARGIN : extent.bottom + _MARGIN,
            extent.left - _MARGIN : extent.right + _MARGIN,
        ]
        shape = labels[near] == number
        area = int(shape.sum())
        solid = ndimage().binary_fill_holes(shape).sum() - area <= _HOLES * area
        if not (solid and area >= _AREA * light.size and area / (high * wide) < _BLOCK):
            continue
        first, third = (
            ndimage().binary_dilation(shape, np.ones((3, 3)), iterations=i) for i in (1, 3)
        )
        fall = light[near][shape].mean() - light[near][third & ~first].astype(float)
        if np.percentile(fall, 10) >= _FALL:
            yield extent

"""Polygon fill and outline rasterization, identical on every platform."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Points", "fill_convex", "fill_polygon", "outline_pixels"]

Points = Sequence[tuple[float, float]]


def fill_polygon(points: Points, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the pixels whose centre lies inside a closed polygon (even-odd rule).

    A centre on the line itself belongs to one side only: left and upper edges are inside.

    Args:
        points: corners as ``(x, y)``; the centre of the first pixel is (0, 0). Parts outside the
            image are clipped.
        shape: ``(rows, columns)`` of the image.
    """
    rows, columns = shape
    flips = np.zeros((rows, columns + 1), np.int64)
    for start, end in zip(points, [*points[1:], *points[:1]], strict=True):
        (x0, y0), (x1, y1) = sorted((start, end), key=lambda point: point[1])
        first, last = max(0, int(np.ceil(y0))), min(rows, int(np.ceil(y1)))
        if first >= last:
            continue
        y = np.arange(first, last)
        x = x0 + (y - y0) * (x1 - x0) / (y1 - y0)
        # Floating-point noise must not move a crossing past a pixel's centre.
        np.add.at(flips, (y, np.clip(np.ceil(np.round(x, 9)), 0, columns).astype(np.intp)), 1)
    return (np.cumsum(flips, axis=1)[:, :columns] % 2).astype(np.bool_)


def fill_convex(line: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Fill the closed outline of a convex region; a filled region is unchanged.

    Args:
        line: ``(rows, columns)``, true on the line.
    """
    between = [
        np.logical_or.accumulate(line, axis=axis)
        & np.flip(np.logical_or.accumulate(np.flip(line, axis), axis=axis), axis)
        for axis in (0, 1)
    ]
    return between[0] & between[1]


def outline_pixels(points: Points, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return the pixels under a closed line, one pixel wide; corners lie on the nearest pixels."""
    canvas = np.zeros(shape, np.bool_)
    corners = [(_nearest(x), _nearest(y)) for x, y in points]
    for start, end in zip(corners, [*corners[1:], *corners[:1]], strict=True):
        (x0, y0), (x1, y1) = sorted((start, end))
        steps = max(x1 - x0, abs(y1 - y0), 1)
        walk = np.arange(steps + 1)
        x = x0 + (2 * walk * (x1 - x0) + steps) // (2 * steps)
        y = y0 + (2 * walk * (y1 - y0) + steps) // (2 * steps)
        inside = (x >= 0) & (x < shape[1]) & (y >= 0) & (y < shape[0])
        canvas[y[inside], x[inside]] = True
    return canvas


def _nearest(number: float) -> int:
    return int(np.floor(number + 0.5))

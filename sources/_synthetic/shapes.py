"""Implicit shapes, textures and marker from which phantoms are composed.

Coordinates are fractions of the image size: ``y`` runs down from 0 to 1 as ``(rows, 1)``, ``x`` to
the right as ``(1, columns)``. The patient's right is on the left of the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Ellipse",
    "Floats",
    "Mask",
    "cloud",
    "dome",
    "enlarged",
    "faded",
    "line_distance",
    "marker",
    "places",
    "radius",
    "soft",
    "to_display",
]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Ellipse = tuple[float, float, float, float]
"""Ellipse: row and column of the centre and both half axes, as fractions of the image size."""

_MARKER: Ellipse = (0.1, 0.128, 0.034, 0.04)


def places(height: int, width: int) -> tuple[Floats, Floats]:
    """Return pixel coordinates ``(height, 1)`` and ``(1, width)`` as fractions of the size."""
    y, x = (np.arange(height) + 0.5) / height, (np.arange(width) + 0.5) / width
    return y[:, None], x[None, :]


def radius(y: Floats, x: Floats, ellipse: Ellipse, *, tilt: float = 0.0) -> Floats:
    """Return the distance from the centre of an ellipse in units of its half axes (edge: 1).

    Args:
        y: rows, as in ``places``.
        x: columns.
        ellipse: what to measure from.
        tilt: columns that the axis moves to the right for each row further down.
    """
    row, column, tall, wide = ellipse
    down = y - row
    return np.hypot(down / tall, (x - column - tilt * down) / wide)


def soft(distance: Floats, edge: float) -> Floats:
    """Return a soft step: 1 well within distance 1, 0 well outside, linear over ``edge``."""
    return np.clip((1 - distance) / edge + 0.5, 0, 1)


def dome(distance: Floats) -> Floats:
    """Return the projected thickness of a ball: 1 at the centre, 0 from distance 1 on."""
    return np.sqrt(np.clip(1 - distance * distance, 0, None))


def line_distance(y: Floats, x: Floats, points: Sequence[tuple[float, float]]) -> Floats:
    """Return the distance to a polyline through ``(row, column)`` points."""
    nearest = np.full(np.broadcast_shapes(y.shape, x.shape), np.inf)
    for (y0, x0), (y1, x1) in pairwise(points):
        down, right = y1 - y0, x1 - x0
        along = ((y - y0) * down + (x - x0) * right) / (down * down + right * right)
        along = np.clip(along, 0, 1)
        np.minimum(nearest, np.hypot(y - y0 - along * down, x - x0 - along * right), out=nearest)
    return nearest


def cloud(rng: np.random.Generator, shape: tuple[int, int], cells: int) -> Floats:
    """Return smooth noise around 0, amplitude about 1, with ``cells`` bumps along each side."""
    return enlarged(rng.normal(0, 1, (cells + 1, cells + 1)), shape)


def enlarged(coarse: NDArray[Any], shape: tuple[int, int]) -> Floats:
    """Return an image resized by cubic interpolation."""
    from PIL import Image  # noqa: PLC0415

    image = Image.fromarray(coarse.astype(np.float32))
    resized = image.resize(shape[::-1], Image.Resampling.BICUBIC)
    return np.asarray(resized).astype(np.float64)


def faded(mask: Mask) -> Floats:
    """Return a mask, 0 to 1, with a soft edge like that of an unencapsulated lesion."""
    height, width = mask.shape
    scale = 64 / max(height, width)
    small = (max(round(height * scale), 1), max(round(width * scale), 1))
    return np.clip(enlarged(enlarged(mask.astype(np.float32), small), mask.shape), 0, 1)


def marker(height: int, width: int) -> Mask:
    """Return a capsule in the air at the upper left, which reveals any flip or rotation."""
    y, x = places(height, width)
    return radius(y, x, _MARKER) < 1


def to_display(grey: Floats, maximum: int) -> NDArray[np.uint16]:
    """Convert greys from 0 to 1 to integers up to ``maximum``."""
    return (np.clip(grey, 0, 1) * maximum).astype(np.uint16)

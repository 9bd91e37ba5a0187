"""Mirror image: left and right exchanged, except for marks in the air of its corners.

Together with the original image it asks the same question with the opposite answer, so that a
reader who relies on anatomy without looking gets one of the two wrong. A dot or letter of the
scanner in a corner, apart from the body, would reveal the mirrored image: it stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["EPOCH", "mirror"]

EPOCH = 2
"""Version of the mirroring; incremented whenever equal clean images give other mirror images. Part
of the recipe.
"""

_AIR = 48
"""Grey value below which nothing is visible: about a fifth of the range, above the noise around a
body.
"""
_WINDOW = 0.25
"""Largest side of a kept corner, as a share of the image; the smallest is a fifth of that."""
_STEPS = 24


def mirror(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a copy of ``(rows, columns)`` or ``(rows, columns, 3)`` with its columns reversed.

    In the upper and the lower corners, the largest windows whose borders nothing crosses stay
    unmirrored if either of the two contains more than air.
    """
    turned = np.ascontiguousarray(picture[:, ::-1])
    grey = picture if picture.ndim == 2 else picture.max(axis=2)
    for up in (True, False):
        flat = grey if up else grey[::-1]
        window = next((size for size in _windows(flat.shape) if _is_apart(flat, *size)), None)
        if window is None:
            continue
        rows = slice(None, window[0]) if up else slice(-window[0], None)
        for columns in (slice(None, window[1]), slice(-window[1], None)):
            turned[rows, columns] = picture[rows, columns]
    return turned


def _windows(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield heights and widths of windows of any ratio, from the largest to the smallest."""
    shares = np.linspace(_WINDOW / 5, _WINDOW, _STEPS)
    sizes = {(int(shape[0] * down), int(shape[1] * over)) for down, over in product(shares, shares)}
    yield from sorted((s for s in sizes if min(s) > 1), key=lambda s: (-s[0] * s[1], s))


def _is_apart(grey: NDArray[np.uint8], rows: int, columns: int) -> bool:
    """Whether an upper corner holds something, and nothing crosses the borders of both windows."""
    corners = (grey[:rows, :columns], grey[:rows, : -columns - 1 : -1])
    sides = [np.concatenate((corner[-1], corner[:, -1])) for corner in corners]
    crossing = max(int(side.max()) for side in sides)
    return crossing < _AIR <= max(int(corner.max()) for corner in corners)

"""Mirror image: left and right exchanged, but for marks in the air of its corners.

Beside the image itself it asks the same question with the opposite answer, so that what is known
of bodies without a look answers one of the two wrongly. A dot or letter of the scanner that stands
in a corner, apart from the body, would tell which of the two is the mirror image: it stays where
it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["EPOCH", "mirror"]

EPOCH = 2
"""Grows whenever the same clean image gives another mirror image; it stands in the recipe."""

_AIR = 48
"""Grey below which nothing shows: about a fifth of the range, above the noise beside a body."""
_WINDOW = 0.25
"""Largest side of a corner that is kept, as a share of the image; the least is a fifth of it."""
_STEPS = 24


def mirror(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A copy of ``(rows, columns)`` or ``(rows, columns, 3)`` with its columns in reverse.

    Of the upper and the lower corners, the largest windows that nothing crosses are kept as they
    are, where either of the two holds more than air.
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
    """Rows and columns of windows of any ratio, from the largest to the smallest."""
    shares = np.linspace(_WINDOW / 5, _WINDOW, _STEPS)
    sizes = {(int(shape[0] * down), int(shape[1] * over)) for down, over in product(shares, shares)}
    yield from sorted((s for s in sizes if min(s) > 1), key=lambda s: (-s[0] * s[1], s))


def _is_apart(grey: NDArray[np.uint8], rows: int, columns: int) -> bool:
    """Whether something lies in an upper corner, and nothing crosses the sides of both windows."""
    corners = (grey[:rows, :columns], grey[:rows, : -columns - 1 : -1])
    sides = [np.concatenate((corner[-1], corner[:, -1])) for corner in corners]
    crossing = max(int(side.max()) for side in sides)
    return crossing < _AIR <= max(int(corner.max()) for corner in corners)

"""Colour policy: keep colour, convert to grey, or refuse the image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medrcube.errors import ReadError

__all__ = ["apply_colour_policy"]

_TINT = 40
"""Largest difference between channels that still counts as grey; JPEG causes smaller ones."""

_MOST = 0.02
"""Largest share of coloured pixels that counts as annotation (an arrow, a letter)."""


_ROWS = 64
"""Rows converted to grey at a time: the sums take four times the memory of the image."""


def apply_colour_policy(picture: NDArray[np.uint8], policy: str) -> NDArray[np.uint8]:
    """Keep a colour image, convert it to grey, or refuse it.

    Args:
        picture: ``(rows, columns, 3)``, 8 bit.
        policy: ``keep``, ``grey`` or ``refuse``; the last converts an image to grey if its colour
            is only its storage format or a small annotation.

    Returns:
        ``(rows, columns, 3)`` if kept, else ``(rows, columns)`` of ITU-R BT.601 luma in integer
        arithmetic.

    Raises:
        ReadError: code ``coloured``.
    """
    if policy == "keep":
        return picture
    if policy == "refuse":
        share = float((np.ptp(picture, axis=2) > _TINT).mean())
        if share > _MOST:
            raise ReadError(
                f"{share:.0%} of the pixels are coloured; the card of this source takes grey "
                "images alone, since it holds no others or since colour would tell the answer",
                code="coloured",
            )
    weights = np.array([19595, 38470, 7471], np.uint32)  # BT.601 in units of 2**-16
    grey = np.empty(picture.shape[:2], np.uint8)
    for first in range(0, len(picture), _ROWS):
        part = picture[first : first + _ROWS].astype(np.uint32)
        grey[first : first + _ROWS] = (part @ weights + 0x8000) >> 16
    return grey

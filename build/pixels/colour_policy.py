"""Colour policy: keep colour, convert to grey, or refuse the image."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medrcube.errors import ReadError

__all__ = ["apply_colour_policy"]

_TINT = 40
"""Largest difference between channels that still counts as grey; JPEG causes smaller ones."""

_MOST = 0.02
"""Largest share of coloured pixels that counts as annotation (an arrow, a letter)."""

_ROWS = 64
"""Rows converted to grey at a time: Pillow takes four bytes for a pixel."""


def apply_colour_policy(picture: NDArray[np.uint8], policy: str) -> NDArray[np.uint8]:
    """Keep a colour image, convert it to grey, or refuse it.

    Args:
        picture: ``(rows, columns, 3)``, 8 bit.
        policy: ``keep``, ``grey`` or ``refuse``; the last converts an image to grey if its colour
            is only its storage format or a small annotation.

    Returns:
        ``(rows, columns, 3)`` if kept, else ``(rows, columns)`` of ITU-R BT.601 luma in the
        integer arithmetic of Pillow.

    Raises:
        ReadError: code ``coloured``.
    """
    if policy == "keep":
        return picture
    if policy == "refuse":
        red, green, blue = np.moveaxis(picture, 2, 0)
        highest = np.maximum(np.maximum(red, green), blue)
        lowest = np.minimum(np.minimum(red, green), blue)
        share = float((highest - lowest > _TINT).mean())
        if share > _MOST:
            raise ReadError(
                f"{100 * share:.0f} % of the pixels are coloured; the card of this source "
                "accepts greyscale images only: it has no others, or colour would reveal the "
                "answer",
                code="coloured",
            )
    grey = np.empty(picture.shape[:2], np.uint8)
    for first in range(0, len(picture), _ROWS):
        rows = slice(first, first + _ROWS)
        grey[rows] = np.asarray(Image.fromarray(picture[rows]).convert("L"))
    return grey

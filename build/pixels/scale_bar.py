"""Scale bar: a strip below an image with a bar of a round length.

A bar survives any resizing of the image, which a stated size of a pixel does not. Its length
follows from the width of the image alone, so that it tells nothing of what is to be measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LENGTHS_MM", "ScaleBar", "add_scale_bar", "scale_bar_of"]

LENGTHS_MM = (50, 20, 10)
"""Lengths of bars, longest first."""

_MOST = 0.4
"""Of the width of the image."""
_LEAST_PIXELS = 20
"""A shorter bar, whose ends lie on whole pixels, is off by more than a fortieth of its length."""
_WHITE = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleBar:
    """A bar that fits below an image.

    Attributes:
        length_mm: what it stands for.
        pixels: how long it is drawn.
    """

    length_mm: int
    pixels: int


def scale_bar_of(width: int, mm_per_pixel: float) -> ScaleBar | None:
    """The longest bar of at most 40 % of the width; ``None`` where none can be drawn truly.

    Args:
        width: of the image, in pixels.
        mm_per_pixel: side of its pixels.
    """
    for length in LENGTHS_MM:
        pixels = round(length / mm_per_pixel)
        if pixels <= _MOST * width:
            return ScaleBar(length_mm=length, pixels=pixels) if pixels >= _LEAST_PIXELS else None
    return None


def add_scale_bar(picture: NDArray[np.uint8], bar: ScaleBar) -> NDArray[np.uint8]:
    """An image above a black strip with the bar in its middle, white, with a tick at each end.

    Args:
        picture: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.
        bar: as ``scale_bar_of`` chose it.

    Returns:
        A new image, taller and as wide; no pixel of the given one is covered.
    """
    line = max(1, round(max(picture.shape[:2]) / 256))
    strip = np.zeros((9 * line, *picture.shape[1:]), np.uint8)
    left = (picture.shape[1] - bar.pixels) // 2
    right = left + bar.pixels
    strip[4 * line : 5 * line, left:right] = _WHITE
    for start in (left, right - line):
        strip[2 * line : 7 * line, start : start + line] = _WHITE
    return np.concatenate([picture, strip])

"""Scale bar: a strip below an image with a bar of a round length.

A bar remains correct if the image is resized, unlike a stated pixel size. Its length depends only
on the width of the image, so it reveals nothing about the structure to be measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LENGTHS_MM", "ScaleBar", "add_scale_bar", "scale_bar_of"]

LENGTHS_MM = (50, 20, 10)
"""Lengths of bars in mm, longest first."""

_MOST = 0.4
"""Longest bar, as a share of the width of the image."""
_LEAST_PIXELS = 20
"""Shortest bar in pixels; a shorter one, whose ends lie on whole pixels, would be off by more than
a fortieth of its length.
"""
_WHITE = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleBar:
    """A scale bar that fits below an image.

    Attributes:
        length_mm: length that it represents, in mm.
        pixels: length as drawn, in pixels.
    """

    length_mm: int
    pixels: int


def scale_bar_of(width: int, mm_per_pixel: float) -> ScaleBar | None:
    """Return the longest bar of at most 40 % of the width; ``None`` if none can be accurate.

    Args:
        width: of the image, in pixels.
        mm_per_pixel: side of its pixels in mm.
    """
    for length in LENGTHS_MM:
        pixels = round(length / mm_per_pixel)
        if pixels <= _MOST * width:
            return ScaleBar(length_mm=length, pixels=pixels) if pixels >= _LEAST_PIXELS else None
    return None


def add_scale_bar(picture: NDArray[np.uint8], bar: ScaleBar) -> NDArray[np.uint8]:
    """Add a black strip below an image with a centred white bar and a tick at each end.

    Args:
        picture: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.
        bar: as returned by ``scale_bar_of``.

    Returns:
        A new image, taller and of equal width; no pixel of the given one is covered.
    """
    line = max(1, round(max(picture.shape[:2]) / 256))
    strip = np.zeros((9 * line, *picture.shape[1:]), np.uint8)
    left = (picture.shape[1] - bar.pixels) // 2
    right = left + bar.pixels
    strip[4 * line : 5 * line, left:right] = _WHITE
    for start in (left, right - line):
        strip[2 * line : 7 * line, start : start + line] = _WHITE
    return np.concatenate([picture, strip])

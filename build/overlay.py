"""Marks drawn into a copy of a picture: a red outline, or numbered red boxes.

The clean picture is always kept beside the marked one. Everything is drawn with integers, so the
pixels are the same on every platform.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RED = (255, 0, 0)
Box = tuple[int, int, int, int]
"""``(x0, y0, x1, y1)`` in pixels, ``x1`` and ``y1`` excluded."""

# 5 x 7 dot-matrix digits, one string of bits per row.
_DIGITS = {
    "1": ("00100", "01100", "00100", "00100", "00100", "00100", "01110"),
    "2": ("01110", "10001", "00001", "00010", "00100", "01000", "11111"),
    "3": ("11111", "00010", "00100", "00010", "00001", "10001", "01110"),
    "4": ("00010", "00110", "01010", "10010", "11111", "00010", "00010"),
}


def bounding_box(mask: NDArray[np.bool_]) -> Box:
    """Smallest box around all marked pixels of a ``(rows, columns)`` mask that is not empty."""
    rows = np.flatnonzero(mask.any(axis=1))
    columns = np.flatnonzero(mask.any(axis=0))
    return (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def draw_outline(picture: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Draw the outer edge of a mask in red.

    The line lies just outside the region, so that no marked pixel is covered; its thickness is
    1/256 of the longer side of the picture, at least one pixel.

    Args:
        picture: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.
        mask: ``(rows, columns)``.

    Returns:
        A new ``(rows, columns, 3)`` picture.
    """
    drawn = to_rgb(picture)
    grown = mask
    for _ in range(line_width(picture)):
        grown = _dilate(grown)
    drawn[grown & ~mask] = RED
    return drawn


def draw_boxes(picture: NDArray[np.uint8], boxes: Sequence[Box]) -> NDArray[np.uint8]:
    """Draw boxes in red, each with its number, from 1, in its upper left corner.

    The frame lies just outside the box. The digit stands on red, inside the corner.
    """
    drawn = to_rgb(picture)
    width = line_width(picture)
    for number, (x0, y0, x1, y1) in enumerate(boxes, 1):
        frame = np.zeros(drawn.shape[:2], np.bool_)
        frame[max(y0 - width, 0) : y1 + width, max(x0 - width, 0) : x1 + width] = True
        frame[y0:y1, x0:x1] = False
        drawn[frame] = RED
        _draw_digit(drawn, str(number), x0, y0, min(x1 - x0, y1 - y0))
    return drawn


def line_width(picture: NDArray[np.uint8]) -> int:
    """Thickness of lines for a picture of this size, in pixels."""
    return max(1, round(max(picture.shape[:2]) / 256))


def to_rgb(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A colour copy of a grey or colour picture."""
    if picture.ndim == 3:
        return picture.copy()
    return np.repeat(picture[:, :, None], 3, axis=2)


def _draw_digit(drawn: NDArray[np.uint8], digit: str, x: int, y: int, side: int) -> None:
    # A third of the box at most, so that the tag never hides what the box shows.
    scale = max(1, min(max(drawn.shape[:2]) // 160, side // 27))
    dots = np.array([[int(bit) for bit in row] for row in _DIGITS[digit]], np.bool_)
    tag = np.pad(np.kron(dots, np.ones((scale, scale), np.bool_)), scale)
    patch = drawn[y : y + tag.shape[0], x : x + tag.shape[1]]
    tag = tag[: patch.shape[0], : patch.shape[1]]
    patch[...] = RED
    patch[tag] = (255, 255, 255)


def _dilate(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    return grown

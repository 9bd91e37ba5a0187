"""Marks drawn into a copy of a picture: a red outline, or numbered red boxes.

The clean picture is always kept beside the marked one. Everything is drawn with integers, so the
pixels are the same on every platform.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.encode import blank

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
    if not mask.any():
        return drawn
    width = line_width(picture)
    x0, y0, x1, y1 = bounding_box(mask)
    around = np.s_[max(y0 - width, 0) : y1 + width, max(x0 - width, 0) : x1 + width]
    region = mask[around]
    grown = region
    for _ in range(width):
        grown = _dilate(grown)
    drawn[around][grown & ~region] = RED
    return drawn


def draw_boxes(picture: NDArray[np.uint8], boxes: Sequence[Box]) -> NDArray[np.uint8]:
    """Draw boxes in red, each with its number, from 1, on a tag beside it.

    The frame lies just outside the box; the tag hides no part of any box where there is room.
    """
    drawn = to_rgb(picture)
    width = line_width(picture)
    frames = [(x0 - width, y0 - width, x1 + width, y1 + width) for x0, y0, x1, y1 in boxes]
    for frame, (x0, y0, x1, y1) in zip(frames, boxes, strict=True):
        left, top = max(frame[0], 0), max(frame[1], 0)
        around = drawn[top : frame[3], left : frame[2]]
        ring = np.ones(around.shape[:2], np.bool_)
        ring[y0 - top : y1 - top, x0 - left : x1 - left] = False
        around[ring] = RED
    taken = list(frames)
    for number, frame in enumerate(frames, 1):
        tag = _tag(str(number), picture)
        x, y = _place(frame, tag.shape, drawn.shape, taken)
        _paste(drawn, tag, x, y)
        taken.append((x, y, x + tag.shape[1], y + tag.shape[0]))
    return drawn


def line_width(picture: NDArray[np.uint8]) -> int:
    """Thickness of lines for a picture of this size, in pixels."""
    longer: int = max(picture.shape[:2])
    return max(1, round(longer / 256))


def to_rgb(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A colour copy of a grey or colour picture."""
    drawn = blank(*picture.shape[:2])
    drawn[...] = picture if picture.ndim == 3 else picture[:, :, None]
    return drawn


def digit(number: str, dot: int) -> NDArray[np.bool_]:
    """Dots of a digit, ``7 * dot`` rows and ``5 * dot`` columns."""
    dots = np.array([[int(bit) for bit in row] for row in _DIGITS[number]], np.bool_)
    return np.kron(dots, np.ones((dot, dot), np.bool_))


def _tag(number: str, picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Dots of a digit with a margin, large enough to read at the size of the picture."""
    scale = max(1, round(max(picture.shape[:2]) / 240))
    return np.pad(digit(number, scale), scale)


def _place(
    frame: Box, tag: tuple[int, ...], shape: tuple[int, ...], taken: Sequence[Box]
) -> tuple[int, int]:
    """Upper left corner of the tag of a box: beside one of its corners, or inside."""
    x0, y0, x1, y1 = frame
    height, width = tag
    beside = [
        *((x, y) for y in (y0 - height, y1) for x in (x0, x1 - width)),
        *((x, y) for x in (x0 - width, x1) for y in (y0, y1 - height)),
    ]
    for x, y in beside:
        covered = (x, y, x + width, y + height)
        inside = x >= 0 and y >= 0 and x + width <= shape[1] and y + height <= shape[0]
        if inside and not any(overlap(covered, other) for other in taken):
            return x, y
    return max(x0, 0), max(y0, 0)


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes share a pixel."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def _paste(drawn: NDArray[np.uint8], tag: NDArray[np.bool_], x: int, y: int) -> None:
    patch = drawn[y : y + tag.shape[0], x : x + tag.shape[1]]
    patch[...] = RED
    patch[tag[: patch.shape[0], : patch.shape[1]]] = (255, 255, 255)


def _dilate(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    return grown

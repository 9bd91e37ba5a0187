"""Drawing of outlines and numbered boxes, in integer arithmetic.

The clean image is always kept in addition to the marked one. Integer arithmetic gives the same
pixels on every platform.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.png_encoder import blank_canvas
from medrcube.build.regions.box_labels import Box, dot_size, frame_of, line_width, place_tags

__all__ = ["RED", "bounding_box", "digit", "draw_boxes", "draw_outline", "to_rgb"]

RED = (255, 0, 0)

# 5 x 7 dot-matrix digits, one string of bits per row.
_DIGITS = {
    "1": ("00100", "01100", "00100", "00100", "00100", "00100", "01110"),
    "2": ("01110", "10001", "00001", "00010", "00100", "01000", "11111"),
    "3": ("11111", "00010", "00100", "00010", "00001", "10001", "01110"),
    "4": ("00010", "00110", "01010", "10010", "11111", "00010", "00010"),
}


def bounding_box(mask: NDArray[np.bool_]) -> Box:
    """Return the smallest box around all marked pixels of a non-empty ``(rows, columns)`` mask."""
    rows = np.flatnonzero(mask.any(axis=1))
    columns = np.flatnonzero(mask.any(axis=0))
    return (int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)


def draw_outline(picture: NDArray[np.uint8], mask: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Draw the outer edge of a mask in red.

    The line lies just outside the region, so that no marked pixel is covered; its thickness is
    1/256 of the longer side of the image, at least one pixel.

    Args:
        picture: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.
        mask: ``(rows, columns)``.

    Returns:
        A new ``(rows, columns, 3)`` image.
    """
    canvas = to_rgb(picture)
    if not mask.any():
        return canvas
    width = line_width(picture.shape)
    x0, y0, x1, y1 = bounding_box(mask)
    around = np.s_[max(y0 - width, 0) : y1 + width, max(x0 - width, 0) : x1 + width]
    region = mask[around]
    grown = region
    for _ in range(width):
        grown = _dilate(grown)
    canvas[around][grown & ~region] = RED
    return canvas


def draw_boxes(picture: NDArray[np.uint8], boxes: Sequence[Box]) -> NDArray[np.uint8]:
    """Draw boxes in red, each with its number, from 1, on an adjacent tag.

    The frame lies just outside the box, the tag at the place chosen by ``box_labels``.

    Raises:
        ValueError: no placement of the tags is unambiguous.
    """
    tags = place_tags(boxes, picture.shape)
    if tags is None:
        raise ValueError(f"the numbers of {list(boxes)} could be read in two ways")
    canvas = to_rgb(picture)
    for box in boxes:
        left, top, right, bottom = frame_of(box, picture.shape)
        around = canvas[top:bottom, left:right]
        ring = np.ones(around.shape[:2], np.bool_)
        ring[box[1] - top : box[3] - top, box[0] - left : box[2] - left] = False
        around[ring] = RED
    dot = dot_size(picture.shape)
    for number, (x0, y0, x1, y1) in enumerate(tags, 1):
        plate = canvas[y0:y1, x0:x1]
        plate[...] = RED
        plate[np.pad(digit(str(number), dot), dot)] = (255, 255, 255)
    return canvas


def to_rgb(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a colour copy of a grey or colour image."""
    canvas = blank_canvas(*picture.shape[:2])
    canvas[...] = picture if picture.ndim == 3 else picture[:, :, None]
    return canvas


def digit(number: str, dot: int) -> NDArray[np.bool_]:
    """Return the dots of a digit, ``7 * dot`` rows and ``5 * dot`` columns."""
    dots = np.array([[int(bit) for bit in row] for row in _DIGITS[number]], np.bool_)
    return np.kron(dots, np.ones((dot, dot), np.bool_))


def _dilate(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    grown[:, 1:] |= mask[:, :-1]
    grown[:, :-1] |= mask[:, 1:]
    return grown

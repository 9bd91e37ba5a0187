"""Images of a case side by side, or as numbered panels in seeded random order.

What one frame does not show on its own (end-diastole or end-systole) is visible in comparison with
the other. The order depends only on source and case, so that an image is reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from medrcube.build.regions.draw_shapes import digit, to_rgb

__all__ = [
    "COMPARED_EPOCH",
    "GAP",
    "LEAST_SIDE",
    "enlarge_panels",
    "hstack_images",
    "number_panels",
    "panel_order",
]

GAP = 8
"""Width in pixels of the black gap between images shown side by side."""
COMPARED_EPOCH = 1
"""Version of compared images; incremented whenever equal images give another comparison. Part of
the recipe.
"""
LEAST_SIDE = 224
"""Least shorter side in pixels of an image that is compared with others: as many as a single image
has for a model that takes 224 pixels. A choice of this project.
"""
_WHITE = 255


def hstack_images(pictures: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Join images from left to right, aligned at the top, with a black gap.

    A single image is unchanged.
    """
    if len(pictures) == 1:
        return pictures[0]
    if len({picture.ndim for picture in pictures}) > 1:
        pictures = [to_rgb(picture) for picture in pictures]
    height = max(picture.shape[0] for picture in pictures)
    columns = [
        np.pad(picture, ((0, height - picture.shape[0]), (0, GAP), (0, 0))[: picture.ndim])
        for picture in pictures
    ]
    return np.concatenate(columns, axis=1)[:, :-GAP]


def panel_order(source: str, case: str, count: int) -> tuple[int, ...]:
    """Return the index of the image at each place, left to right; random for every case."""

    def lot(number: int) -> bytes:
        return sha256(f"{source}/{case}/panel {number}".encode()).digest()

    return tuple(sorted(range(count), key=lot))


def enlarge_panels(pictures: Sequence[NDArray[np.uint8]]) -> list[NDArray[np.uint8]]:
    """Repeat pixels until the shorter side of each image has at least ``LEAST_SIDE`` of them.

    Args:
        pictures: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit, as for ``number_panels``.

    Returns:
        The images, all enlarged by one integer factor, so that they stay comparable and no value
        changes.
    """
    factor = max(1, math.ceil(LEAST_SIDE / min(min(picture.shape[:2]) for picture in pictures)))
    return [picture.repeat(factor, axis=0).repeat(factor, axis=1) for picture in pictures]


def number_panels(
    pictures: Sequence[NDArray[np.uint8]], order: Sequence[int], *, columns: int = 4
) -> NDArray[np.uint8]:
    """Join images in this order, each below a black strip with its number, from 1.

    Args:
        pictures: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit, two to four of them.
        order: index of the image in each place, row by row.
        columns: most images in a row. At a model input of 448 pixels, each of four images in a row
            gets a quarter of them, and each of two almost half; never half, since the numbers have
            their own space and cover no pixels of the images.

    Returns:
        One image of all panels; no pixel of a panel is covered.
    """
    scale = max(1, round(max(max(picture.shape[:2]) for picture in pictures) / 160))
    panels = [_below(pictures[index], str(place), scale) for place, index in enumerate(order, 1)]
    rows = [
        hstack_images(panels[start : start + columns]) for start in range(0, len(panels), columns)
    ]
    return _stacked(rows)


def _stacked(rows: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Stack rows with a black gap, aligned at the left."""
    if len(rows) == 1:
        return rows[0]
    if len({row.ndim for row in rows}) > 1:
        rows = [to_rgb(row) for row in rows]
    width = max(row.shape[1] for row in rows)
    padded = [
        np.pad(row, ((0, GAP), (0, width - row.shape[1]), (0, 0))[: row.ndim]) for row in rows
    ]
    return np.concatenate(padded)[:-GAP]


def _below(picture: NDArray[np.uint8], number: str, scale: int) -> NDArray[np.uint8]:
    dots = np.pad(digit(number, scale), 2 * scale)
    strip = np.zeros((dots.shape[0], *picture.shape[1:]), np.uint8)
    left = max((picture.shape[1] - dots.shape[1]) // 2, 0)
    strip[:, left : left + dots.shape[1]][dots[:, : strip.shape[1] - left]] = _WHITE
    return np.concatenate([strip, picture])

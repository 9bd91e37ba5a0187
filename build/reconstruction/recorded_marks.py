"""Numbered boxes redrawn from a recipe, in the style of the release.

The first version of medrcube placed boxes and their numbers differently. A recipe holds the boxes;
the pixel hash identifies the style.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.regions.box_labels import Box, dot_size, line_width, overlap, tag_size
from medrcube.build.regions.draw_shapes import RED, digit, draw_boxes, to_rgb

__all__ = ["BOXES", "draw_first_boxes", "draw_recorded_boxes"]

BOXES = "boxes"
"""Kind of artefact."""

_MOST = 4
"""Most boxes of an image, limited by the available digits."""


def draw_recorded_boxes(recipe: Recipe, clean: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    """Return the image of a recipe with numbered boxes, drawn on the clean image of the same slice.

    Args:
        recipe: recipe of the release; untrusted.
        clean: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.

    Returns:
        The image, ``(rows, columns, 3)``; ``None`` if no style gives the published pixels.
    """
    mark = recipe.record["mark"]
    shape = clean.shape
    window = _box(mark.get("window") or [0, 0, shape[1], shape[0]], shape)
    if recipe.artefact.kind != BOXES or window is None:
        return None
    left, top, right, bottom = window
    visible = clean[top:bottom, left:right]
    boxes = _boxes(mark.get("boxes"), visible.shape)
    for draw in _STYLES if boxes else ():
        try:
            pixels = draw(visible, boxes)
        except ValueError:
            continue
        if pixel_hash(pixels) == recipe.pixel_sha256:
            return pixels
    return None


def draw_first_boxes(picture: NDArray[np.uint8], boxes: Sequence[Box]) -> NDArray[np.uint8]:
    """Draw boxes as the first version of medrcube did.

    A number is placed at the first corner of its box where it hides no box, frame or number, else
    inside its box.
    """
    canvas = to_rgb(picture)
    line = line_width(picture.shape)
    frames = [(x0 - line, y0 - line, x1 + line, y1 + line) for x0, y0, x1, y1 in boxes]
    for frame, (x0, y0, x1, y1) in zip(frames, boxes, strict=True):
        left, top = max(frame[0], 0), max(frame[1], 0)
        around = canvas[top : frame[3], left : frame[2]]
        ring = np.ones(around.shape[:2], np.bool_)
        ring[y0 - top : y1 - top, x0 - left : x1 - left] = False
        around[ring] = RED
    obstacles = list(frames)
    dot = dot_size(picture.shape)
    for number, frame in enumerate(frames, 1):
        tag = _first_free(frame, picture.shape, obstacles)
        plate = canvas[tag[1] : tag[3], tag[0] : tag[2]]
        plate[...] = RED
        dots = np.pad(digit(str(number), dot), dot)
        plate[dots[: plate.shape[0], : plate.shape[1]]] = (255, 255, 255)
        obstacles.append(tag)
    return canvas


def _first_free(frame: Box, shape: tuple[int, ...], obstacles: Sequence[Box]) -> Box:
    width, height = tag_size(shape)
    for x, y in _corners(frame, width, height):
        tag = (x, y, x + width, y + height)
        inside = x >= 0 and y >= 0 and tag[2] <= shape[1] and tag[3] <= shape[0]
        if inside and not any(overlap(tag, other) for other in obstacles):
            return tag
    x, y = max(frame[0], 0), max(frame[1], 0)
    return (x, y, x + width, y + height)


def _corners(frame: Box, width: int, height: int) -> Iterator[tuple[int, int]]:
    x0, y0, x1, y1 = frame
    yield from ((x, y) for y in (y0 - height, y1) for x in (x0, x1 - width))
    yield from ((x, y) for x in (x0 - width, x1) for y in (y0, y1 - height))


_STYLES: tuple[Callable[[NDArray[np.uint8], Sequence[Box]], NDArray[np.uint8]], ...] = (
    draw_boxes,
    draw_first_boxes,
)


def _boxes(raw: Any, shape: tuple[int, ...]) -> list[Box]:
    """Return the boxes of a recipe if all lie in the image; else an empty list."""
    if not isinstance(raw, list) or len(raw) > _MOST:
        return []
    boxes = [_box(box, shape) for box in raw]
    return [box for box in boxes if box is not None] if None not in boxes else []


def _box(raw: Any, shape: tuple[int, ...]) -> Box | None:
    if not isinstance(raw, list) or [type(number) for number in raw] != [int] * 4:
        return None
    x0, y0, x1, y1 = raw
    lies_in = 0 <= x0 < x1 <= shape[1] and 0 <= y0 < y1 <= shape[0]
    return (x0, y0, x1, y1) if lies_in else None

"""Candidate boxes for ROI Grounding: one encloses the region, the others do not.

Boxes cannot be told apart by position, size or number (``questions.box_exchangeability``), and each
number is unambiguous (``regions.box_labels``). Wrong boxes touch neither the region nor any other
region that might be meant, and lie on tissue like the right one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from medrcube.build.questions.box_exchangeability import BoxLayout, SeededDraws, exchangeable_boxes
from medrcube.build.regions.box_labels import Box, line_width, place_tags
from medrcube.build.regions.draw_shapes import bounding_box

__all__ = ["NumberedBoxes", "candidate_boxes"]

_NEAR = 12
"""Grey values this close to that of a uniform border are background, such as the air around a body.
"""
_DARK = 16
"""Grey values up to this are background if the border is not uniform."""
_MARGIN = (1, 6)
"""Margin of the right box on each side, in percent of the region, as a reader would draw it."""
_ROUNDS = 8
"""Rounds of layouts; the first round that yields a wrong box is used."""
_LAYOUTS = 12
"""Random layouts tried in a round; one with the most boxes is used."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedBoxes:
    """Numbered boxes in a part of an image.

    Attributes:
        window: the visible part, in pixels of the whole image.
        boxes: boxes in the order of their numbers, in pixels of that part.
        truth: number, from 1, of the box that encloses the region.
    """

    window: Box
    boxes: tuple[Box, ...]
    truth: int


def candidate_boxes(
    picture: NDArray[np.uint8],
    region: Mask,
    others: Iterable[Mask] = (),
    *,
    ground: Mask | None = None,
    seed: str,
) -> NumberedBoxes | None:
    """Place up to four boxes; ``None`` if there is no room for a single wrong box.

    A wrong box over empty background would be recognisable: it must hold at least half as much
    ground as the right one.

    Args:
        picture: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.
        region: ``(rows, columns)`` mask of the region that the question asks about.
        others: masks of all other regions that the question might mean.
        ground: mask of plausible places for wrong boxes; by default everything except background.
        seed: decides places and numbering; the same seed gives the same boxes.
    """
    all_regions = region.copy()
    for mask in others:
        all_regions |= mask
    if ground is None:
        ground = _content(picture if picture.ndim == 2 else picture.max(axis=2))
    lot, mark = SeededDraws(seed), bounding_box(region)
    for _ in range(_ROUNDS):
        layouts = [
            _number_boxes(lot, _plausible_layout(lot, mark, all_regions, ground))
            for _ in range(_LAYOUTS)
        ]
        most = max(
            (boxes for boxes in layouts if boxes), key=lambda boxes: len(boxes.boxes), default=None
        )
        if most:
            return most
    return None


def _plausible_layout(
    lot: SeededDraws, mark: Box, all_regions: Mask, ground: Mask
) -> BoxLayout | None:
    """Return the true box and as many others, at random, as are wrong and plausible.

    The others must be wrong and plausible for every place that the true box might have had among
    these boxes. If only its actual place were checked, wrong boxes would crowd where the tissue is,
    and the true one would stand out as farther from the middle. Its place is redrawn with each
    layout: if it were fixed, a layout with few rivals would put it more often at one of its places.
    """
    right = _around(lot, mark, ground.shape)
    turn = (lot.draw(0, 99), lot.draw(0, 99))
    layout = exchangeable_boxes(lot, right, ground.shape, turn)
    if layout is None:
        return None
    enough = _share(ground, right) / 2

    def stands(boxes: tuple[Box, ...]) -> bool:
        places = {_translate(right, start, end) for start, end in permutations(boxes, 2)}
        return all(
            not _part(all_regions, box).any() and _share(ground, box) >= enough for box in places
        )

    subsets = [
        layout.boxes[:count] for count in range(2, len(layout.boxes) + 1)
    ]  # the order of the wrong boxes is random
    most = max(filter(stands, subsets), key=len, default=None)
    return replace(layout, boxes=most) if most else None


def _translate(box: Box, start: Box, end: Box) -> Box:
    """Translate a box by the offset between two boxes."""
    x, y = end[0] - start[0], end[1] - start[1]
    return box[0] + x, box[1] + y, box[2] + x, box[3] + y


def _number_boxes(lot: SeededDraws, layout: BoxLayout | None) -> NumberedBoxes | None:
    """Number boxes at random; while a number has no room, boxes are dropped at random."""
    if layout is None:
        return None
    left, top, right, bottom = layout.window
    boxes = [(x0 - left, y0 - top, x1 - left, y1 - top) for x0, y0, x1, y1 in layout.boxes]
    while len(boxes) > 1:
        order = lot.shuffled(len(boxes))
        numbered = tuple(boxes[index] for index in order)
        if place_tags(numbered, (bottom - top, right - left)):
            return NumberedBoxes(window=layout.window, boxes=numbered, truth=order.index(0) + 1)
        del boxes[lot.draw(1, len(boxes) - 1)]
    return None


def _content(grey: NDArray[np.uint8]) -> Mask:
    """Mask of the pixels that are not background."""
    border = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    quartiles = np.percentile(border, [25, 50, 75], method="nearest")
    low, background, high = (int(grey) for grey in quartiles)
    if high - low > _NEAR:
        return grey > _DARK
    content = grey > background + _NEAR
    content |= grey < background - _NEAR
    return content


def _share(content: Mask, box: Box) -> float:
    return float(_part(content, box).mean())


def _part(mask: Mask, box: Box) -> Mask:
    x0, y0, x1, y1 = box
    return mask[y0:y1, x0:x1]


def _around(lot: SeededDraws, region: Box, shape: tuple[int, ...]) -> Box:
    """Return a box around a region with random margins, large enough not to hide the region."""
    columns = _span(lot, region[0], region[2], shape)
    rows = _span(lot, region[1], region[3], shape)
    return (
        max(columns[0], 0), max(rows[0], 0), min(columns[1], shape[1]), min(rows[1], shape[0])
    )  # fmt: skip


def _span(lot: SeededDraws, start: int, end: int, shape: tuple[int, ...]) -> tuple[int, int]:
    size = end - start
    low, high = (1 + (size * lot.draw(*_MARGIN)) // 100 for _ in range(2))
    least = 8 * line_width(shape)
    lacking = least + lot.draw(0, least // 4) - (low + size + high)
    if lacking > 0:
        share = lot.draw(lacking // 4, lacking - lacking // 4)
        low, high = low + share, high + lacking - share
    return start - low, end + high

"""Candidate boxes for ROI Grounding: one encloses the region, the others surely do not.

The wrong boxes have the size of the right one, so that size gives nothing away, and touch
neither the region, nor any other region of the same case, nor each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.overlay import Box, bounding_box, overlap

MOST_BOXES = 4
_NEAR = 12
"""Greys this close to that of an even border are background, such as the air around a body."""
_DARK = 16
"""Greys up to this are background where the border is uneven."""
_MARGIN = 0.08
"""A right box is wider than the region by this share on each side, as a reader would draw it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Boxes in drawing order and the number, from 1, of the one that encloses the region."""

    boxes: tuple[Box, ...]
    truth: int


def candidate_boxes(
    picture: NDArray[np.uint8],
    region: NDArray[np.bool_],
    others: Iterable[NDArray[np.bool_]],
    *,
    seed: str,
) -> Candidates | None:
    """Place up to four boxes; ``None`` when not even one wrong box has room.

    A wrong box over empty background would give itself away: it must hold at least half as much
    content as the right one.

    Args:
        picture: ``(rows, columns)`` or ``(rows, columns, 3)``, 8 bit.
        region: ``(rows, columns)`` mask of the region that is asked about.
        others: masks of all other regions of the picture.
        seed: decides places and numbering; the same seed gives the same boxes.
    """
    right = _widen(bounding_box(region), region.shape)
    width, height = right[2] - right[0], right[3] - right[1]
    taken = [right, *(bounding_box(mask) for mask in others if mask.any())]
    content = _content(picture if picture.ndim == 2 else picture.max(axis=2))
    enough = _share(content, right) / 2
    wrong: list[Box] = []
    for x, y in _places(region.shape, width, height, seed):
        box = (x, y, x + width, y + height)
        free = not any(overlap(box, other) for other in (*taken, *wrong))
        if free and _share(content, box) >= enough:
            wrong.append(box)
            if len(wrong) == MOST_BOXES - 1:
                break
    if not wrong:
        return None
    ordered = sorted([right, *wrong], key=lambda box: _digest(seed, "number", box))
    return Candidates(boxes=tuple(ordered), truth=ordered.index(right) + 1)


def _content(grey: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Pixels that are not background."""
    border = np.concatenate([grey[0], grey[-1], grey[:, 0], grey[:, -1]])
    quartiles = np.percentile(border, [25, 50, 75], method="nearest")
    low, background, high = (int(grey) for grey in quartiles)
    if high - low > _NEAR:
        return grey > _DARK
    content = grey > background + _NEAR
    content |= grey < background - _NEAR
    return content


def _share(content: NDArray[np.bool_], box: Box) -> float:
    x0, y0, x1, y1 = box
    return float(content[y0:y1, x0:x1].mean())


def _widen(box: Box, shape: tuple[int, ...]) -> Box:
    x0, y0, x1, y1 = box
    dx, dy = round((x1 - x0) * _MARGIN), round((y1 - y0) * _MARGIN)
    return (max(x0 - dx, 0), max(y0 - dy, 0), min(x1 + dx, shape[1]), min(y1 + dy, shape[0]))


def _places(shape: tuple[int, ...], width: int, height: int, seed: str) -> list[tuple[int, int]]:
    """Corners of a grid over the picture, away from its border, in an order given by the seed."""
    places = [(x, y) for y in _steps(shape[0], height) for x in _steps(shape[1], width)]
    return sorted(places, key=lambda place: _digest(seed, "place", place))


def _steps(length: int, size: int) -> list[int]:
    border = length // 16
    room = length - size - 2 * border
    if room < 0:
        return []
    count = 12
    return sorted({border + room * step // count for step in range(count + 1)})


def _digest(*parts: object) -> bytes:
    return hashlib.sha256(repr(parts).encode()).digest()

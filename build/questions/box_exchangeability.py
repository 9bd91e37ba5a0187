"""Exchangeable box layouts: the position of a box does not reveal whether it is the true one.

A true box lies where the disease is, mostly near the middle of the image. Whatever the distribution
of the wrong boxes, a box in the middle would then be recognisable, since no second one fits there.
The image is therefore cropped, and the crop determines the position of the true box, by the same
distribution for all boxes:

- Along each axis the window is as long as possible while the true box may still lie anywhere in a
  stretch of it: its length is that of the image less the shorter margin of the true box, at least
  half of the image. Positions in this stretch are random, and so is which of them holds the true
  box; the window follows. The position of the true box in the window therefore carries no
  information, wherever disease or anatomy put it.
- If the stretch has no room for two boxes, because the region is large or at the border, all boxes
  share their position along that axis. If neither axis has room there is no layout: the side of the
  image with room for a wrong box would reveal the true one.
- Boxes are placed at the corners of a rectangle, in a row or in pairs. If one corner of a rectangle
  were left out because of what the image shows there, it would mostly be the one opposite the true
  box, which is farthest away.
- Wrong boxes are copies of the true one, whose margins are random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from medrcube.build.regions.box_labels import Box, frame_of, line_width

__all__ = ["BoxLayout", "SeededDraws", "exchangeable_boxes"]

_ROW = 4
"""Most boxes in a row; each row of a rectangle has two."""

_Span = tuple[int, int]


class SeededDraws:
    """Seeded random integers, identical on every platform and version of Python."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._draws = 0

    def draw(self, low: int, high: int) -> int:
        """Return a random integer from ``low`` to ``high``, both included."""
        self._draws += 1
        digest = sha256(f"{self._seed}/{self._draws}".encode()).digest()
        return low + int.from_bytes(digest[:8]) % (high - low + 1)

    def shuffled(self, count: int) -> list[int]:
        """Return the integers below ``count`` in random order."""
        remaining = list(range(count))
        return [remaining.pop(self.draw(0, len(remaining) - 1)) for _ in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxLayout:
    """A crop of an image and the boxes in it, all in pixels of the whole image.

    Attributes:
        window: the visible part of the image.
        boxes: the true box first, then the others in random order.
    """

    window: Box
    boxes: tuple[Box, ...]


def exchangeable_boxes(
    lot: SeededDraws, true: Box, shape: tuple[int, ...], turn: tuple[int, int]
) -> BoxLayout | None:
    """Crop an image at random and place boxes around the true one; ``None`` if there is no room.

    Frames lie within the window, unless the border of the image cuts off that of the true box, and
    are at least two line widths apart.

    Args:
        lot: decides distances and the order of wrong boxes.
        true: the true box.
        shape: ``(rows, columns, ...)`` of the whole image.
        turn: percentages, below 100, of the places across and down that come before the true one.
    """
    gap = 2 * line_width(shape)
    frame = frame_of(true, shape)
    spans = (((frame[0], frame[2]), shape[1]), ((frame[1], frame[3]), shape[0]))
    room = [(_stretch(*axis), axis[0][1] - axis[0][0] + gap) for axis in spans]
    most = 2 if all(stretch >= apart for stretch, apart in room) else _ROW
    across, down = (
        _axis(*axis, _places(lot, stretch, apart, most), ahead)
        for axis, (stretch, apart), ahead in zip(spans, room, turn, strict=True)
    )
    steps = [(x, y) for y in down.steps for x in across.steps][1:]
    if not steps:
        return None
    others = [steps[index] for index in lot.shuffled(len(steps))]
    return BoxLayout(
        window=(across.span[0], down.span[0], across.span[1], down.span[1]),
        boxes=(true, *((true[0] + x, true[1] + y, true[2] + x, true[3] + y) for x, y in others)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _AxisLayout:
    """One axis of a layout: the visible span, and each box's offset from the true one, 0 first."""

    span: _Span
    steps: tuple[int, ...]


def _stretch(span: _Span, length: int) -> int:
    """Return how far the true box, and the window with it, may be moved to either side."""
    return min(span[0], length - span[1])


def _places(lot: SeededDraws, stretch: int, apart: int, most: int) -> list[int]:
    """Return up to ``most`` random places in a stretch, ascending and at least ``apart`` apart."""
    count = min(stretch // apart + 1, most)
    spare = stretch - (count - 1) * apart
    lots = sorted(lot.draw(0, spare) for _ in range(count))
    return [index * apart + shift for index, shift in enumerate(lots)]


def _axis(span: _Span, length: int, places: Sequence[int], ahead: int) -> _AxisLayout:
    """Return a window with the true box at one of these places; a single place needs no crop."""
    if len(places) == 1:
        return _AxisLayout(span=(0, length), steps=(0,))
    stretch, after = _stretch(span, length), length - span[1]
    own = places[ahead * len(places) // 100]
    # The stretch begins at the start of the window, or ends at its end.
    low = span[0] - own - max(span[0] - after, 0)
    return _AxisLayout(
        span=(low, low + length - stretch),
        steps=(0, *(place - own for place in places if place != own)),
    )

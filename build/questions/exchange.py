"""Places for numbered boxes among which the true one cannot be told from the others.

A true box lies where the disease puts it, mostly near the middle of the picture. Whatever law
wrong boxes are drawn from, a box at the middle gives itself away, since no second one fits there.
So the picture is cut, and the cut decides where in it the true box lies, by one law for all boxes:

- Along each axis the window is as long as it can be while the true box may still lie at any place
  of a stretch of it: the picture less the shorter margin of the true box, at least half of it.
  Places stand in this stretch by lot, and a lot says which of them is the true one; the window
  follows. So the place of the true box in the window tells nothing, wherever disease or anatomy
  put it in the body.
- Where the stretch has no room for two boxes, since the region is large or lies at the border, all
  boxes share their place along that axis.
- Where neither axis has room, boxes lie at mirror images of each other about the middle of what is
  shown: equally far from its centre and border, told apart by their side alone. A side that is
  known beforehand from anatomy then stays with its box.
- Wrong boxes are copies of the true one, whose margins are drawn by lot.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from medrcube.build.pixels.tags import Box, frame_of, line_width

_MOST_PLACES = 4
"""Places along one axis."""
_LEAST_SHOWN = 50
"""Percent of each side of the picture that a cut leaves at least."""

_Span = tuple[int, int]


class Lot:
    """Whole numbers that a seed decides, the same on every platform and version of Python."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn = 0

    def draw(self, low: int, high: int) -> int:
        """A number from ``low`` to ``high``, both included."""
        self._drawn += 1
        digest = sha256(f"{self._seed}/{self._drawn}".encode()).digest()
        return low + int.from_bytes(digest[:8]) % (high - low + 1)

    def shuffled(self, count: int) -> list[int]:
        """The numbers below ``count`` in an order by lot."""
        left = list(range(count))
        return [left.pop(self.draw(0, len(left) - 1)) for _ in range(count)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A cut of a picture and boxes in it, all in pixels of the whole picture.

    Attributes:
        window: the part of the picture that is shown.
        boxes: the true one, and the others in an order by lot.
    """

    window: Box
    boxes: tuple[Box, ...]


def exchangeable(lot: Lot, true: Box, shape: tuple[int, ...], turn: tuple[int, int]) -> Layout:
    """Cut a picture by lot and find places beside the true box.

    Frames lie in the window, unless the border of the picture cuts off that of the true box, with
    two lines between them.

    Args:
        lot: decides distances and the order of wrong boxes.
        true: the true box.
        shape: ``(rows, columns, ...)`` of the whole picture.
        turn: percent, below 100, of the places across and down that come before the true one.
    """
    gap = 2 * line_width(shape)
    frame = frame_of(true, shape)
    spans = (((frame[0], frame[2]), shape[1]), ((frame[1], frame[3]), shape[0]))
    axes = [_by_lot(lot, *span, gap, ahead) for span, ahead in zip(spans, turn, strict=True)]
    if all(len(axis.steps) == 1 for axis in axes):
        axes = [_mirrored(*span, gap) for span in spans]
    across, down = axes
    steps = [(x, y) for y in down.steps for x in across.steps][1:]
    others = [steps[index] for index in lot.shuffled(len(steps))]
    return Layout(
        window=(across.shown[0], down.shown[0], across.shown[1], down.shown[1]),
        boxes=(true, *((true[0] + x, true[1] + y, true[2] + x, true[3] + y) for x, y in others)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    """One axis of a layout: what is shown of it, and steps from the true box to each, 0 first."""

    shown: _Span
    steps: tuple[int, ...]


def _by_lot(lot: Lot, true: _Span, length: int, gap: int, ahead: int) -> _Axis:
    """Places among which the true one is by lot; its own alone where there is no room for two."""
    start, end = true
    before, after = start, length - end
    stretch, apart = min(before, after), end - start + gap
    count = min(stretch // apart + 1, _MOST_PLACES)
    if count < 2:
        return _Axis(shown=(0, length), steps=(0,))
    spare = stretch - (count - 1) * apart
    into = [
        index * apart + it
        for index, it in enumerate(sorted(lot.draw(0, spare) for _ in range(count)))
    ]
    own = into.pop(ahead * count // 100)
    # The stretch starts where the window does, or ends where it does.
    low = start - own - (before - after if before > after else 0)
    return _Axis(shown=(low, low + length - stretch), steps=(0, *(it - own for it in into)))


def _mirrored(true: _Span, length: int, gap: int) -> _Axis:
    """Two places, mirror images of each other; one where the true box lies too near the middle."""
    start, end = true
    before, after = start, length - end
    apart = end - start + gap
    cut = max(min(before, after) + apart - max(before, after), 0)
    if cut > min(before, after) or 100 * (length - cut) < _LEAST_SHOWN * length:
        return _Axis(shown=(0, length), steps=(0,))
    shown = (cut, length) if before < after else (0, length - cut)
    return _Axis(shown=shown, steps=(0, sum(shown) - end - start))

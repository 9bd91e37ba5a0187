"""Placement of box numbers so that each belongs to one box without doubt.

The frame of a box is the ring of one line width around it; a tag is the small plate with its
number. A layout is unambiguous if, in pixels of the image,

1. no frame shares a pixel with another box or another frame; 2. each tag lies in the image, touches
its own frame along an edge, and covers no box, no frame and no other tag; 3. each tag is at least
its own width away from every other frame: the nearest frame is its own, which it touches, by a
margin of one tag; 4. and from every other tag: two adjacent plates would read as one number.

``place_tags`` returns such a layout, or ``None`` if there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["Box", "dot_size", "frame_of", "line_width", "overlap", "place_tags", "tag_size"]

Box = tuple[int, int, int, int]
"""``(x0, y0, x1, y1)`` in pixels, ``x1`` and ``y1`` excluded."""

_DOTS = (7, 9)
"""Columns and rows of dots of a tag: a digit of 5 x 7 dots with a margin of one."""


def line_width(shape: tuple[int, ...]) -> int:
    """Return the line width for an image of ``(rows, columns, ...)``, in pixels."""
    return max(1, round(max(shape[:2]) / 256))


def dot_size(shape: tuple[int, ...]) -> int:
    """Return the side of one dot of a digit in pixels, legible at the size of the image."""
    return max(1, round(max(shape[:2]) / 240))


def tag_size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return width and height of a tag in an image of ``(rows, columns, ...)``, in pixels."""
    dot = dot_size(shape)
    return (_DOTS[0] * dot, _DOTS[1] * dot)


def frame_of(box: Box, shape: tuple[int, ...]) -> Box:
    """Return the outer edge of the frame around a box, clipped to the image."""
    line = line_width(shape)
    x0, y0, x1, y1 = box
    return (
        max(x0 - line, 0),
        max(y0 - line, 0),
        min(x1 + line, shape[1]),
        min(y1 + line, shape[0]),
    )


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes share a pixel."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def place_tags(boxes: Sequence[Box], shape: tuple[int, ...]) -> tuple[Box, ...] | None:
    """Return a tag for each box, by the rules of this module; ``None`` if no layout satisfies them.

    Args:
        boxes: in pixels, in the order of their numbers.
        shape: ``(rows, columns, ...)`` of the image.
    """
    frames = [frame_of(box, shape) for box in boxes]
    if any(overlap(a, b) for n, a in enumerate(frames) for b in frames[:n]):
        return None
    width, height = tag_size(shape)
    free = [
        [
            tag
            for tag in _beside(frame, width, height)
            if _inside(tag, shape)
            and not any(
                overlap(_grown(tag, width), other_frame)
                for other_frame in frames
                if other_frame is not frame
            )
        ]
        for frame in frames
    ]
    return _choose(free, ())


def _choose(free: Sequence[Sequence[Box]], tags: tuple[Box, ...]) -> tuple[Box, ...] | None:
    if len(tags) == len(free):
        return tags
    for tag in free[len(tags)]:
        if not any(overlap(_grown(tag, tag[2] - tag[0]), other) for other in tags):
            layout = _choose(free, (*tags, tag))
            if layout:
                return layout
    return None


def _beside(frame: Box, width: int, height: int) -> Iterator[Box]:
    """Yield places along the outside of a frame: first at corners, then at the middle of a side."""
    x0, y0, x1, y1 = frame
    middle = ((x0 + x1 - width) // 2, (y0 + y1 - height) // 2)
    corners = [
        *((x, y) for y in (y0 - height, y1) for x in (x0, x1 - width)),
        *((x, y) for x in (x0 - width, x1) for y in (y0, y1 - height)),
        *((middle[0], y) for y in (y0 - height, y1)),
        *((x, middle[1]) for x in (x0 - width, x1)),
    ]
    return ((x, y, x + width, y + height) for x, y in corners)


def _inside(box: Box, shape: tuple[int, ...]) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= shape[1] and box[3] <= shape[0]


def _grown(box: Box, margin: int) -> Box:
    return (box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin)

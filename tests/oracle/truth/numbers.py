"""What a reader sees in a picture with numbered boxes, read back from its pixels alone.

A tag is a white digit on a red plate. Digits are known by their shape, plates by their colour;
where a build meant to put them is not asked.
"""

from dataclasses import dataclass
from math import hypot

import numpy as np
from PIL import Image
from scipy import ndimage

RED = (255, 0, 0)
DIGITS = {
    1: "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    2: ".###. #...# ....# ...#. ..#.. .#... #####",
    3: "##### ...#. ..#.. ...#. ....# #...# .###.",
    4: "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
}
"""Digits of five by seven dots; a plate is a dot wider on every side."""
MARGIN = 1.0
"""A tag is nearer to its own frame than to any other by its own width at least, and stands as far
from other tags: two side by side would read as one number."""


@dataclass(frozen=True)
class Tag:
    """A number that stands in a picture, and the corners of its plate."""

    number: int
    place: tuple[int, int, int, int]


def pixels_of(path):
    """A picture as an array of rows, columns and three colours."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def read_tags(pixels):
    """Every digit on a red plate, from left to right."""
    red, white = (pixels == RED).all(axis=2), (pixels == 255).all(axis=2)
    spots, _ = ndimage.label(white, np.ones((3, 3)))
    tags = []
    for number, (rows, columns) in enumerate(ndimage.find_objects(spots), 1):
        dot, rest = divmod(rows.stop - rows.start, 7)
        digit = _digit(spots[rows, columns] == number, dot) if dot and not rest else None
        if digit is not None:
            left = (columns.start + columns.stop - 7 * dot) // 2
            place = (left, rows.start - dot, left + 7 * dot, rows.stop + dot)
            if _is_plate(red, white, place):
                tags.append(Tag(digit, place))
    return sorted(tags, key=lambda tag: tag.place)


def reading_faults(pixels, boxes):
    """Why a reader could take a number for that of another box, or not find it.

    Args:
        pixels: of the picture with boxes.
        boxes: corners of each box, in the order of their numbers.
    """
    tags = read_tags(pixels)
    numbers = sorted(tag.number for tag in tags)
    if numbers != list(range(1, len(boxes) + 1)):
        yield f"{len(boxes)} boxes and the numbers {numbers}"
        return
    red = (pixels == RED).all(axis=2)
    line = max(1, round(max(red.shape) / 256))
    frames = {number: _grown(box, line) for number, box in enumerate(boxes, 1)}
    yield from _box_faults(red, boxes, frames)
    for tag in tags:
        width = tag.place[2] - tag.place[0]
        own = _gap(tag.place, frames[tag.number])
        for number, frame in frames.items():
            if number == tag.number:
                continue
            lead = _gap(tag.place, frame) - own
            if lead < MARGIN * width:
                yield f"tag {tag.number} is nearer to its box than to {number} by {lead:.1f} pixels"
        for other in tags:
            if other.number < tag.number and _gap(tag.place, other.place) < MARGIN * width:
                yield f"tags {other.number} and {tag.number} stand together"
    allowed_pixels = np.zeros_like(red)
    for x0, y0, x1, y1 in (*frames.values(), *(tag.place for tag in tags)):
        allowed_pixels[max(y0, 0) : y1, max(x0, 0) : x1] = True
    if (red & ~allowed_pixels).any():
        yield "red lies away from every frame and tag"


def _box_faults(red, boxes, frames):
    """Frames that are not there, and what stands inside a box."""
    for number, (x0, y0, x1, y1) in enumerate(boxes, 1):
        left, top, right, bottom = frames[number]
        ring = np.zeros_like(red)
        ring[max(top, 0) : bottom, max(left, 0) : right] = True
        ring[y0:y1, x0:x1] = False
        if not red[ring].all():
            yield f"the frame of box {number} is not whole"
        if red[y0:y1, x0:x1].any():
            yield f"something is drawn inside box {number}"


def _digit(spot, dot):
    """The digit that a white spot is, in whatever size."""
    small = spot[dot // 2 :: dot, dot // 2 :: dot]
    if not np.array_equal(np.kron(small, np.ones((dot, dot), bool)), spot):
        return None
    for number, text in DIGITS.items():
        shape = np.array([[dot == "#" for dot in row] for row in text.split()])
        shape = shape[:, shape.any(axis=0)]
        if np.array_equal(shape, small):
            return number
    return None


def _is_plate(red, white, place):
    x0, y0, x1, y1 = place
    inside = min(x0, y0) >= 0 and x1 <= red.shape[1] and y1 <= red.shape[0]
    return inside and bool((red | white)[y0:y1, x0:x1].all())


def _grown(box, by):
    x0, y0, x1, y1 = box
    return x0 - by, y0 - by, x1 + by, y1 + by


def _gap(first, second):
    """Distance between two rectangles in pixels, 0 when they touch."""
    across = max(first[0] - second[2], second[0] - first[2], 0)
    down = max(first[1] - second[3], second[1] - first[3], 0)
    return hypot(across, down)

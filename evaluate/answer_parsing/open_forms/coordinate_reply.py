"""Parse one point or one box from a text, or abstain.

Numbers are taken as written; their coordinate convention is not guessed.
"""

from __future__ import annotations

import re
from itertools import pairwise

from medrcube.evaluate.answer_parsing.markup_removal import strip_markup
from medrcube.evaluate.answer_parsing.open_forms.part_reading import PartReading
from medrcube.forms.box import BoxAsk
from medrcube.forms.point import PointAsk

__all__ = ["read_box_part", "read_point_part"]

_N = r"[-\u2212]?(?:\d{1,6}(?:\.\d{1,12})?|\.\d{1,12})(?![\d.%])"
_GAP = r"\s*[,;\s]\s*"
_LABEL = r"(?:[xy]\d?\s*[=:]\s*)?"


def _group(count: int) -> re.Pattern[str]:
    numbers = _GAP.join([rf"{_LABEL}({_N})"] * count)
    return re.compile(rf"[\[(]\s*{numbers}\s*,?\s*[\])]", re.IGNORECASE)


_PAIR, _QUAD = _group(2), _group(4)
_BARE_PAIR = re.compile(rf"\s*({_N}){_GAP}({_N})\s*\.?\s*")
_BARE_QUAD = re.compile(rf"\s*{_GAP.join([f'({_N})'] * 4)}\s*\.?\s*")
_NAME_VALUE = re.compile(
    r"(?<!\w)(?P<name>x[\s_]?(?:min|max|\d)?|y[\s_]?(?:min|max|\d)?|left|top|right|bottom|width"
    rf"|height|w|h)[\"']?\s*[:=]\s*[\"']?(?P<number>{_N})",
    re.IGNORECASE,
)
_CORNERS = (
    ("x1", "y1", "x2", "y2"),
    ("x0", "y0", "x1", "y1"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("left", "top", "right", "bottom"),
)
_EXTENTS = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("left", "top", "width", "height"))
_LONGEST_GAP = 60
_EXTENT = re.compile(r"\b(?:size|dimensions?|extent|width|height)\b", re.IGNORECASE)


def read_point_part(text: str, ask: PointAsk) -> PartReading:  # noqa: ARG001 - as every reader
    """Parse the point ``[x, y]`` in a part of a reply."""
    plain = strip_markup(text)
    pairs = _name_values(plain)
    if _QUAD.search(plain) or _named_boxes(pairs):
        return PartReading(None, "a-box")
    points = [_numbers(match) for match in _PAIR.finditer(plain)]
    rest = _PAIR.sub(" ", plain)
    points += [
        [x, y]
        for (first, x), (second, y) in pairwise(_name_values(rest))
        if (first, second) == ("x", "y")
    ]
    if not points and (bare := _BARE_PAIR.fullmatch(plain)):
        points = [_numbers(bare)]
    return _only(points, "several-points")


def read_box_part(text: str, ask: BoxAsk) -> PartReading:  # noqa: ARG001 - as every reader
    """Parse the box ``[left, top, right, bottom]`` in a part of a reply."""
    plain = strip_markup(text)
    boxes = [_numbers(match) for match in _QUAD.finditer(plain)]
    rest = _QUAD.sub(" ", plain)
    pairs = list(_PAIR.finditer(rest))
    if len(pairs) == 2 and _EXTENT.search(rest, pairs[0].end(), pairs[1].start()):
        return PartReading(None, "centre-and-size")
    if len(pairs) == 2 and pairs[1].start() - pairs[0].end() <= _LONGEST_GAP:
        boxes.append([*_numbers(pairs[0]), *_numbers(pairs[1])])
    elif pairs:
        return PartReading(None, "a-point" if len(pairs) == 1 else "several-boxes")
    boxes += _named_boxes(_name_values(rest))
    if not boxes and (bare := _BARE_QUAD.fullmatch(plain)):
        boxes = [_numbers(bare)]
    return _only(
        [
            [min(left, right), min(top, bottom), max(left, right), max(top, bottom)]
            for left, top, right, bottom in boxes
        ],
        "several-boxes",
    )


def _only(answers: list[list[float]], problem: str) -> PartReading:
    distinct = {tuple(answer) for answer in answers}
    if len(distinct) > 1:
        return PartReading(None, problem)
    return PartReading(list(distinct.pop()), "") if distinct else PartReading(None, "")


def _name_values(text: str) -> list[tuple[str, float]]:
    return [
        (re.sub(r"[\s_]", "", match["name"].casefold()), _number(match["number"]))
        for match in _NAME_VALUE.finditer(text)
    ]


def _named_boxes(pairs: list[tuple[str, float]]) -> list[list[float]]:
    """Return the box from named sides, if each is named once."""
    values = dict(pairs)
    if len(values) < len(pairs):
        return []
    for names in _CORNERS:
        if all(name in values for name in names):
            return [[values[name] for name in names]]
    for names in _EXTENTS:
        if all(name in values for name in names):
            left, top, width, height = (values[name] for name in names)
            return [[left, top, left + width, top + height]]
    return []


def _numbers(match: re.Match[str]) -> list[float]:
    return [_number(text) for text in match.groups()]


def _number(text: str) -> float:
    return float(text.replace("\u2212", "-"))

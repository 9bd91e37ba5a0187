"""Find where a reply marks its answer: a structured field, a box, or an announcement.

Used for forms without options, where there are no options to distinguish the answer from other
numbers and words. The last mark counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from medrcube.evaluate.answer_parsing.json_objects import json_objects
from medrcube.evaluate.answer_parsing.markup_removal import FIELD_NAMES

__all__ = ["OUTRIGHT", "MarkedAnswer", "marked_answers"]

OUTRIGHT = frozenset({"json", "element", "boxed"})
"""Rules of marks with an explicit end, so that a truncated reply can contain a complete one."""


class MarkedAnswer(NamedTuple):
    """A part of a reply that is marked as its answer.

    Attributes:
        start: its position.
        rule: kind of the mark.
        text: the answer, markup included.
    """

    start: int
    rule: str
    text: str


def marked_answers(text: str) -> list[MarkedAnswer]:
    """Return every marked answer of a visible reply, in order; nested marks are left out."""
    marks: list[MarkedAnswer] = []
    rest = text
    for finder in (_objects, _elements, _boxes):
        for start, end, mark in list(finder(rest)):
            marks.append(mark)
            rest = rest[:start] + " " * (end - start) + rest[end:]
    marks += _announced(text, rest)
    return sorted(marks)


_LONGEST = 2000
_ELEMENT = re.compile(
    r"<(?P<name>answer|final_answer|finalanswer|conclusion|output|final|result)>"
    r"(?P<value>.{0,2000}?)</(?P=name)>|\[answer\](?P<bracketed>.{0,2000}?)\[/answer\]"
    r"|<\|begin_of_box\|>(?P<box>.{0,2000}?)<\|end_of_box\|>",
    re.IGNORECASE | re.DOTALL,
)
_BOX = re.compile(r"(?:\\|\b)(?:boxed|fbox)\s*\{")
_ANNOUNCED = re.compile(
    r"(?:\banswers?\b|\b(?:final|best)\s+(?:measurement|value|estimate|result|diameter|length|ratio"
    r"|order|ranking|point|box|coordinates?)\b|\u7b54\u6848)[*_`\"'\s]{0,6}"
    r"(?:is\b|are\b|would\s+be\b|=|:|\uff1a|\u662f|\u4e3a)",
    re.IGNORECASE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_DOUBTS = frozenset({"confidence", "probability", "certainty", "score"})


def _objects(text: str) -> Iterator[tuple[int, int, MarkedAnswer]]:
    """Yield JSON objects with an answer field, or with a single number."""
    for start, end, value in json_objects(text):
        content = _content(value)
        if content is not None:
            yield start, end, MarkedAnswer(start, "json", content[:_LONGEST])


def _content(value: dict[str, Any]) -> str | None:
    unit = next((value[name] for name in value if name.casefold() in {"unit", "units"}), "")
    names = {re.sub(r"[^a-z]", "", name.casefold()): name for name in value}
    for plain, name in reversed(names.items()):
        if plain in FIELD_NAMES:
            return f"{_text(value[name])} {unit}".strip()
    numbers = [
        name
        for name, content in value.items()
        if isinstance(content, (int, float))
        and not isinstance(content, bool)
        and name.casefold() not in _DOUBTS
    ]
    if len(numbers) != 1 or any(isinstance(content, (list, dict)) for content in value.values()):
        return None
    _, _, suffix = numbers[0].rpartition("_")
    return f"{value[numbers[0]]} {unit or suffix}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _elements(text: str) -> Iterator[tuple[int, int, MarkedAnswer]]:
    for match in _ELEMENT.finditer(text):
        content = match["value"] or match["bracketed"] or match["box"] or ""
        yield match.start(), match.end(), MarkedAnswer(match.start(), "element", content)


def _boxes(text: str) -> Iterator[tuple[int, int, MarkedAnswer]]:
    for match in _BOX.finditer(text):
        depth, end = 1, match.end()
        limit = min(len(text), end + _LONGEST)
        while end < limit and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if not depth:
            content = text[match.end() : end - 1]
            yield match.start(), end, MarkedAnswer(match.start(), "boxed", content)


def _announced(text: str, rest: str) -> Iterator[MarkedAnswer]:
    """Yield announcements with the rest of the line, or with the paragraph below them.

    One before a structured answer announces that answer.
    """
    for match in _ANNOUNCED.finditer(rest):
        start = match.end()
        line_end = rest.find("\n", start)
        line = rest[start : line_end if line_end >= 0 else len(rest)]
        if line.strip(" \t*_`:"):
            yield MarkedAnswer(match.start(), "announced", line[:_LONGEST])
            continue
        if text[start : start + len(line)] != line or line_end < 0:
            continue
        below = rest[line_end:].lstrip()
        paragraph = _BLANK_LINE.split(below, maxsplit=1)[0]
        if paragraph:
            yield MarkedAnswer(match.start(), "announced", paragraph[:_LONGEST])

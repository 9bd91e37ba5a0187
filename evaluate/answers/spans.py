"""The sentence around a place of a text, and whether the place is denied there."""

from __future__ import annotations

import re

from medrcube.evaluate.answers import doubts

_LONGEST = 500
"""Characters of a sentence that are read on either side of a place."""


def sentence(body: str, start: int, end: int) -> str:
    """The sentence that holds a place."""
    return body[sentence_start(body, start) : sentence_end(body, end)]


def sentence_start(body: str, start: int) -> int:
    """Where the sentence begins that holds ``start``."""
    nearest = max(0, start - _LONGEST)
    ends = [match.end() for match in _STOP.finditer(body, nearest, start)]
    return ends[-1] if ends else nearest


def sentence_end(body: str, end: int) -> int:
    """Where the sentence ends that holds ``end``."""
    furthest = min(len(body), end + _LONGEST)
    match = _STOP.search(body, end, furthest)
    return match.end() if match else furthest


def denied(body: str, start: int, end: int) -> bool:
    """Whether the sentence denies what stands at a place."""
    before = body[sentence_start(body, start) : start]
    return bool(doubts.DENIED_MENTION.search(before) or doubts.DENIED_AFTER.match(body, end))


_STOP = re.compile(r"[.;!?](?=\s|$)|\n")

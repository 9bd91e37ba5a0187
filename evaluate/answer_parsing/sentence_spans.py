"""Sentence boundaries around a position, and whether the position is negated or hypothetical."""

from __future__ import annotations

import re

from medrcube.evaluate.answer_parsing import hedging

__all__ = ["is_denied", "is_hypothetical", "sentence_end", "sentence_start"]

_LONGEST = 500
"""Maximum characters of a sentence to examine on either side of a position."""


def sentence_start(body: str, start: int) -> int:
    """Return the start of the sentence around ``start``."""
    nearest = max(0, start - _LONGEST)
    # One extra character: a full stop must be followed by a blank to be recognised.
    stops = _STOP.finditer(body, nearest, min(len(body), start + 1))
    ends = [match.end() for match in stops if match.end() <= start]
    return ends[-1] if ends else nearest


def sentence_end(body: str, end: int) -> int:
    """Return the end of the sentence around ``end``."""
    furthest = min(len(body), end + _LONGEST)
    match = _STOP.search(body, end, furthest)
    return match.end() if match else furthest


def is_denied(body: str, start: int, end: int) -> bool:
    """Whether the sentence negates the text at a position."""
    before = body[sentence_start(body, start) : start]
    return hedging.DENIED_MENTION.search(before) is not None or hedging.denied_behind(body, end)


def is_hypothetical(body: str, start: int) -> bool:
    """Whether a condition or an earlier view precedes a position, without a "but" in between."""
    nearest = max(0, start - _LONGEST)
    full = [match.end() for match in _FULL_STOP.finditer(body, nearest, start)]
    before = body[full[-1] if full else nearest : start]
    conditions = [match.end() for match in hedging.CONDITION.finditer(before)]
    if conditions and hedging.RESOLVED.search(before, conditions[-1]) is None:
        return True
    views = list(hedging.AT_FIRST.finditer(before))
    if not views or hedging.RESOLVED.search(before, views[-1].end()):
        return False
    view = views[-1]
    # "At first glance, ..." extends past its comma.
    rest = before[view.end() :].lstrip(", " if not before[: view.start()].strip() else " ")
    return not any(mark in rest for mark in ",;:")


_FULL_STOP = re.compile(r"[.!?](?=\s|$)|\n")
_STOP = re.compile(r"[.;!?](?=\s|$)|\n")

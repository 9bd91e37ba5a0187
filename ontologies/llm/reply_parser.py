"""Parser for the list of names in a language model's reply."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["MOST_NAMES", "names_in"]

MOST_NAMES = 20
"""Maximum number of names read from a reply; the rest is ignored."""

_MOST_CHARACTERS = 20_000
_STARTS = 200
_THINKING = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_LISTS = ("distractors", "options", "answers")
_NAMES = ("name", "distractor", "term", "text")


def names_in(reply: str) -> tuple[str, ...] | None:
    """Return the proposed names, at most ``MOST_NAMES``; entries that are not strings become empty.

    Accepts a bare, fenced or embedded JSON list, or an object that contains one; reasoning before
    the answer is ignored. ``None`` if there is no list: prose is never searched for names.
    """
    text = _THINKING.sub("", reply[:_MOST_CHARACTERS])
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(_STARTS):
        start = re.compile(r"[\[{]").search(text, position)
        if start is None:
            return None
        try:
            value, position = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            position = start.end()
            continue
        entries = _list(value)
        if entries is not None:
            return tuple(_name(entry) for entry in entries[:MOST_NAMES])
    return None


def _list(value: Any) -> list[Any] | None:
    if isinstance(value, Mapping):
        value = next((value[key] for key in _LISTS if key in value), None)
    if not isinstance(value, list) or not any(_name(entry) for entry in value):
        return None
    return value


def _name(entry: Any) -> str:
    if isinstance(entry, Mapping):
        entry = next((entry[key] for key in _NAMES if key in entry), None)
    return " ".join(entry.split()) if isinstance(entry, str) else ""

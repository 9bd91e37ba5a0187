"""Find JSON objects in a reply, between other text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["json_objects"]

_DECODER = json.JSONDecoder(strict=False)
_MOST_BROKEN = 50
"""Number of braces that begin no object after which the search ends: looping models never stop."""


def json_objects(text: str) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (start, end, value) of every JSON object that is not within another one."""
    failed = 0
    start = text.find("{")
    while start >= 0 and failed < _MOST_BROKEN:
        end = start + 1
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            failed += 1
        else:
            yield start, end, value
        start = text.find("{", end)

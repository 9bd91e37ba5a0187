"""Why cases and files were set aside: the number and the most frequent message of each code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from medrcube.facts import QuarantineRow

__all__ = ["reason_lines"]

_MOST_CODES = 5
_LONGEST = 400
"""Characters shown of a message."""


def reason_lines(problems: Iterable[QuarantineRow]) -> tuple[str, ...]:
    """Return a line for each of the most frequent codes: number, code, most frequent message."""
    messages: dict[str, Counter[str]] = {}
    for problem in problems:
        messages.setdefault(problem.code, Counter())[problem.message] += 1
    by_number = sorted(messages.items(), key=lambda entry: -entry[1].total())
    return tuple(_line(code, own) for code, own in by_number[:_MOST_CODES])


def _line(code: str, messages: Counter[str]) -> str:
    ((message, count),) = messages.most_common(1)
    text = message if len(message) <= _LONGEST else f"{message[:_LONGEST]} ..."
    total = messages.total()
    share = f" (so in {count:,} of {total:,})" if count < total else ""
    return f"{total:,} {code}: {text}{share}"

"""The outcome of an item: seven ways to end, of which exactly one holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from medrcube.evaluate.benchmark import Item


class Outcome(StrEnum):
    """How an item ended."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    FAILED = "failed"
    MISSING_IMAGE = "missing-image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One scored item.

    Attributes:
        item: the item.
        outcome: how it ended.
        answer: letter that the reply gives, or ``None``.
        rule: which rule found the letter, or why there is none.
        reply: text of the reply, or ``None`` when there is none.
    """

    item: Item
    outcome: Outcome
    answer: str | None
    rule: str
    reply: str | None

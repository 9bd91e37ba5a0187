"""The outcome of an item: seven ways to end, of which exactly one holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from medrcube.evaluate.benchmark import Item
from medrcube.evaluate.running.run_folder import Asked


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
    """One scored presentation of an item.

    Attributes:
        asked: what was asked.
        outcome: how it ended.
        answer: letter that the reply gives, in the order of the options that was shown.
        rule: which rule found the letter, or why there is none.
        reply: text of the reply, or ``None`` when there is none.
        cut: whether the limit of tokens cut the reply; it may have answered before.
    """

    asked: Asked
    outcome: Outcome
    answer: str | None
    rule: str
    reply: str | None
    cut: bool = False

    @property
    def item(self) -> Item:
        """The item, its options and key in the order that was shown."""
        return self.asked.item

    @property
    def choice(self) -> str | None:
        """Text of the chosen option, which does not depend on the order that was shown."""
        return None if self.answer is None else dict(self.item.options)[self.answer]

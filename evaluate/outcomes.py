"""Outcomes of an item: eight, of which exactly one holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from medrcube.evaluate.dataset import BenchmarkItem
from medrcube.evaluate.runner.run_folder import AskedQuestion
from medrcube.evaluate.runner.run_state import FAILURE_GATE

__all__ = [
    "LOST",
    "NOT_SHOWN",
    "AnswerOutcome",
    "Result",
    "accuracy_bounds",
    "is_incomplete",
    "lost",
    "too_many_lost",
]


class AnswerOutcome(StrEnum):
    """How an item ended."""

    CORRECT = "correct"
    WRONG = "wrong"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    CUT = "cut"
    FAILED = "failed"
    MISSING_IMAGE = "missing-image"
    NOT_ASKED = "not-asked"

    @property
    def words(self) -> str:
        """Its name as readers see it."""
        return self.value.replace("-", " ")


LOST = frozenset({AnswerOutcome.FAILED, AnswerOutcome.MISSING_IMAGE, AnswerOutcome.NOT_ASKED})
"""How a question ends to which there is no reply."""


NOT_SHOWN = frozenset({AnswerOutcome.MISSING_IMAGE, AnswerOutcome.NOT_ASKED})
"""Of these, how a question ends of which the published evaluator's files know nothing.

Its loader drops an item whose picture is absent.
"""


def lost(group: Mapping[str, Any]) -> int:
    """Questions of a group of ``metrics.json`` to which there is no reply."""
    return sum(int(group["outcomes"][outcome]) for outcome in LOST)


def is_incomplete(total: Mapping[str, Any]) -> bool:
    """Whether too many questions of a whole run have no reply."""
    return lost(total) > FAILURE_GATE * int(total["n"])


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

    asked: AskedQuestion
    outcome: AnswerOutcome
    answer: str | None
    rule: str
    reply: str | None
    cut: bool = False

    @property
    def item(self) -> BenchmarkItem:
        """The item, its options and key in the order that was shown."""
        return self.asked.item

    @property
    def choice(self) -> str | None:
        """Text of the chosen option, which does not depend on the order that was shown."""
        return None if self.answer is None else dict(self.item.options)[self.answer]


def too_many_lost(results: Sequence[Result]) -> bool:
    """Whether more questions of a whole run have no reply than a number of it bears."""
    return sum(result.outcome in LOST for result in results) > FAILURE_GATE * len(results)


def accuracy_bounds(correct: int, results: Sequence[Result]) -> list[float] | None:
    """Between what an accuracy lies, whatever the replies that are lost would have been."""
    n, missing = len(results), sum(result.outcome in LOST for result in results)
    return [correct / n, (correct + missing) / n] if n else None

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
    """Outcome of an item."""

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
        """The outcome in words."""
        return self.value.replace("-", " ")


LOST = frozenset({AnswerOutcome.FAILED, AnswerOutcome.MISSING_IMAGE, AnswerOutcome.NOT_ASKED})
"""Outcomes without a reply."""


NOT_SHOWN = frozenset({AnswerOutcome.MISSING_IMAGE, AnswerOutcome.NOT_ASKED})
"""Of these, outcomes that are absent from the published evaluator's files.

Its loader drops an item whose image is absent.
"""


def lost(group: Mapping[str, Any]) -> int:
    """Number of questions without a reply in a group of ``metrics.json``."""
    return sum(int(group["outcomes"][outcome]) for outcome in LOST)


def is_incomplete(total: Mapping[str, Any]) -> bool:
    """Whether too many questions of a run have no reply."""
    return lost(total) > FAILURE_GATE * int(total["n"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One scored presentation of an item.

    Attributes:
        asked: the question.
        outcome: its outcome.
        answer: letter in the reply, in the option order shown.
        rule: rule that gave the letter, or the reason for none.
        reply: text of the reply, or ``None``.
        cut: whether the token limit truncated the reply, which may have answered before.
    """

    asked: AskedQuestion
    outcome: AnswerOutcome
    answer: str | None
    rule: str
    reply: str | None
    cut: bool = False

    @property
    def item(self) -> BenchmarkItem:
        """The item, its options and key in the order shown."""
        return self.asked.item

    @property
    def choice(self) -> str | None:
        """Text of the chosen option, independent of the order shown."""
        return None if self.answer is None else dict(self.item.options)[self.answer]


def too_many_lost(results: Sequence[Result]) -> bool:
    """Whether more than ``FAILURE_GATE`` of the questions of a run have no reply."""
    return sum(result.outcome in LOST for result in results) > FAILURE_GATE * len(results)


def accuracy_bounds(correct: int, results: Sequence[Result]) -> list[float] | None:
    """Bounds of the accuracy: all lost replies wrong, or all correct."""
    n, missing = len(results), sum(result.outcome in LOST for result in results)
    return [correct / n, (correct + missing) / n] if n else None

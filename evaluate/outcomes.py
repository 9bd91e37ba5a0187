"""The nine mutually exclusive outcomes of an item."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.runner.run_folder import AskedQuestion
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.forms import form_of
from medrcube.forms.option import score_letter
from medrcube.forms.protocol import AnswerScore, Json

__all__ = [
    "LOST",
    "NOT_SHOWN",
    "AnswerOutcome",
    "Result",
    "accuracy_bounds",
    "is_incomplete",
    "lost",
    "main_results",
    "score_answer",
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
    NOT_REACHED = "not-reached"

    @property
    def words(self) -> str:
        """The outcome in words."""
        return self.value.replace("-", " ")


LOST = frozenset(
    {
        AnswerOutcome.FAILED,
        AnswerOutcome.MISSING_IMAGE,
        AnswerOutcome.NOT_ASKED,
        AnswerOutcome.NOT_REACHED,
    }
)
"""Outcomes without a reply."""


NOT_SHOWN = LOST - {AnswerOutcome.FAILED}
"""Of these, outcomes absent from the published evaluator's files.

Its loader drops items whose image is absent.
"""


def lost(group: Mapping[str, Any]) -> int:
    """Return the number of questions without a reply in a group of ``metrics.json``."""
    return sum(int(group["outcomes"][outcome]) for outcome in LOST)


def is_incomplete(total: Mapping[str, Any]) -> bool:
    """Whether too many questions of a run have no reply."""
    return lost(total) > FAILURE_GATE * int(total["n"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One scored presentation of an item.

    Attributes:
        question: the question.
        outcome: its outcome.
        answer: letter in the reply, in the option order shown; for an item without options its
            answer as JSON text.
        rule: rule that found the answer, or the reason why there is none.
        reply: text of the reply, or ``None``.
        cut: whether the token limit truncated the reply, which may still contain an answer.
    """

    question: AskedQuestion
    outcome: AnswerOutcome
    answer: str | None
    rule: str
    reply: str | None
    cut: bool = False

    @property
    def item(self) -> BenchmarkItem:
        """The item, its options and key in the order shown."""
        return self.question.presentation.item

    @property
    def choice(self) -> str | None:
        """The answer in words, such as the text of the option; independent of the display order."""
        return None if self.answer is None else self.item.shown_answer(self.answer)

    @property
    def parsed_answer(self) -> Json:
        """The answer as its form represents it: a letter, a number, coordinates, a list."""
        if self.answer is None or self.item.target is None:
            return self.answer
        answer: Json = json.loads(self.answer)
        return answer

    @property
    def score(self) -> AnswerScore | None:
        """Score of the answer; ``None`` without one."""
        return None if self.answer is None else score_answer(self.item, self.answer)


def score_answer(item: BenchmarkItem, answer: str) -> AnswerScore:
    """Score an answer, as ``Result`` has it, by the form of its item."""
    if item.target is None:
        return score_letter(answer, item.key)
    return form_of(item.target).score(json.loads(answer), item.target)


def too_many_lost(results: Sequence[Result]) -> bool:
    """Whether more than ``FAILURE_GATE`` of the questions of a run have no reply."""
    return sum(result.outcome in LOST for result in results) > FAILURE_GATE * len(results)


def accuracy_bounds(correct: int, results: Sequence[Result]) -> list[float] | None:
    """Return bounds of the accuracy: all lost replies wrong, or all correct."""
    n, missing = len(results), sum(result.outcome in LOST for result in results)
    return [correct / n, (correct + missing) / n] if n else None


def main_results(results: Sequence[Result]) -> list[Result]:
    """Return one result per item: the first condition of the run, its first epoch."""
    conditions = {result.question.presentation.condition for result in results}
    first = next((condition for condition in Condition if condition in conditions), None)
    return [
        result
        for result in results
        if (presentation := result.question.presentation).condition is first
        and presentation.turn == presentation.epoch == 0
    ]

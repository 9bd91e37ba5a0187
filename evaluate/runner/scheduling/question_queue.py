"""Queue of questions: retries that are due first, then new ones."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from medrcube.evaluate.runner.run_folder import AskedQuestion

__all__ = ["QuestionQueue", "QueuedQuestion"]


@dataclass(slots=True, kw_only=True)
class QueuedQuestion:
    """One question and its attempts in this session.

    Attributes:
        question: the question.
        tries: number of attempts.
        refusals: of these, ended by a rate limit.
        errors: of these, ended by another error.
    """

    question: AskedQuestion
    tries: int = 0
    refusals: int = 0
    errors: int = 0


class QuestionQueue:
    """Questions that remain to be sent."""

    def __init__(self, todo: Iterable[AskedQuestion]) -> None:
        self._new = iter(todo)
        self._waiting: list[tuple[float, int, QueuedQuestion]] = []
        self._numbers = itertools.count()

    def next(self, now: float) -> QueuedQuestion | None:
        """Return the next question; ``None`` if none is due now."""
        if self._waiting and self._waiting[0][0] <= now:
            return heapq.heappop(self._waiting)[2]
        question = next(self._new, None)
        return None if question is None else QueuedQuestion(question=question)

    def put_back(self, turn: QueuedQuestion, *, due: float) -> None:
        """Requeue a question, due no earlier than ``due``."""
        heapq.heappush(self._waiting, (due, next(self._numbers), turn))

    @property
    def due(self) -> float | None:
        """When the first waiting question is due; ``None`` without one."""
        return self._waiting[0][0] if self._waiting else None

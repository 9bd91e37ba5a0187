"""States of the questions of a run: answered, lost, not yet asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from medrcube.console.counts import counted
from medrcube.evaluate.outcomes import AnswerOutcome, Result
from medrcube.evaluate.runner.run_state import FAILURE_GATE

__all__ = ["QuestionStates", "count_ends", "count_outcomes", "states_of"]

_END_OF = {outcome: outcome.value for outcome in AnswerOutcome} | dict.fromkeys(
    (AnswerOutcome.CORRECT, AnswerOutcome.WRONG), "answered"
)
_WITHOUT_ANSWER = (AnswerOutcome.CUT, AnswerOutcome.FAILED, AnswerOutcome.MISSING_IMAGE)


@dataclass(frozen=True, slots=True)
class QuestionStates:
    """Counts of the final states over all presentations of a run.

    Attributes:
        ends: counts of ``answered`` and of every other outcome.
    """

    ends: Mapping[str, int]

    @property
    def incomplete(self) -> str | None:
        """Why the numbers cover only a part; ``None`` for a complete run."""
        if unasked := self.ends[AnswerOutcome.NOT_ASKED]:
            return f"{counted(unasked, 'question')} not asked yet"
        if sum(self.ends[end] for end in _WITHOUT_ANSWER) > FAILURE_GATE * sum(self.ends.values()):
            return "too many questions have no reply or one that was cut off"
        return None

    def __str__(self) -> str:
        """The counts in one line."""
        return ", ".join(f"{count:,} {end.replace('-', ' ')}" for end, count in self.ends.items())


def states_of(results: Iterable[Result]) -> QuestionStates:
    """Return the states of the questions of a run."""
    return QuestionStates(count_ends(results))


def count_ends(results: Iterable[Result]) -> Mapping[str, int]:
    """Count each final state."""
    return count_outcomes(result.outcome for result in results)


def count_outcomes(outcomes: Iterable[AnswerOutcome]) -> Mapping[str, int]:
    """Count each final state from outcomes alone."""
    counts = Counter(map(_END_OF.__getitem__, outcomes))
    return {end: counts[end] for end in dict.fromkeys(_END_OF.values())}

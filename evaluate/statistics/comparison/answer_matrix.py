"""Matrix of runs by questions, for pairwise comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from medrcube.evaluate.outcomes import LOST, AnswerOutcome, Result
from medrcube.evaluate.statistics.clustered_inference import (
    UnitTally,
    difference_interval,
    sign_test,
)
from medrcube.evaluate.statistics.units import unit_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

__all__ = ["ALPHA", "AnswerTable", "answer_table", "p_of_difference"]

ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTable:
    """Runs by questions.

    Attributes:
        labels: labels of the runs.
        results: one result per question, from the first run that has it.
        units: index of the unit of each question, of shape (questions,).
        right: whether the answer is correct, of shape (runs, questions).
        replied: whether a run was asked and has not lost its reply, of the same shape.
    """

    labels: Sequence[str]
    results: Sequence[Result]
    units: NDArray[np.int64]
    right: Flags
    replied: Flags

    def replied_by_all(self) -> Flags:
        """Questions with a reply in every run, of shape (questions,)."""
        import numpy as np  # noqa: PLC0415 - an import that only scoring pays

        return np.asarray(self.replied.all(axis=0))

    def differences(self, first: int, second: int, mask: Flags | None = None) -> list[UnitTally]:
        """Return first minus second run by unit, over the chosen questions with a reply in both."""
        import numpy as np  # noqa: PLC0415

        both = self.replied[first] & self.replied[second]
        both = both if mask is None else both & mask
        change = self.right[first].astype(np.int8) - self.right[second]
        return self._by_unit(change, both)

    def shares(self, run: int, mask: Flags | None = None) -> list[UnitTally]:
        """Return correct answers of a run, by unit, over the chosen questions with a reply."""
        replied = self.replied[run] if mask is None else self.replied[run] & mask
        return self._by_unit(self.right[run], replied)

    def _by_unit(self, values: NDArray[np.int8] | Flags, selected: Flags) -> list[UnitTally]:
        import numpy as np  # noqa: PLC0415

        units = self.units[selected]
        sizes = np.bincount(units)
        totals = np.bincount(units, weights=values[selected]).astype(np.int64)
        there = sizes > 0
        pairs = zip(totals[there].tolist(), sizes[there].tolist(), strict=True)
        return [UnitTally(total, size) for total, size in pairs]


def answer_table(runs: Mapping[str, Sequence[Result]]) -> AnswerTable:
    """Build the table of runs by questions.

    Args:
        runs: results by label, one per question.
    """
    import numpy as np  # noqa: PLC0415

    result_by_item: dict[str, Result] = {}
    for results in runs.values():
        for result in results:
            result_by_item.setdefault(result.item.name, result)
    place = {name: index for index, name in enumerate(result_by_item)}
    units: dict[str, int] = {}
    right = np.zeros((len(runs), len(result_by_item)), dtype=bool)
    replied = np.zeros_like(right)
    for row, results in enumerate(runs.values()):
        for result in results:
            column = place[result.item.name]
            replied[row, column] = result.outcome not in LOST
            right[row, column] = result.outcome is AnswerOutcome.CORRECT
    return AnswerTable(
        labels=tuple(runs),
        results=tuple(result_by_item.values()),
        units=np.array(
            [units.setdefault(unit_of(result), len(units)) for result in result_by_item.values()],
            dtype=np.int64,
        ),
        right=right,
        replied=replied,
    )


def p_of_difference(units: Sequence[UnitTally]) -> float:
    """Return the exact p of no difference; 1 if below 5 % although the interval includes 0."""
    p = sign_test(units)
    if p >= ALPHA:
        return p
    interval = difference_interval(units)
    return 1.0 if interval is None or interval.low <= 0 <= interval.high else p

"""Answers as columns: the counts of every group from one pass over the results.

A run has some hundred groups (tasks, sources, cells of the cube), and each result is in a dozen of
them. Attributes are read once per result; groups are then counted with NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.outcomes import AnswerOutcome, Result
from medrcube.evaluate.statistics.clustered_inference import UnitTally
from medrcube.evaluate.statistics.grouping import Axis, grouped
from medrcube.evaluate.statistics.units import KINDS, kind_of, unit_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["AnswerColumns", "GroupedAnswers"]

_OUTCOMES = tuple(AnswerOutcome)
_PLACES = {outcome: place for place, outcome in enumerate(_OUTCOMES)}
_KIND_PLACES = {kind: place for place, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerColumns:
    """One row per answer.

    Attributes:
        outcomes: index of the outcome in ``AnswerOutcome``.
        units: index of the unit, by first appearance.
        kinds: index of the kind of the unit in ``KINDS``.
        chances: probability that an answer given without seeing the image is right.
    """

    outcomes: NDArray[np.int64]
    units: NDArray[np.int64]
    kinds: NDArray[np.int64]
    chances: NDArray[np.float64]

    @classmethod
    def of(cls, results: Sequence[Result]) -> AnswerColumns:
        """Return the columns of some results."""
        import numpy as np  # noqa: PLC0415 - an import that only scoring pays

        units: dict[str, int] = {}
        return cls(
            outcomes=np.array([_PLACES[result.outcome] for result in results], dtype=np.int64),
            units=np.array(
                [units.setdefault(unit_of(result), len(units)) for result in results],
                dtype=np.int64,
            ),
            kinds=np.array([_KIND_PLACES[kind_of(result)] for result in results], dtype=np.int64),
            chances=np.array([result.item.chance for result in results], dtype=np.float64),
        )

    def __len__(self) -> int:
        return len(self.outcomes)

    def take(self, mask: NDArray[np.bool_]) -> AnswerColumns:
        """Return the rows where ``mask``, of shape (answers,), is true."""
        return AnswerColumns(
            outcomes=self.outcomes[mask],
            units=self.units[mask],
            kinds=self.kinds[mask],
            chances=self.chances[mask],
        )

    def outcome_counts(self) -> dict[AnswerOutcome, int]:
        """Return the number of answers by outcome."""
        import numpy as np  # noqa: PLC0415

        counts = np.bincount(self.outcomes, minlength=len(_OUTCOMES)).tolist()
        return dict(zip(_OUTCOMES, counts, strict=True))

    def right_by_unit(self) -> tuple[list[UnitTally], dict[str, int]]:
        """Return the right answers of each unit, and the number of units by kind."""
        import numpy as np  # noqa: PLC0415

        names, units = np.unique(self.units, return_inverse=True)
        sizes = np.bincount(units, minlength=len(names))
        right = units[self.outcomes == _PLACES[AnswerOutcome.CORRECT]]
        totals = np.bincount(right, minlength=len(names))
        kinds = np.zeros(len(names), dtype=np.int64)
        kinds[units] = self.kinds
        counts = np.bincount(kinds, minlength=len(KINDS)).tolist()
        return (
            list(map(UnitTally, totals.tolist(), sizes.tolist())),
            {kind: count for kind, count in zip(KINDS, counts, strict=True) if count},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedAnswers:
    """Answers, and the combination of axes of each.

    Attributes:
        columns: one row per answer.
        cells: index of the combination of axes of each answer.
        items: an item of each combination; the others differ from it in no axis, nor in whether
            they have options.
    """

    columns: AnswerColumns
    cells: NDArray[np.int64]
    items: Sequence[BenchmarkItem]

    @classmethod
    def of(cls, results: Sequence[Result]) -> GroupedAnswers:
        """Return the groups of some results."""
        import numpy as np  # noqa: PLC0415

        cells: dict[tuple[object, ...], int] = {}
        items: list[BenchmarkItem] = []
        numbers: list[int] = []
        for result in results:
            item = result.item
            words = (item.task, item.modality, item.parts, item.dataset, item.visible)
            number = cells.setdefault((*words, not item.options), len(items))
            if number == len(items):
                items.append(item)
            numbers.append(number)
        return cls(
            columns=AnswerColumns.of(results),
            cells=np.array(numbers, dtype=np.int64),
            items=items,
        )

    def take(self, mask: NDArray[np.bool_]) -> GroupedAnswers:
        """Return the answers where ``mask``, of shape (answers,), is true."""
        return GroupedAnswers(
            columns=self.columns.take(mask), cells=self.cells[mask], items=self.items
        )

    def of_cells(self, cells: Sequence[int]) -> AnswerColumns:
        """Return the answers with one of these combinations of axes."""
        import numpy as np  # noqa: PLC0415

        mask = np.zeros(len(self.items), dtype=bool)
        mask[cells] = True
        return self.columns.take(mask[self.cells])

    def by(
        self, axis: Axis, cells: Sequence[int] | None = None
    ) -> dict[tuple[str, ...], AnswerColumns]:
        """Return the answers by group of an axis, in the order of ``grouping.grouped``.

        Args:
            axis: the axis.
            cells: combinations of axes that are grouped; all by default.
        """
        present = set(self.cells.tolist())
        indexes = present.intersection(range(len(self.items)) if cells is None else cells)
        groups = grouped(axis, sorted(indexes), self.items.__getitem__)
        return {name: self.of_cells(members) for name, members in groups.items()}

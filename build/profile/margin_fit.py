"""Margin fit: number of items per cell that meets the margins of a profile.

Three margins over a cube with bounds on its cells are a three-axis transportation problem (Haley
1962). With two axes a maximum flow would do; with three the integer problem is NP-hard (Karp 1972,
three-dimensional matching), but a cube of 160 cells is small, so HiGHS (Huangfu and Hall 2018)
solves it to the proven optimum in three steps:

1. *Reach.* The most items that margins, cells and lack of partners allow. No margin is ever
   exceeded, so every axis lacks the same number of items: most items is least distance.
2. *Spread.* Of the tables with that many items, the most even one over cells and keys: least sum
   of n ln n. Without bounds on the cells that is the table of iterative proportional fitting from
   a uniform start (Deming and Stephan 1940, Csiszar 1975).
3. *Round.* Each cell rounded down or up with the margins kept (controlled rounding, Cox 1987),
   nearest values first.

Partners: a block combines every key with different ones (see ``option_blocks``), so an answer needs
as many questions with other answers, each compatible with it in both directions. Questions in
excess of that fit in no block, and their options would give them away.

An additional source only enlarges the feasible set, so it never increases the distance.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from medrcube.build.profile.linear_program import (
    Constraints,
    Floats,
    minimize,
    nearest_integer_point,
)
from medrcube.build.profile.profile import Profile
from medrcube.build.questions.sampling.quotas import AnswerCell
from medrcube.errors import MedrcubeError
from medrcube.taxonomy import Voxel

__all__ = ["GroupAnswer", "MarginFit", "Supply", "fit_margins", "reachable_items"]

_KEYS = 2.0
"""Weight of even keys over even cells: uneven keys cost items in ``key_balance``. With more, cells
that a margin leaves little room for end empty (measured on what all cards promise: 51 of the 56
cells are filled with 2, 49 with 8)."""

_EVEN = 1e-6
"""Tolerance for the solver's rounding of integers."""

_STEP = 1.25
"""Ratio of the end points of each segment that approximates n ln n: within a segment all tables
count as equally even.
"""

_WIDEN = (1, 2, 8)
"""How far from the even table a cell may be rounded, tried in this order."""

K = TypeVar("K")
V = TypeVar("V")

GroupAnswer = tuple[str, str]
"""An answer among questions that share their options: (block_group, answer)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """Questions that may be asked, counted within the limit per patient.

    Attributes:
        cells: most items of each cell.
        lots: most items of each lot; those of a cell may sum to more than the cell.
        names: (block_group, answer) -> answers that are safe distractors.
    """

    cells: Mapping[Voxel, int] = field(default_factory=dict)
    lots: Mapping[AnswerCell, int] = field(default_factory=dict)
    names: Mapping[GroupAnswer, frozenset[str]] = field(default_factory=dict)

    def beside(self, other: Supply) -> Supply:
        """Return the combined supply of both."""
        return Supply(
            cells=_joined(self.cells, other.cells, operator.add),
            lots=_joined(self.lots, other.lots, operator.add),
            names=_joined(self.names, other.names, operator.or_),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginFit:
    """Items to ask in each cell, and most items of each lot; lots without items are omitted.

    The limit of a lot is its number in the even table plus one segment, so that the selection can
    balance the keys as far as the cells allow.
    """

    cells: Mapping[Voxel, int]
    lots: Mapping[AnswerCell, int]


def reachable_items(profile: Profile, stock: Supply) -> float:
    """Return the most items that the stock gives towards a profile, as an upper bound.

    It is the optimum over fractions, exact to about one item, which is fast and grows with the
    stock.
    """
    program = _Program(profile, stock)
    if not program.cells:
        return 0.0
    return float(program.most().sum())


def fit_margins(profile: Profile, stock: Supply) -> MarginFit:
    """Return the number of items to ask in each cell.

    The same stock gives the same table, in any order. Among equally good tables the solver's choice
    is used, which is deterministic for each version of it; the number of items does not depend on
    it.
    """
    program = _Program(profile, stock)
    if not program.cells:
        return MarginFit(cells={}, lots={})
    most = program.most(whole=True)
    even, lots = program.spread(most.sum())
    near = program.rounded(even, most.sum())
    cells = zip(program.cells, most if near is None else near, strict=True)
    due = zip(program.lots, np.ceil((lots - _EVEN) * _STEP), strict=True)
    return MarginFit(
        cells={cell: int(count) for cell, count in cells if count},
        lots={lot: int(count) for lot, count in due if count > 0},
    )


class _Program:
    """The linear program of one profile and stock; the first variables are the cells."""

    def __init__(self, profile: Profile, stock: Supply) -> None:
        self.cells = sorted(c for c, n in stock.cells.items() if n > 0 and profile.wants(c))
        cells = set(self.cells)
        self.lots = sorted(lot for lot, n in stock.lots.items() if n > 0 and lot.cell in cells)
        room = [stock.cells[cell] for cell in self.cells]
        self._room = np.array([*room, *(stock.lots[lot] for lot in self.lots)], dtype=float)
        self._margins = Constraints(len(self.cells))
        self._rows = Constraints(len(self._room))
        self._bound_margins(profile)
        self._bound_lots(stock)

    def _bound_margins(self, profile: Profile) -> None:
        groups: dict[tuple[str, str], list[int]] = {}
        for index, cell in enumerate(self.cells):
            for bound in profile.bounds(cell):
                groups.setdefault(bound, []).append(index)
        for rows in (self._margins, self._rows):
            for (axis, value), members in sorted(groups.items()):
                rows.add(_ones(members), 0.0, profile.margins[axis][value])
            rows.add(_ones(range(len(self.cells))), 0.0, profile.total)

    def _bound_lots(self, stock: Supply) -> None:
        """Constrain each cell to the sum of its lots, and each answer to its number of partners."""
        place = {cell: index for index, cell in enumerate(self.cells)}
        of_cell: list[list[int]] = [[] for _ in self.cells]
        of_key: dict[GroupAnswer, list[int]] = {}
        for index, lot in enumerate(self.lots, len(self.cells)):
            of_cell[place[lot.cell]].append(index)
            if lot.block_group:
                of_key.setdefault((lot.block_group, lot.answer), []).append(index)
        for index, members in enumerate(of_cell):
            self._rows.add([(index, -1.0), *_ones(members)], 0.0, 0.0)
        first = self._rows.widen(len(of_key))  # one variable for the sum of each answer
        keys = {key: first + n for n, key in enumerate(of_key)}
        for key, members in of_key.items():
            self._rows.add([(keys[key], -1.0), *_ones(members)], 0.0, 0.0)
            block_group, answer = key
            partners = [
                keys[block_group, name]
                for name in sorted(stock.names.get(key, ()))
                if name != answer
                and (block_group, name) in keys
                and answer in stock.names.get((block_group, name), ())
            ]
            self._rows.add(
                [(keys[key], 1.0), *((partner, -1.0) for partner in partners)], -np.inf, 0.0
            )
        room = [self._room[members].sum() for members in of_key.values()]
        self._high = np.concatenate([self._room, room])
        self._keys = list(keys.values())

    def most(self, *, whole: bool = False) -> Floats:
        """Return the cells of a table with the most items; integers on request."""
        count = len(self.cells)
        objective, integral = np.zeros(len(self._high)), np.zeros(len(self._high))
        objective[:count] = -1.0
        integral[:count] = whole
        solution = minimize(objective, self._rows, high=self._high, integral=integral)
        cells = _require_solution(solution)[:count]
        return np.round(cells) if whole else cells

    def spread(self, total: float) -> tuple[Floats, Floats]:
        """Return cells and lots of the most even table with that many items, in fractions."""
        count = len(self.cells)
        convex = [*((cell, 1.0) for cell in range(count)), *((key, _KEYS) for key in self._keys)]
        rows, high, costs = self._rows.copy(), [self._high], [np.zeros(len(self._high))]
        rows.add(_ones(range(count)), total, total)
        for variable, weight in convex:
            widths, slopes = _segments(min(float(self._high[variable]), total))
            first = rows.widen(len(widths))
            pieces = _ones(range(first, first + len(widths)))
            rows.add([(variable, -1.0), *pieces], 0.0, 0.0)
            high.append(widths)
            costs.append(weight * slopes)
        solution = _require_solution(
            minimize(np.concatenate(costs), rows, high=np.concatenate(high))
        )
        return solution[:count], solution[count : len(self._room)]

    def rounded(self, even: Floats, total: float) -> Floats | None:
        """Return the nearest integer table with that many items; ``None`` if none is near."""
        count = len(self.cells)
        rows = self._margins.copy()
        rows.add(_ones(range(count)), total, total)
        down = np.floor(even + _EVEN)
        for wide in _WIDEN:
            low = np.maximum(down - (wide - 1), 0.0)
            rounding = nearest_integer_point(
                even, rows, low=low, high=np.minimum(down + wide, self._room[:count])
            )
            if rounding is not None:
                return rounding
        return None


def _ones(variables: Iterable[int]) -> list[tuple[int, float]]:
    return [(variable, 1.0) for variable in variables]


def _require_solution(solution: Floats | None) -> Floats:
    if solution is None:
        raise MedrcubeError("profile: the solver found no table; please report this workspace")
    return solution


def _segments(top: float) -> tuple[Floats, Floats]:
    """Return widths and slopes of a piecewise linear n ln n up to ``top``, finer for small n."""
    ends = [0.0]
    while ends[-1] < top:
        ends.append(min(top, max(ends[-1] + 1.0, round(ends[-1] * _STEP))))
    points = np.array(ends)
    values = points * np.log(np.maximum(points, 1.0))
    widths = np.diff(points)
    return widths, np.diff(values) / widths


def _joined(first: Mapping[K, V], second: Mapping[K, V], join: Callable[[V, V], V]) -> dict[K, V]:
    joined = dict(first)
    for key, value in second.items():
        joined[key] = join(joined[key], value) if key in joined else value
    return joined

"""Linear and mixed-integer programs, solved by HiGHS through SciPy.

HiGHS (Huangfu and Hall 2018) is part of SciPy, which is imported on first use; most builds do not
need it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Constraints", "Floats", "minimize", "nearest_integer_point"]

Floats = NDArray[np.float64]


class Constraints:
    """Bounds on sums of variables: ``low <= sum of factor x variable <= high``.

    Args:
        columns: number of variables.
    """

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._entries: list[tuple[int, int, float]] = []
        self._bounds: list[tuple[float, float]] = []

    def add(self, entries: Iterable[tuple[int, float]], low: float, high: float) -> None:
        """Bound the sum of (variable, factor) pairs."""
        row = len(self._bounds)
        self._entries += [(row, column, factor) for column, factor in entries]
        self._bounds.append((low, high))

    def widen(self, columns: int) -> int:
        """Add variables; return the index of the first."""
        self.columns += columns
        return self.columns - columns

    def copy(self) -> Constraints:
        """Return a copy of the rows that can be extended."""
        rows = Constraints(self.columns)
        rows._entries, rows._bounds = [*self._entries], [*self._bounds]
        return rows

    def constraint(self) -> Any:
        """The rows in SciPy's form."""
        row, column, factor = zip(*self._entries, strict=True)
        low, high = zip(*self._bounds, strict=True)
        matrix = import_module("scipy.sparse").coo_array(
            (factor, (row, column)), shape=(len(self._bounds), self.columns)
        )
        return import_module("scipy.optimize").LinearConstraint(matrix.tocsr(), low, high)


def minimize(
    objective: Floats,
    rows: Constraints,
    *,
    low: Floats | float = 0.0,
    high: Floats | float = np.inf,
    integral: Floats | None = None,
) -> Floats | None:
    """Return the variables at the proven minimum of the objective; ``None`` if infeasible.

    Args:
        objective: cost of each variable, (variables,).
        rows: bounds on sums.
        low: least value of each variable.
        high: greatest value of each variable.
        integral: 1 for integer variables, else 0; all real by default.
    """
    optimize = import_module("scipy.optimize")
    solution = optimize.milp(
        objective,
        constraints=rows.constraint(),
        bounds=optimize.Bounds(low, high),
        integrality=integral,
        options={"mip_rel_gap": 0.0},
    )
    return None if solution.x is None else np.asarray(solution.x, dtype=np.float64)


def nearest_integer_point(
    point: Floats, rows: Constraints, *, low: Floats, high: Floats
) -> Floats | None:
    """Return the feasible integer point with the least L1 distance to ``point``, if any."""
    count = len(point)
    wide = rows.copy()
    first = wide.widen(2 * count)  # for each variable the part below the point and the part above
    for n in range(count):
        parts = [(n, 1.0), (first + n, 1.0), (first + count + n, -1.0)]
        wide.add(parts, float(point[n]), float(point[n]))
    solution = minimize(
        np.concatenate([np.zeros(count), np.ones(2 * count)]),
        wide,
        low=np.concatenate([low, np.zeros(2 * count)]),
        high=np.concatenate([high, np.full(2 * count, np.inf)]),
        integral=np.concatenate([np.ones(count), np.zeros(2 * count)]),
    )
    return None if solution is None else np.round(solution[:count])

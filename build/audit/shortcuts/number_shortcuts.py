"""Shortcuts of numbers: blind pass rates compared with the stated chance.

Each shortcut gives a row of figures for each cell of a task, with ``within``: whether it passes no
more than the chance that the items state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from medrcube.build.audit.shortcuts.cell_rows import cell_row, cells_of
from medrcube.build.audit.shortcuts.number_priors import constant_prior, scale_prior
from medrcube.build.audit.shortcuts.shortcut_baselines import Row
from medrcube.build.open_items.table import OpenItem
from medrcube.build.stages.samples import Sample
from medrcube.forms.number import NumberForm, NumberTarget

__all__ = ["BOUND_SE", "LEAST", "constant_numbers", "numbers_by_frame"]

BOUND_SE = 2.0
"""Standard errors by which a number may exceed the chance: the build measures the chance on the
same items, so only a review can make the two differ.
"""

LEAST = 10
"""Fewest items of a cell that is judged."""


def constant_numbers(items: Sequence[OpenItem], samples: Iterable[Sample]) -> list[Row]:  # noqa: ARG001 - of the protocol
    """Pass rate of the best constant in each cell."""
    return _rows(items, lambda _, bands: constant_prior(bands[1], bands[2]))


def numbers_by_frame(items: Sequence[OpenItem], samples: Iterable[Sample]) -> list[Row]:
    """Pass rate of a regression on the scale bar and the size of the image in each cell."""
    patients = {sample.id: sample.patient or sample.case for sample in samples}

    def share(cell: Sequence[OpenItem], bands: NDArray[np.float64]) -> float | None:
        rows = [[float(number) for number in item.seen.split()] for item in cell]
        if not rows[0] or len({len(row) for row in rows}) > 1:
            return None
        units = [patients[item.sample] for item in cell]
        return scale_prior(bands[0], bands[1], bands[2], np.array(rows), units)

    return _rows(items, share)


def _rows(
    items: Sequence[OpenItem],
    share: Callable[[Sequence[OpenItem], NDArray[np.float64]], float | None],
) -> list[Row]:
    rows = []
    for name, cell in cells_of(items, {NumberForm.name}).items():
        targets = [item.target for item in cell]
        bands = np.array(
            [(t.value, t.low, t.high) for t in targets if isinstance(t, NumberTarget)]
        ).T
        passed, chance = share(cell, bands), fmean(item.chance for item in cell)
        if passed is None:
            continue
        error = math.sqrt(chance * (1 - chance) / len(cell))
        rows.append(
            cell_row(
                name,
                len(cell),
                passed=passed,
                chance=chance,
                error=error,
                bound=BOUND_SE,
                is_judged=len(cell) >= LEAST,
            )
        )
    return rows

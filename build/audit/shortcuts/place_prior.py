"""Fixed places as answers: points and boxes of a grid, tested without looking at the image.

The chance of an item is the pass rate of true answers of other patients (``blind_chance``). Here
points of a grid and boxes of fixed sizes are tested instead, which no item determined.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np

from medrcube.build.audit.shortcuts.cell_rows import cell_row, cells_of
from medrcube.build.audit.shortcuts.shortcut_baselines import Row
from medrcube.build.open_items.chance.blind_chance import near_region
from medrcube.build.open_items.table import OpenItem
from medrcube.build.stages.samples import Sample
from medrcube.forms import form_of
from medrcube.forms.box import BoxForm
from medrcube.forms.coordinates import SCALE
from medrcube.forms.option import OptionTarget
from medrcube.forms.point import PointForm, PointTarget
from medrcube.forms.protocol import Target

__all__ = ["BOUND_SE", "LEAST", "fixed_places"]

BOUND_SE = 3.0
"""Standard errors of the difference by which a place may exceed the stated chance. Of cells without
leakage one in 24 exceeds two, by chance and because the stated chance is an estimate too, and one
in 300 exceeds three (``benchmarks/audit_bounds.py``).
"""
LEAST = 10
"""Fewest patients of a cell that is judged."""
_MOST = 120
"""Most items of a cell that are tested, evenly spaced."""
_STEPS = tuple(SCALE * step / 10 for step in range(1, 10))
_SIDES = tuple(SCALE * share for share in (0.1, 0.2, 0.4, 0.6, 0.8))
_PLACES: dict[str, tuple[Any, ...]] = {
    PointForm.name: tuple(product(_STEPS, _STEPS)),
    BoxForm.name: tuple(
        (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        for x, y, width, height in product(_STEPS[::2], _STEPS[::2], _SIDES, _SIDES)
    ),
}


def fixed_places(items: Sequence[OpenItem], samples: Iterable[Sample]) -> list[Row]:
    """Pass rate, in each cell, of the best place for other patients, compared with the chance."""
    patients = {sample.id: sample.patient or sample.case for sample in samples}
    rows = []
    for name, whole in cells_of(items, _PLACES).items():
        places = np.linspace(0, len(whole) - 1, min(len(whole), _MOST)).astype(int)
        cell = [whole[place] for place in places]
        units = [patients[item.sample] for item in cell]
        if len(set(units)) < 2:
            continue
        passed, chance = _left_out(cell, units), fmean(item.chance for item in cell)
        # Both shares are estimates on the same items.
        error = math.sqrt((chance * (1 - chance) + passed * (1 - passed)) / len(cell))
        rows.append(
            cell_row(
                name,
                len(cell),
                passed=passed,
                chance=chance,
                error=error,
                bound=BOUND_SE,
                is_judged=len(set(units)) >= LEAST,
            )
        )
    return rows


def _left_out(cell: Sequence[OpenItem], units: Sequence[str]) -> float:
    """Share of items passed by the place that passes most items of other patients."""
    places = _PLACES[cell[0].form]
    passed = np.array([_passed(item.target, places) for item in cell], np.int64)
    owners = np.array(units)
    right = 0
    for unit in sorted(set(units)):
        mine = owners == unit
        best = int(passed[~mine].sum(axis=0).argmax())
        right += int(passed[mine, best].sum())
    return right / len(cell)


def _passed(target: Target | OptionTarget, places: Sequence[Any]) -> list[bool]:
    """Whether each place passes; a point outside the box around a region is rejected at once."""
    assert not isinstance(target, OptionTarget)  # noqa: S101 - a form of _PLACES
    score = form_of(target).score
    if not isinstance(target, PointTarget):
        return [score(list(place), target).passed for place in places]
    is_near = near_region(target)
    return [is_near(place) and score(list(place), target).passed for place in places]

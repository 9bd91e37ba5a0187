"""Rows of rules on cells of open items: blind pass rates compared with the stated chance."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from medrcube.build.audit.shortcuts.shortcut_baselines import Row
from medrcube.build.open_items.table import OpenItem

__all__ = ["cell_row", "cells_of"]

Cell = tuple[str, str]


def cells_of(items: Iterable[OpenItem], forms: Container[str]) -> Mapping[Cell, list[OpenItem]]:
    """Group items of some answer forms by task and by the cell of their chance; order is kept."""
    cells: dict[Cell, list[OpenItem]] = {}
    for item in items:
        if item.form in forms:
            cells.setdefault((item.task, item.prior), []).append(item)
    return dict(sorted(cells.items()))


def cell_row(
    cell: Cell,
    n: int,
    *,
    passed: float,
    chance: float,
    error: float,
    bound: float,
    is_judged: bool,
) -> Row:
    """Return the figures of a cell.

    Args:
        cell: task and cell.
        n: number of items tested.
        passed: share of items that a blind answer passes.
        chance: mean chance that the items state.
        error: standard error of the difference.
        bound: number of standard errors by which ``passed`` may exceed the chance.
        is_judged: whether the cell is large enough to be judged.
    """
    threshold = chance + bound * error
    return {
        "task": cell[0],
        "cell": cell[1],
        "n": n,
        "accuracy": passed,
        "chance": chance,
        "se": error,
        "threshold": threshold,
        "within": passed <= threshold if is_judged else None,
    }

"""Rows of the rules on cells of open items: what passes without a look beside the stated chance."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from medrcube.build.audit.shortcut_baselines import Row
from medrcube.build.open_items.table import OpenItem

__all__ = ["cell_row", "cells_of"]

Cell = tuple[str, str]


def cells_of(items: Iterable[OpenItem], forms: Container[str]) -> Mapping[Cell, list[OpenItem]]:
    """Items of some forms by task and cell of their chance, in the order of these."""
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
    """Figures of a cell.

    Args:
        cell: task and cell.
        n: items that were tried.
        passed: share of them that an answer without a look passes.
        chance: mean chance that they state.
        error: standard error of the difference.
        bound: such errors above the chance that ``passed`` may lie.
        is_judged: whether the cell is large enough to say whether that is too much.
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

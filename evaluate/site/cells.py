"""Cell pages: all models side by side in one cell of the cube."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.site.leaderboard import LeaderboardRow
from medrcube.evaluate.site.page_names import CellName
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.word import in_order

__all__ = ["CellPage", "Row", "cell_pages"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPage:
    """Page of one cell.

    Attributes:
        name: task, modality and region.
        rows: (leaderboard row, metrics in this cell), best first, incomplete runs last.
        n: largest number of questions of any model here.
        small: whether that sample is small.
        chance: chance accuracy.
        median: median accuracy of the complete runs of models, or ``None``.
        best: the best of these accuracies, or ``None``.
    """

    name: CellName
    rows: Sequence[tuple[LeaderboardRow, Row]]
    n: int
    small: bool
    chance: float
    median: float | None
    best: tuple[LeaderboardRow, Row] | None

    @property
    def page(self) -> str:
        """Path of the page, relative to the site."""
        return f"cells/{self.name.page}"


def cell_pages(entries: Sequence[LeaderboardRow]) -> list[CellPage]:
    """Return the pages of all cells with questions, by task, modality and region."""
    rows: dict[CellName, list[tuple[LeaderboardRow, Row]]] = {}
    for entry in entries:
        for voxel in entry.run.metrics["voxels"]:
            name = CellName(
                Task(voxel["task"]),
                Modality.recorded(voxel["modality"]),
                Anatomy.recorded(voxel["parts"]),
            )
            rows.setdefault(name, []).append((entry, voxel))
    orders: list[list[str]] = [
        list(Task),
        in_order(Modality, [*Modality, *(name.modality for name in rows)]),
        in_order(Anatomy, [*Anatomy, *(name.parts for name in rows)]),
    ]
    names = sorted(
        rows,
        key=lambda name: [order.index(member) for order, member in zip(orders, name, strict=True)],
    )
    return [_cell(name, rows[name]) for name in names]


def _cell(name: CellName, rows: Sequence[tuple[LeaderboardRow, Row]]) -> CellPage:
    ordered = sorted(rows, key=lambda pair: (pair[0].run.incomplete, -(pair[1]["accuracy"] or 0)))
    whole = [
        pair for pair in ordered if not pair[0].run.incomplete and pair[0].run.reviewers is None
    ]
    largest = max((row for _, row in rows), key=lambda row: int(row["n"]))
    return CellPage(
        name=name,
        rows=ordered,
        n=largest["n"],
        small=largest["small"],
        chance=largest["chance"],
        median=statistics.median(row["accuracy"] for _, row in whole) if whole else None,
        best=whole[0] if whole else None,
    )

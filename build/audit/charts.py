"""Chart data of the audit page: cube cells, and scores with error bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.taxonomy import Anatomy, Modality, Task, cube_tasks
from medrcube.vocabulary.word import with_shipped

__all__ = [
    "FEW",
    "STEPS",
    "CubeCell",
    "ScoreBand",
    "cell_anchor",
    "count_filled",
    "cube_cells",
    "score_bands",
]

STEPS = (1, 3, 10, 30, 100, 300)
"""Fewest items for each shade of the cube."""

FEW = 10
"""Cells with fewer items are hatched, as on the page of an evaluation."""

Name = tuple[str, str, str]
"""Anatomy, modality and task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CubeCell:
    """One cell of the cube.

    Attributes:
        name: anatomy, modality and task.
        items: number of items.
        planned: number planned by the profile; ``None`` without a profile.
        shade: 1 (few) to 6 (many); 0 for none.
        anchor: HTML anchor of its contact sheet.
    """

    name: Name
    items: int
    planned: int | None
    shade: int
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreBand:
    """Score of a shortcut in one task, with its sampling error.

    Attributes:
        name: the task, and the cue if there are several.
        n: number of items counted.
        score: share of right answers, or ``None`` if it could not be measured.
        low: two standard errors below, at least 0.
        high: two standard errors above, at most 1.
        chance: score of guessing.
        least: lower bound, 0 if there is none.
        most: upper bound.
        within: whether the score lies within the bounds.
    """

    name: str
    n: int
    score: float | None
    low: float
    high: float
    chance: float
    least: float
    most: float
    within: bool | None


def cube_cells(
    counts: Mapping[str, int], profile: Mapping[str, Any] | None
) -> list[tuple[str, list[tuple[Task, list[CubeCell | None]]]]]:
    """Return the rows of tasks of each modality, with a cell or ``None`` for each anatomy.

    Args:
        counts: ``by_voxel`` of an audit.
        profile: ``profile`` of an audit, or ``None``.
    """
    planned = {name: row["planned"] for name, row in profile["cells"].items()} if profile else None
    regions = regions_of(counts)
    tasks = cube_tasks()
    return [
        (
            modality,
            [
                (task, [_cell((anatomy, modality, task), counts, planned) for anatomy in regions])
                for task in tasks
            ],
        )
        for modality in with_shipped(Modality, (name.split(" / ")[1] for name in counts))
    ]


def regions_of(counts: Mapping[str, int]) -> list[str]:
    """Return the regions of the cells, in order: the columns of the panels."""
    return with_shipped(Anatomy, (name.split(" / ")[0] for name in counts))


def count_filled(counts: Mapping[str, int]) -> int:
    """Count the cells that have items."""
    return sum(count > 0 for count in counts.values())


def cell_anchor(cell: Name) -> str:
    """Return the HTML anchor of a cell."""
    return "-".join(cell).lower().replace(" ", "-")


def score_bands(rows: Sequence[Mapping[str, Any]]) -> list[ScoreBand]:
    """Convert the rows of a batch rule that states scores; empty for other rules."""
    return [_band(row) for row in rows if "accuracy" in row]


def _band(row: Mapping[str, Any]) -> ScoreBand:
    score, error = row["accuracy"], row["se"] or 0.0
    return ScoreBand(
        name=f"{row['task']}, {row['cue']}" if "cue" in row else row["task"],
        n=row["n"],
        score=score,
        low=max(0.0, (score or 0.0) - 2 * error),
        high=min(1.0, (score or 0.0) + 2 * error),
        chance=row["chance"],
        least=row.get("least") or 0.0,
        most=min(1.0, row["threshold"] or 0.0),
        within=row["within"],
    )


def _cell(
    name: Name, counts: Mapping[str, int], planned: Mapping[str, int] | None
) -> CubeCell | None:
    key = " / ".join(name)
    items, aim = counts.get(key, 0), planned.get(key, 0) if planned is not None else None
    if not items and not aim:
        return None
    return CubeCell(
        name=name,
        items=items,
        planned=aim,
        shade=sum(items >= step for step in STEPS),
        anchor=cell_anchor(name),
    )

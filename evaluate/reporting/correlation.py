"""Report section on correlations between cells across models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medrcube.errors import WorkspaceError
from medrcube.evaluate.reporting.markup import svg
from medrcube.evaluate.reporting.markup.colour_scales import Shade, signed_shade
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.word import in_order

__all__ = ["FEWEST_RUNS", "STEPS", "Correlation", "Square", "correlation_section"]

FEWEST_RUNS = 3
STEPS = 11
"""Number of shades, from -1 to 1."""

_CELL, _LABELS, _TOP = 13.0, 176.0, 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """One correlation in a table: its number, its colours and a description."""

    text: str
    shade: Shade | None
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlation:
    """Values of the section.

    Attributes:
        problem: why the section is empty; empty if it is not.
        regions: (region, squares) of the runs.
        published: the same of the published table.
        picture: matrix of all cells.
        models: number of runs.
        cells: number of cells that are large enough.
        items: number of questions that all runs answered.
    """

    problem: str = ""
    regions: Sequence[tuple[str, Sequence[Square]]] = ()
    published: Sequence[tuple[str, Sequence[Square]]] = ()
    picture: Markup | None = None
    models: int = 0
    cells: int = 0
    items: int = 0


def correlation_section(runs: Sequence[ScoredRun]) -> Correlation | None:
    """Return the section for at least three runs on one benchmark; otherwise ``None``."""
    if len(runs) < FEWEST_RUNS or len({run.benchmark for run in runs}) > 1:
        return None
    try:
        from medrcube.evaluate.statistics.correlations.across_models import (  # noqa: PLC0415 - needs numpy and scipy
            published_correlations,
            slice_correlations,
        )

        correlations = slice_correlations({run.label: run.results for run in runs})
        published = published_correlations()
    except ImportError as error:
        return Correlation(problem=f"This needs {error.name}, which is not installed here.")
    except WorkspaceError as error:
        return Correlation(problem=f"Not computed: {error}.")
    return Correlation(
        regions=_regions(correlations["by_region"]),
        published=_published(published),
        picture=_draw(correlations),
        models=len(correlations["models"]),
        cells=len(correlations["names"]),
        items=correlations["items"],
    )


def _regions(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Square]]]:
    rows_by_pair = {frozenset((row["first"], row["second"])): row for row in rows}
    names = in_order(Anatomy, (name for pair in rows_by_pair for name in pair))
    return [(a, [_region(a, b, rows_by_pair.get(frozenset((a, b)))) for b in names]) for a in names]


def _region(first: str, second: str, row: Mapping[str, Any] | None) -> Square:
    name = f"{first} with {second}" if first != second else f"{first} with itself"
    if row is None:
        return Square(text="", shade=None, description=f"{name}: no two cells are large enough")
    return Square(
        text=_number(row["r"]),
        shade=signed_shade(row["r"]),
        description=f"{name}: mean r {_number(row['r'])} over {row['pairs']} pairs of cells"
        f"{_interval(row['interval'])}",
    )


def _published(correlations: Mapping[str, Any]) -> list[tuple[str, list[Square]]]:
    names = [name for (name,) in correlations["names"]]
    table = []
    for i, first in enumerate(names):
        squares = []
        for j, second in enumerate(names):
            r = correlations["r"][i][j]
            description = f"{first} with {second}: "
            description += (
                "itself"
                if i == j
                else f"r {_number(r)}{_interval(correlations['interval_models'][i][j])}"
            )
            shade = None if r is None else signed_shade(r)
            squares.append(
                Square(text="" if r is None else _number(r), shade=shade, description=description)
            )
        table.append((first, squares))
    return table


def _draw(correlations: Mapping[str, Any]) -> Markup:
    """Draw the lower triangle of the matrix; cells of one region are adjacent."""
    order = sorted(
        range(len(correlations["names"])), key=lambda i: _place(correlations["names"][i])
    )
    names = [correlations["names"][i] for i in order]
    count = len(names)
    parts = []
    for row, i in enumerate(order):
        y = _TOP + row * _CELL
        parts.append(svg.text((_LABELS - 6, y + 10), _short(names[row]), "tiny", "end"))
        for column, j in enumerate(order[:row]):
            r = correlations["r"][i][j]
            step = "none" if r is None else f"s{round((r + 1) / 2 * (STEPS - 1))}"
            title = f"{_short(names[row])} with {_short(names[column])}: "
            title += "not defined" if r is None else f"r {_number(r)}"
            place = (_LABELS + column * _CELL, y)
            parts.append(svg.square(place, _CELL - 1, step, title))
    for row in range(1, count):
        if names[row][2] != names[row - 1][2]:
            y = _TOP + row * _CELL - 0.5
            parts.append(svg.line((0, y), (_LABELS + row * _CELL, y), "spoke"))
    title = f"Correlation of accuracies over models for every two of {count} cells"
    return svg.drawing(_LABELS + count * _CELL, _TOP + count * _CELL + 4, title, parts)


def _place(name: Sequence[str]) -> tuple[int, int, int]:
    task, modality, parts = name
    return (
        in_order(Anatomy, [*Anatomy, parts]).index(parts),
        in_order(Modality, [*Modality, modality]).index(modality),
        [member.value for member in Task].index(task),
    )


def _short(name: Sequence[str]) -> str:
    task, modality, parts = name
    return f"{parts} · {modality} · {Task(task).abbreviation}"


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "\u2212")


def _interval(interval: Sequence[float] | None) -> str:
    if interval is None:
        return ""
    return f" (95 % interval over models {_number(interval[0])} to {_number(interval[1])})"

"""Heat maps of the cube, and tables along one axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from medrcube.console.counts import counted
from medrcube.evaluate.outcomes import lost
from medrcube.evaluate.reporting.interval_text import (
    accuracy_text,
    accuracy_words,
    interval_text,
    is_too_few,
    lost_text,
)
from medrcube.evaluate.reporting.markup.colour_scales import Shade, shade, signed_shade
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.taxonomy import Anatomy, Modality, Task
from medrcube.vocabulary.word import with_shipped

__all__ = [
    "HeatMapCell",
    "Map",
    "Row",
    "Slices",
    "accuracy_map",
    "axis_tables",
    "contrast_map",
    "position_map",
    "signed",
    "signed_span",
]

Row = Mapping[str, Any]
Slices = list[tuple[str, list[tuple[ScoredRun, Row | None]]]]
"""Groups of one axis, each with its metrics in every run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMapCell:
    """One cell of a heat map.

    Attributes:
        text: the number shown.
        n: number of questions.
        few: whether the sample is small.
        gaps: whether many questions have no reply.
        shade: its colours; ``None`` without a number.
        description: full description in one line.
    """

    text: str
    n: int
    few: bool
    gaps: bool = False
    shade: Shade | None
    description: str


class Map(NamedTuple):
    """Heat map of the cube.

    Attributes:
        regions: columns.
        panels: for each modality its task rows, with a cell or ``None`` per region.
    """

    regions: list[str]
    panels: list[tuple[str, list[tuple[Task, list[HeatMapCell | None]]]]]


def accuracy_map(run: ScoredRun) -> Map:
    """Return the heat map of accuracies, coloured relative to chance."""
    return _arranged(run.metrics["voxels"], _accuracy)


def contrast_map(voxels: Sequence[Row], other: str) -> Map:
    """Return the heat map of the gain from the correct image, in percentage points.

    Args:
        voxels: rows of a contrast.
        other: the compared condition, in words.
    """
    return _arranged(voxels, lambda row, name: _difference(row, name, other))


def position_map(voxels: Sequence[Row]) -> Map:
    """Return the heat map of consistency over option orders."""
    return _arranged(voxels, _consistency)


def axis_tables(runs: Sequence[ScoredRun]) -> list[tuple[str, str, Slices]]:
    """Return (title, remark, groups) of each axis that has any."""
    tables = []
    for key, title, remark in _AXES:
        slices = [(run, run.metrics["slices"].get(key, {})) for run in runs]
        names = dict.fromkeys(name for _, groups in slices for name in groups)
        rows = [(name, [(run, groups.get(name)) for run, groups in slices]) for name in names]
        if rows:
            tables.append((title, remark, rows))
    return tables


def _arranged(voxels: Sequence[Row], cell: Callable[[Row, str], HeatMapCell]) -> Map:
    cells = {(v["modality"], v["task"], v["parts"]): cell(v, _name(v)) for v in voxels}
    regions = with_shipped(Anatomy, (v["parts"] for v in voxels))
    measured_tasks = {v["task"] for v in voxels}
    tasks = [task for task in Task if not task.declaration.rule or task in measured_tasks]
    panels = [
        (
            modality,
            [(task, [cells.get((modality, task, parts)) for parts in regions]) for task in tasks],
        )
        for modality in with_shipped(Modality, (v["modality"] for v in voxels))
    ]
    return Map(regions, panels)


def _accuracy(row: Row, name: str) -> HeatMapCell:
    n, gone = row["n"], lost(row)
    if gone == n:
        description = f"{name}: {counted(n, 'question')}, none with a reply"
        return HeatMapCell(text="\u2013", n=n, few=False, shade=None, description=description)
    if row["accuracy"] is None:
        description = (
            f"{name}: {row['correct']:,} of {n:,} correct, {lost_text(row)}: "
            f"{accuracy_words(row)}, chance {_percent(row['chance'])} %"
        )
        return HeatMapCell(
            text=accuracy_text(row, 0), n=n, few=False, shade=None, description=description
        )
    description = (
        f"{name}: {row['correct']:,} of {n:,} correct = {_percent(row['accuracy'])} % "
        f"({interval_text(row)}), chance {_percent(row['chance'])} %"
        f"{f'; {gone:,} without reply count as wrong' if gone else ''}"
    )
    return HeatMapCell(
        text=f"{100 * row['accuracy']:.0f}",
        n=n,
        few=is_too_few(row),
        gaps=gone > FAILURE_GATE * n,
        shade=shade(row["accuracy"], row["chance"]),
        description=description,
    )


def _difference(row: Row, name: str, other: str) -> HeatMapCell:
    if row["difference"] is None:
        description = f"{name}: no pair with two replies"
        return HeatMapCell(
            text="\u2013", n=row["n"], few=False, shade=None, description=description
        )
    interval = row["interval"]
    description = (
        f"{name}: {_percent(row['first'])} % with the image, {_percent(row['second'])} % "
        f"{other}: {signed(row['difference'])} points"
        f"{f' (95 % interval {signed_span(interval)})' if interval else ''}, "
        f"{counted(row['n'], 'question')}{'; few' if row['small'] else ''}"
    )
    return HeatMapCell(
        text=signed(row["difference"], 0),
        n=row["n"],
        few=row["small"],
        shade=signed_shade(row["difference"], 0.6),
        description=description,
    )


def _consistency(row: Row, name: str) -> HeatMapCell:
    chance = row["chance_consistency"]
    description = (
        f"{name}: the same text in every order for {_percent(row['consistency'])} % of "
        f"{counted(row['n'], 'question')}; a guesser {_percent(chance)} "
        f"%{'; few' if row['small'] else ''}"
    )
    return HeatMapCell(
        text=f"{100 * row['consistency']:.0f}",
        n=row["n"],
        few=row["small"],
        shade=shade(row["consistency"], max(chance, 0.01)),
        description=description,
    )


def signed(value: float | None, digits: int = 1) -> str:
    """Format percentage points with sign; a dash for unknown values."""
    if value is None:
        return "\u2013"
    text = f"{100 * value:+.{digits}f}"
    zero = f"{0:.{digits}f}"
    return zero if text.strip("+-") == zero else text.replace("-", "\u2212")


def signed_span(interval: Sequence[float] | None) -> str:
    """Format an interval of percentage points."""
    return "\u2013" if interval is None else f"{signed(interval[0])} to {signed(interval[1])}"


def _name(voxel: Row) -> str:
    return f"{voxel['task']}, {voxel['modality']}, {voxel['parts']}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


_PUBLISHED = "as in the published table, without View and Imaging Protocols Recognition"
_WITHIN = "items all of whose options are answers of their own source: its look does not help"
_VISIBLE = "whether a reader of the image could know the answer"
_AXES = (
    ("task", "Task", ""),
    ("level", "Tier of task", "low: what is seen; mid: where; high: what it means"),
    ("modality", "Modality", ""),
    ("parts", "Region", ""),
    ("modality_as_published", "Modality, published margins", _PUBLISHED),
    ("parts_as_published", "Region, published margins", _PUBLISHED),
    ("dataset", "Source", ""),
    ("visible", "Shown by the image", _VISIBLE),
    ("within_sources", "Within sources", _WITHIN),
)

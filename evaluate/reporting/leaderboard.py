"""Report leaderboard: the runs above the published table, never in one ranking.

The published numbers refer to the published questions. A rebuilt release fills the same cube with
different questions on different images, so its accuracies are shown alongside, not in the same
ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.console.counts import counted
from medrcube.evaluate.reporting.interval_text import accuracy_text, interval_text
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.evaluate.statistics import published_table

__all__ = ["Leaderboard", "LeaderboardEntry", "leaderboard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardEntry:
    """One cell.

    Attributes:
        value: accuracy from 0 to 1, or ``None`` if nothing was asked or the run is incomplete.
        text: the same in per cent, or the bounds of an incomplete run.
        n: number of questions of a run; ``None`` in a published row.
        small: whether the sample is small.
        interval: 95 % interval of a run, or ``None``.
        interval_text: the same in words, with units, or why there is none.
        best: whether no other published model is better.
        misprint: correction of a misprinted cell, or empty.
    """

    value: float | None
    text: str = "\u2013"
    n: int | None = None
    small: bool = False
    interval: Sequence[float] | None = None
    interval_text: str = ""
    best: bool = False
    misprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaderboard:
    """The table.

    Attributes:
        columns: (title, abbreviations with their full names) of each group of columns.
        runs: (run, its questions in words, cells).
        models: (name, cells) of the published models, best overall first, then the guesser.
        shared: questions of all runs in words, if they are the same.
        same_test: whether every run has as many questions in each column as the published table.
    """

    columns: Sequence[tuple[str, Sequence[tuple[str, str]]]]
    runs: Sequence[tuple[ScoredRun, str, Sequence[LeaderboardEntry]]]
    models: Sequence[tuple[str, Sequence[LeaderboardEntry]]]
    shared: str
    same_test: bool


def leaderboard(runs: Sequence[ScoredRun]) -> Leaderboard:
    """Return the runs and the published rows."""
    models = published_table.models()
    best = {column: max(row.printed[column] for row in models) for column in published_table.COUNTS}
    guesser = [row for row in published_table.rows() if row.model == published_table.RANDOM]
    return Leaderboard(
        columns=_COLUMNS,
        runs=[(run, _questions_text(run), _own_cells(run)) for run in runs],
        models=[
            (row.model, _printed_cells(row, best if row in models else {}))
            for row in (*models, *guesser)
        ],
        shared=_questions_text(runs[0]) if len({_questions_text(run) for run in runs}) == 1 else "",
        same_test=all(_is_published_size(run) for run in runs),
    )


def _questions_text(run: ScoredRun) -> str:
    if _is_published_size(run):
        return "as many questions in every column as published"
    count = run.metrics["options"]["global"]["n"]
    return f"{counted(count, 'question')} of benchmark {run.benchmark[:8]}"


def _own_cells(run: ScoredRun) -> list[LeaderboardEntry]:
    return [_own_cell(group) for group in _groups(run).values()]


def _own_cell(group: Mapping[str, Any] | None) -> LeaderboardEntry:
    if not group or not group["n"]:
        return LeaderboardEntry(value=None, n=0)
    return LeaderboardEntry(
        value=group["accuracy"],
        text=accuracy_text(group),
        n=group["n"],
        small=group["small"],
        interval=group["interval"],
        interval_text=interval_text(group),
    )


def _printed_cells(
    row: published_table.PublishedRow, best: Mapping[str, float]
) -> list[LeaderboardEntry]:
    return [
        LeaderboardEntry(
            value=row.printed[column] / 100,
            text=f"{row.printed[column]:.1f}",
            best=row.printed[column] == best.get(column),
            misprint=_misprint(row.model, column),
        )
        for column in published_table.COUNTS
    ]


def _misprint(model: str, column: str) -> str:
    for misprint in published_table.MISPRINTS:
        if (misprint.model, misprint.column) == (model, column):
            return f"printed {misprint.printed}; the other cells of the row give {misprint.derived}"
    return ""


def _is_published_size(run: ScoredRun) -> bool:
    groups = _groups(run)
    return all(
        group is not None and group["n"] == published_table.COUNTS[column]
        for column, group in groups.items()
    )


def _groups(run: ScoredRun) -> dict[str, Mapping[str, Any] | None]:
    """Return metrics of the run's items with options by column of the table."""
    slices, options = run.metrics["slices"], run.metrics["options"]
    tasks = options["task"]
    modalities, regions = slices["modality_as_published"], slices["parts_as_published"]
    groups: dict[str, Mapping[str, Any] | None] = {"overall": options["global"]}
    groups |= {name: tasks.get(task.value) for name, task in published_table.TASKS.items()}
    groups |= {
        name: modalities.get(member.value) for name, member in published_table.MODALITIES.items()
    }
    groups |= {name: regions.get(member.value) for name, member in published_table.REGIONS.items()}
    return {column: groups[column] for column in published_table.COUNTS}


def _names(members: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(members[name])) for name in published_table.COUNTS if name in members]


_COLUMNS = (
    ("", [("overall", "all questions")]),
    ("Task", _names(published_table.TASKS)),
    ("Modality", _names(published_table.MODALITIES)),
    ("Region", _names(published_table.REGIONS)),
)

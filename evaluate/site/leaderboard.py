"""Leaderboard rows, and their numbers by axis for the slice filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.console.counts import counted
from medrcube.evaluate.reporting.comparable_blocks import differing_settings, ranking_blocks
from medrcube.evaluate.reporting.heat_maps import axis_tables
from medrcube.evaluate.reporting.scored_runs import ScoredRun

__all__ = [
    "LeaderboardRow",
    "Row",
    "SliceTable",
    "leaderboard_rows",
    "population_text",
    "rows_by_block",
    "slice_table",
]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One model on the leaderboard.

    Attributes:
        run: its run.
        page: path of its page, relative to the site.
        block: why it is below the ranking; empty if it is ranked.
        letters: compact letters; models that share one are not distinguishable.
        shortcut: shortcut probability of its question pairs, or ``None``.
        gain: accuracy gain from the image, or ``None``.
        remarks: caveats on the accuracy, in a word or two each.
        differing_settings: of these, settings that differ from those of most runs.
    """

    run: ScoredRun
    page: str
    block: str
    letters: str
    shortcut: float | None
    gain: float | None
    remarks: Sequence[str]
    differing_settings: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceTable:
    """Accuracies of every model in every group of every axis.

    Attributes:
        names: (title of the axis, names of its groups).
        rows: for each model, in the order of the leaderboard, its groups in the order of
            ``names``: accuracy, both bounds of its interval, n, chance; ``None`` for a group
            without questions.
    """

    names: Sequence[tuple[str, Sequence[str]]]
    rows: Sequence[Sequence[Sequence[float | None] | None]]


def leaderboard_rows(runs: Sequence[ScoredRun], pages: Mapping[str, str]) -> list[LeaderboardRow]:
    """Return the leaderboard rows, best first.

    Only runs with the same questions are ranked together: first those with the most questions, then
    one block per other selection, sample or prompt, and last the incomplete runs.
    """
    how = differing_settings(runs)
    entries = []
    for block in ranking_blocks(runs):
        letters = block.letters()
        entries += [_entry(run, pages, block.title, letters, how[run.label]) for run in block.runs]
    return entries


def rows_by_block(entries: Sequence[LeaderboardRow]) -> list[tuple[str, list[LeaderboardRow]]]:
    """Return (reason, rows) of the blocks below the ranking."""
    blocks: dict[str, list[LeaderboardRow]] = {}
    for entry in entries:
        if entry.block:
            blocks.setdefault(entry.block, []).append(entry)
    return list(blocks.items())


def population_text(entries: Sequence[LeaderboardRow]) -> str:
    """Return the numbers of models and of groups of reviewers, in words."""
    people = sum(entry.run.reviewers is not None for entry in entries)
    models = counted(len(entries) - people, "model")
    return f"{models} and {counted(people, 'group')} of reviewers" if people else models


def _entry(
    run: ScoredRun,
    pages: Mapping[str, str],
    block: str,
    letters: Mapping[str, str],
    how: Sequence[str],
) -> LeaderboardRow:
    return LeaderboardRow(
        run=run,
        page=f"models/{pages[run.label]}",
        block=block,
        letters=letters.get(run.label, ""),
        shortcut=_shortcut(run),
        gain=_gain(run),
        remarks=[*how, *_remarks(run)],
        differing_settings=how,
    )


def slice_table(runs: Sequence[ScoredRun]) -> SliceTable:
    """Return the metrics of every slice, for runs in leaderboard order."""
    tables = axis_tables(runs)
    return SliceTable(
        names=[(title, [name for name, _ in groups]) for title, _, groups in tables],
        rows=[
            [_numbers(groups[place][1]) for _, _, table in tables for _, groups in table]
            for place in range(len(runs))
        ],
    )


def _numbers(group: Row | None) -> list[float | None] | None:
    if group is None or not group["n"]:
        return None
    low, high = group["interval"] or (None, None)
    return [
        _short(group["accuracy"]),
        _short(low),
        _short(high),
        group["n"],
        _short(group["chance"]),
    ]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _shortcut(run: ScoredRun) -> float | None:
    pairs = run.metrics.get("credibility", {}).get("view_counted", {}).get("by_pair", {})
    value: float | None = pairs.get("shortcut_probability", {}).get("value")
    return value


def _gain(run: ScoredRun) -> float | None:
    contrasts = run.metrics.get("contrasts") or {}
    gain: float | None = contrasts.get("image_gain", {}).get("global", {}).get("difference")
    return gain


def _remarks(run: ScoredRun) -> list[str]:
    question_count, whole = run.total["n"], run.manifest["dataset"]["items"] - len(run.withdrawn)
    reviewers = run.reviewers["reviewers"] if run.reviewers else 0
    conditions = {
        f"{reviewers:,} people": run.reviewers is not None,
        f"incomplete: {run.replied:,} of {question_count:,} have a reply": run.incomplete,
        "unfinished": run.unfinished,
        f"{counted(run.cut, 'reply')} cut": run.cut > 0,
        f"sample of {whole:,}": question_count < whole,
    }
    return [remark for remark, holds in conditions.items() if holds]

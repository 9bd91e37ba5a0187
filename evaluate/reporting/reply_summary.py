"""Report table of the replies and their tokens; cost and time are in ``usage_table``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.reporting.scored_runs import ScoredRun

__all__ = ["ReplyTable", "Row", "reply_table"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTable:
    """Table of the columns for which some run has a number.

    Attributes:
        columns: their titles.
        rows: (run, cells).
    """

    columns: Sequence[str]
    rows: Sequence[tuple[ScoredRun, Sequence[str]]]


def reply_table(runs: Sequence[ScoredRun]) -> ReplyTable:
    """Return the table of the replies of all runs."""
    summaries = [run.metrics["replies"] for run in runs]
    columns = [
        (title, value)
        for title, value in _COLUMNS
        if any(value(summary) is not None for summary in summaries)
    ]
    return ReplyTable(
        columns=[title for title, _ in columns],
        rows=[
            (run, [_cell(value(summary)) for _, value in columns])
            for run, summary in zip(runs, summaries, strict=True)
        ],
    )


def _cell(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:,.0f}"


def _tokens(name: str) -> Callable[[Row], int | None]:
    def value(summary: Row) -> int | None:
        tokens: int | None = summary["usage"].get(name)
        return tokens

    return value


def _tokens_a_reply(summary: Row) -> float | None:
    total = _tokens("total_tokens")(summary)
    return total / summary["n"] if total is not None and summary["n"] else None


_COLUMNS: tuple[tuple[str, Callable[[Row], float | None]], ...] = (
    ("replies", lambda summary: summary["n"]),
    ("tokens in", _tokens("prompt_tokens")),
    ("tokens out", _tokens("completion_tokens")),
    ("tokens a reply", _tokens_a_reply),
)

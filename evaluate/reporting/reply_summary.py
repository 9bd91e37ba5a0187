"""The replies that count and their tokens; what else it took to get them is in ``usage_table``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.reporting.scored_runs import Run

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTable:
    """A table whose columns are those for which some run has a number.

    Attributes:
        columns: their titles.
        rows: (run, cells).
    """

    columns: Sequence[str]
    rows: Sequence[tuple[Run, Sequence[str]]]


def reply_table(runs: Sequence[Run]) -> ReplyTable:
    """The replies of all runs side by side."""
    found = [run.metrics["replies"] for run in runs]
    kept = [
        (title, value) for title, value in _COLUMNS if any(value(one) is not None for one in found)
    ]
    return ReplyTable(
        columns=[title for title, _ in kept],
        rows=[
            (run, [_cell(value(one)) for _, value in kept])
            for run, one in zip(runs, found, strict=True)
        ],
    )


def _cell(value: float | None) -> str:
    return "\u2013" if value is None else f"{value:,.0f}"


def _tokens(name: str) -> Callable[[Row], int | None]:
    def value(one: Row) -> int | None:
        found: int | None = one["usage"].get(name)
        return found

    return value


def _tokens_a_reply(one: Row) -> float | None:
    total = _tokens("total_tokens")(one)
    return total / one["n"] if total is not None and one["n"] else None


_COLUMNS: tuple[tuple[str, Callable[[Row], float | None]], ...] = (
    ("replies", lambda one: one["n"]),
    ("tokens in", _tokens("prompt_tokens")),
    ("tokens out", _tokens("completion_tokens")),
    ("tokens a reply", _tokens_a_reply),
)

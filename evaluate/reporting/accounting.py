"""What a run cost: tries, replies, tokens, money where it is known, and time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from medrcube.evaluate.reporting.runs import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """A table whose columns are those for which some run has a number.

    Attributes:
        columns: their titles.
        rows: (run, cells, failed tries by reason).
    """

    columns: Sequence[str]
    rows: Sequence[tuple[Run, Sequence[str], Sequence[tuple[str, int]]]]


def requests(runs: Sequence[Run]) -> Requests:
    """The accounting of all runs side by side."""
    found = [{**run.metrics.get("requests", {}), **_sessions(run)} for run in runs]
    kept = [
        (title, value, show)
        for title, value, show in _COLUMNS
        if any(value(one) is not None for one in found)
    ]
    return Requests(
        columns=[title for title, _, _ in kept],
        rows=[
            (
                run,
                [_cell(value(one), show) for _, value, show in kept],
                sorted(one.get("errors", {}).items()),
            )
            for run, one in zip(runs, found, strict=True)
        ],
    )


def _sessions(run: Run) -> dict[str, float | None]:
    """Seconds of all sessions together, and what they cost."""
    sessions = run.manifest.get("sessions") or []
    seconds = sum(
        (
            datetime.fromisoformat(one["ended"]) - datetime.fromisoformat(one["started"])
        ).total_seconds()
        for one in sessions
    )
    return {
        "minutes": seconds / 60 if sessions else None,
        "cost": sessions[-1].get("cost") if sessions else None,
    }


def _cell(value: float | None, show: str) -> str:
    return "\u2013" if value is None else format(value, show)


def _named(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    def value(one: Mapping[str, Any]) -> float | None:
        found = one.get(name)
        return found if isinstance(found, int | float) else None

    return value


def _tokens(name: str) -> Callable[[Mapping[str, Any]], float | None]:
    def value(one: Mapping[str, Any]) -> float | None:
        found = one.get("usage", {}).get(name)
        return found if isinstance(found, int | float) else None

    return value


def _tokens_a_reply(one: Mapping[str, Any]) -> float | None:
    total, replies = _tokens("total_tokens")(one), one.get("replies")
    return total / replies if total is not None and replies else None


_COLUMNS: tuple[tuple[str, Callable[[Mapping[str, Any]], float | None], str], ...] = (
    ("tries", _named("tries"), ",d"),
    ("replies", _named("replies"), ",d"),
    ("tokens in", _tokens("prompt_tokens"), ",d"),
    ("tokens out", _tokens("completion_tokens"), ",d"),
    ("tokens a reply", _tokens_a_reply, ",.0f"),
    ("US dollars", _named("cost"), ",.2f"),
    ("median s", _named("median_latency"), ",.2f"),
    ("95 % within s", _named("p95_latency"), ",.2f"),
    ("all minutes", _named("minutes"), ",.1f"),
)

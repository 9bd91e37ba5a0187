"""Attempts, tokens, cost and time of a run, including failed attempts.

None of this is in a report: a killed and resumed run has different attempts and times from an
uninterrupted one, but the same report, byte for byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.run_folder import attempts_path, read_manifest

__all__ = ["Record", "RunUsage", "run_usage", "usage_table"]

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """Usage of all sessions of a run.

    Attributes:
        model: name of the model.
        run: name of the run folder.
        started: start of the first session.
        ended: end of the last one; ``None`` for an unfinished run.
        sessions: number of sessions, including killed ones.
        minutes: total duration; a killed session ends with its last attempt.
        tries: number of attempts, including retries.
        failed: attempts without a reply, by reason.
        usage: tokens of all attempts, if the server reports them.
        cost: US dollars; ``None`` without prices.
        median_latency: median seconds of a complete reply; ``None`` without one.
        p95_latency: 95th percentile of the same.
    """

    model: str
    run: str
    started: str
    ended: str | None
    sessions: int
    minutes: float
    tries: int
    failed: Mapping[str, int]
    usage: Mapping[str, int]
    cost: float | None
    median_latency: float | None
    p95_latency: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        return asdict(self)


def run_usage(run: Path) -> RunUsage:
    """Return the usage of a run.

    Raises:
        WorkspaceError: the folder is not a run.
    """
    manifest = read_manifest(run)
    attempts = list(read_attempts(attempts_path(run)))
    latencies = sorted(record["latency"] for record in attempts if record["status"] == "reply")
    failed = Counter(record["code"] for record in attempts if record["status"] != "reply")
    usage: Counter[str] = Counter()
    for record in attempts:
        usage.update(record.get("usage", {}))
    sessions = manifest.get("sessions") or []
    return RunUsage(
        model=str(manifest["model"]["name"]),
        run=run.resolve().name,
        started=manifest["started"],
        ended=manifest["ended"],
        sessions=len(sessions),
        minutes=sum(_lengths(sessions, attempts)) / 60,
        tries=len(attempts),
        failed=dict(sorted(failed.items())),
        usage=dict(sorted(usage.items())),
        cost=next((s["cost"] for s in reversed(sessions) if s.get("cost") is not None), None),
        median_latency=latencies[len(latencies) // 2] if latencies else None,
        p95_latency=latencies[int(0.95 * (len(latencies) - 1))] if latencies else None,
    )


def usage_table(efforts: Sequence[RunUsage]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return titles and rows of a table; columns without any value are left out."""
    cells = [[_number_text(value(usage), form) for _, value, form in _COLUMNS] for usage in efforts]
    columns = [n for n in range(len(_COLUMNS)) if any(row[n] != _UNKNOWN for row in cells)]
    titles = tuple(_COLUMNS[n][0] for n in columns)
    rows = [
        (usage.run, *(row[n] for n in columns), _reasons(usage.failed))
        for usage, row in zip(efforts, cells, strict=True)
    ]
    return ("run", *titles, "failed tries"), rows


def _lengths(sessions: Sequence[Record], attempts: Sequence[Record]) -> Iterator[float]:
    """Yield the seconds of each session; a killed one lasted until its last attempt."""
    ends = [(datetime.fromisoformat(a["at"]), a.get("latency", 0.0)) for a in attempts]
    starts = [datetime.fromisoformat(session["started"]) for session in sessions]
    nexts: list[datetime | None] = [*starts, None]
    for session, began, following in zip(sessions, starts, nexts[1:], strict=True):
        if session["ended"]:
            yield (datetime.fromisoformat(session["ended"]) - began).total_seconds()
            continue
        own = [(at, s) for at, s in ends if began <= at and (following is None or at < following)]
        yield max(((at - began).total_seconds() + seconds for at, seconds in own), default=0.0)


def _number_text(number: float | None, form: str) -> str:
    return _UNKNOWN if number is None else format(number, form)


def _reasons(failed: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} x {code}" for code, number in failed.items()) or "none"


_UNKNOWN = "\u2013"
_COLUMNS: tuple[tuple[str, Callable[[RunUsage], float | None], str], ...] = (
    ("tries", lambda usage: usage.tries, ",d"),
    ("tokens in", lambda usage: usage.usage.get("prompt_tokens"), ",d"),
    ("tokens out", lambda usage: usage.usage.get("completion_tokens"), ",d"),
    ("US $", lambda usage: usage.cost, ",.2f"),
    ("median s", lambda usage: usage.median_latency, ",.2f"),
    ("minutes", lambda usage: usage.minutes, ",.1f"),
)

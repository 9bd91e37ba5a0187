"""Report section on parsing: rules that matched, the published rule, and a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.reporting.scored_runs import ScoredRun

__all__ = ["ParsingSummary", "Row", "parsing_summary"]

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsingSummary:
    """Values of the section.

    Attributes:
        published: (run, metrics by the published rule) of complete runs.
        rules: names of the rules, most frequent first.
        counts: (run, count of each rule).
        judged: (run, accuracy by the rules alone, summary of the judge) if one was used.
    """

    published: Sequence[tuple[ScoredRun, Row]]
    rules: Sequence[str]
    counts: Sequence[tuple[ScoredRun, Sequence[int]]]
    judged: Sequence[tuple[ScoredRun, Row, Row]]


def parsing_summary(runs: Sequence[ScoredRun]) -> ParsingSummary:
    """Return the section on the parsing of all runs."""
    fired = [(run, run.metrics.get("rules", {})) for run in runs]
    names = {name for _, counts in fired for name in counts}
    ranked = sorted(
        names, key=lambda name: (-sum(counts.get(name, 0) for _, counts in fired), name)
    )
    return ParsingSummary(
        published=[
            (run, published)
            for run in runs
            if not run.incomplete and (published := run.metrics.get("upstream"))
        ],
        rules=ranked,
        counts=[(run, [counts.get(name, 0) for name in ranked]) for run, counts in fired],
        judged=[
            (run, run.metrics["strict"], judge)
            for run in runs
            if (judge := run.metrics.get("judge") or {}).get("used")
        ],
    )

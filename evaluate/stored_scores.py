"""Scores of a run, read back from its folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import held_once
from medrcube.evaluate.collection_pause import collection_paused
from medrcube.evaluate.outcomes import AnswerOutcome, Result
from medrcube.evaluate.runner.json_lines import parse_line
from medrcube.evaluate.runner.run_folder import (
    ITEMS,
    METRICS,
    OUTCOMES,
    AskedQuestion,
    each_json_line,
    read_asked,
)
from medrcube.evaluate.statistics.metrics import METRICS_VERSION
from medrcube.evaluate.withdrawn_items import withdrawn_of
from medrcube.files.atomic import sha256_of

__all__ = ["read_metrics", "read_outcomes", "read_results", "withdrawn_items"]

_OUTCOMES = {outcome.value.encode(): outcome for outcome in AnswerOutcome}
_PLAIN_OUTCOME = re.compile(
    rb'\{"item": "[^"\\]*", "condition": "[a-z-]*", "turn": \d+, "epoch": \d+, '
    rb'(?:"chain": "[^"\\]*", "step": \d+, )?"outcome": "(%s)", ' % b"|".join(_OUTCOMES)
)
"""Start of a line as ``score_files`` writes it, up to the outcome."""


@collection_paused()
def read_results(run: Path) -> list[Result]:
    """Return the results that ``score`` wrote: one per presentation, in the order of asking.

    Raises:
        WorkspaceError: the run was never scored, or its questions have changed since.
    """
    path = run / OUTCOMES
    try:
        path.stat()
        return [
            Result(
                question=question,
                outcome=AnswerOutcome(row["outcome"]),
                answer=held_once(row["answer"]),
                rule=held_once(row["rule"]),
                reply=row["reply"],
                cut=row.get("cut", False),
            )
            for question, row in zip(read_asked(run), each_json_line(path), strict=True)
            if _same_name(question, row)
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{run}: has no scores; run  medrcube score {run}") from error


def read_outcomes(run: Path) -> Iterator[AnswerOutcome]:
    """Yield just the outcomes that ``score`` wrote: one per presentation, in the order of asking.

    Raises:
        WorkspaceError: the run was never scored.
    """
    try:
        with (run / OUTCOMES).open("rb") as file:
            for line in file:
                plain = _PLAIN_OUTCOME.match(line) if line.endswith(b"}\n") else None
                if plain is not None:
                    yield _OUTCOMES[plain[1]]
                elif line.strip():
                    yield AnswerOutcome(parse_line(line)["outcome"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{run}: has no scores; run  medrcube score {run}") from error


def read_metrics(run: Path) -> dict[str, Any]:
    """Return the content of ``metrics.json``.

    Raises:
        WorkspaceError: the run was never scored, or its files come from different scorings.
    """
    try:
        metrics: dict[str, Any] = json.loads((run / METRICS).read_text(encoding="utf-8"))
        outcomes = sha256_of(run / OUTCOMES)
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{run}: has no scores; run  medrcube score {run}") from error
    if (metrics.get("version"), metrics.get("outcomes_sha256")) != (METRICS_VERSION, outcomes):
        raise WorkspaceError(
            f"{run}: {METRICS} and {OUTCOMES} are of different scorings or of another version; "
            f"run  medrcube score {run}"
        )
    return metrics


def withdrawn_items(run: Path) -> list[str]:
    """Return the names of the withdrawn items of a run.

    Raises:
        WorkspaceError: the lists of the run cannot be read.
    """
    withdrawn = withdrawn_of(run)
    if not withdrawn:
        return []
    try:
        rows = each_json_line(run / ITEMS)
        return [name for row in rows if (name := f"{row['dataset']}/{row['id']}") in withdrawn]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(f"{run / ITEMS}: cannot be read: {error!r}") from error


def _same_name(question: AskedQuestion, row: Mapping[str, Any]) -> bool:
    if question.item.name != row["item"]:
        raise ValueError(f"outcome of {row['item']} where {question.item.name} was asked")
    return True

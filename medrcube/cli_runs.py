"""Runs that a command was given, each once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medrcube.console import Reporter

__all__ = ["each_once"]


def each_once(runs: Sequence[Path], reporter: Reporter) -> list[Path]:
    """The folders without those that were given before and without copies, which are named."""
    from medrcube.evaluate.reporting.runs import same_runs

    found = same_runs(runs)
    kept = [run for run, same in found if same is None]
    for run in kept:
        again = [other for other, same in found if same == run]
        times = sum(other.resolve() == run.resolve() for other in again)
        if times:
            reporter.note(f"{run}: was given {times + 1} times and is taken once")
        for other in again:
            if other.resolve() != run.resolve():
                reporter.note(f"{other}: is a copy of {run}, and the run is taken once")
    return kept

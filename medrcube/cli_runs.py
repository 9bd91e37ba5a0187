"""Runs that a command was given, each once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from medrcube.console import Reporter

__all__ = ["each_once"]


def each_once(runs: Sequence[Path], reporter: Reporter) -> list[Path]:
    """The folders without those that were given before, which are named."""
    from medrcube.evaluate.reporting.runs import distinct_folders

    kept = distinct_folders(runs)
    for again in kept:
        times = sum(run.resolve() == again.resolve() for run in runs)
        if times > 1:
            reporter.note(f"{again}: was given {times} times and is taken once")
    return kept

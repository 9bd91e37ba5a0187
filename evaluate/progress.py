"""The progress of a run on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from medrcube.console import Advance, Reporter
from medrcube.evaluate.runner import OnProgress, Progress


@contextmanager
def watch(reporter: Reporter) -> Iterator[OnProgress]:
    """A callback for ``run_evaluation`` that moves one line; new trouble is told once."""
    with ExitStack() as stack:
        advance: Advance | None = None
        last: Progress | None = None

        def show(progress: Progress) -> None:
            nonlocal advance, last
            if advance is None:
                left = progress.total - progress.reused
                reporter.note(f"{progress.reused:,} reused, {left:,} to run")
                advance = stack.enter_context(reporter.stage("evaluate", left))
            advance(progress.done - (last.done if last else 0))
            if progress.note and progress.note != (last.note if last else ""):
                reporter.note(progress.note)
            last = progress

        yield show

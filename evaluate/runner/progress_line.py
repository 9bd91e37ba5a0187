"""Progress of a run on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from medrcube.console.progress import Advance, Reporter
from medrcube.evaluate.runner.run_state import OnProgress, RunProgress

__all__ = ["progress_text", "report_progress"]


@contextmanager
def report_progress(reporter: Reporter, *, timed: bool = True) -> Iterator[OnProgress]:
    """Yield a callback for ``run_evaluation`` that updates a progress line and shows notes once.

    Args:
        reporter: shows the progress.
        timed: whether the rate predicts the remaining time; not for batches.
    """
    with ExitStack() as stack:
        advance: Advance | None = None
        last: RunProgress | None = None

        def show(progress: RunProgress) -> None:
            nonlocal advance, last
            previous, last = last, progress
            if advance is None or previous is None:
                remaining = progress.total - progress.reused
                reporter.note(f"{progress.reused:,} reused, {remaining:,} to run")
                advance = stack.enter_context(
                    reporter.stage(
                        "evaluate",
                        remaining,
                        lambda: progress_text(last),
                        timed=timed,
                    )
                )
                return
            advance(progress.done_count - previous.done_count)
            if progress.note and progress.note != previous.note:
                reporter.note(progress.note)

        yield show


def progress_text(progress: RunProgress) -> str:
    """Describe rate, failures, open questions and cost, in a few words."""
    words = [progress.waiting or f"{progress.running} of {progress.limit} under way"]
    if progress.rate is not None and not progress.waiting:
        words.insert(0, f"{progress.rate:.1f} a second")
    if progress.failed:
        words.append(f"{progress.failed:,} failed")
    if progress.retries:
        words.append(f"{progress.retries:,} retried")
    if progress.cost is not None:
        words.append(f"{progress.cost:.2f} US dollars")
    return ", ".join(words)

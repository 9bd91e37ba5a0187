"""How a run ended, in words."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medrcube.console.counts import counted, dollars
from medrcube.errors import WorkspaceError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.runner.run_state import RunSummary

__all__ = ["LEFT_OUT", "tell", "tell_so_far"]

LEFT_OUT = {
    "may-not-be-sent": "whose images are under a data use agreement; if it lets you send them, "
    "add --i-may-send SOURCE",
    "not-there": "whose image is missing",
    "withdrawn": "withdrawn by the errata of the release",
}


def tell(
    summary: RunSummary, reporter: Reporter, directory: Path, limit_of_reply: float | None
) -> None:
    """Print how a run ended, and what to do if it is incomplete."""
    from medrcube.evaluate.runner.question_states import QuestionStates

    shared = f"{summary.shared:,} duplicates of another, " if summary.shared else ""
    unreached = f"{summary.unreached:,} not reached, " if summary.unreached else ""
    reporter.result(
        f"{counted(summary.asked, 'question')}: {summary.reused:,} reused, {summary.answered:,} "
        f"answered, {shared}{unreached}{summary.failed:,} failed, {summary.missing:,} without an "
        f"image, in {summary.seconds:.1f} s: {summary.out}"
    )
    reporter.result(f"all sessions: {QuestionStates(summary.ends)}")
    for why, count in summary.left_out.items():
        reporter.result(f"left out: {counted(count, 'item')}, {LEFT_OUT[why]}")
    if summary.cost is not None:
        reporter.result(f"cost so far: {dollars(summary.cost)} US dollars")
    if summary.stopped:
        reporter.result(f"INCOMPLETE {summary.stopped}, {counted(summary.left, 'question')} left")
    elif summary.exit_code:
        reporter.result("INCOMPLETE too many questions have no reply or one that was cut off")
    if summary.again:
        longer = f" --max-tokens {4 * int(limit_of_reply or 4096)}" if summary.cut else ""
        reporter.result(
            f"to ask only those again: the same command with --again {summary.again}{longer}"
        )
    if summary.exit_code and not summary.stopped and summary.missing:
        reporter.result("to ask only items with an image, in a separate run: --present-only")
        reporter.result(
            f"images that were left out:  medrcube reconstruct {directory}  rebuilds them from "
            f"your own copy; then run the same command again"
        )


def tell_so_far(run: Path, reporter: Reporter) -> dict[str, Any]:
    """Print the state of the questions of an interrupted run; return the same as JSON.

    Nothing is written; nothing is printed for a run that has not started.
    """
    from medrcube.evaluate.runner.question_states import states_of
    from medrcube.evaluate.scoring import read_by_rules

    with suppress(WorkspaceError):  # the run has not started
        results = read_by_rules(run)
        standing = states_of(results)
        reporter.result(f"{counted(len(results), 'question')}: {standing}: {run}")
        return {"ends": standing.ends}
    return {}

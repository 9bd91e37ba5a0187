"""``medrcube review status``."""

from __future__ import annotations

from pathlib import Path

from medrcube.cli.options.shared import Here, Json, Wide
from medrcube.cli.review.queue import NO_REVIEWERS, open_queue
from medrcube.console.counts import counted

__all__ = ["status"]


def status(directory: Here = Path(), wide: Wide = False, json_output: Json = False) -> None:
    """Show progress by state, cell and reviewer."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.server.serve import queue_status

    reporter = Reporter(json_output=json_output, wide=wide)
    standing_now = queue_status()
    reporter.table(
        ("state", "items"),
        list(standing_now["states"].items()),
        empty="no items in the queue; import some with  medrcube review import",
    )
    names = list(standing_now["states"])
    if names:
        reporter.table(
            ("anatomy", "modality", "task", *names),
            [
                (
                    row["anatomy"],
                    row["modality"],
                    row["task"],
                    *(row["states"].get(name, 0) for name in names),
                )
                for row in standing_now["voxels"]
            ],
        )
    reporter.table(
        ("reviewer", "reviews", "median seconds"),
        [
            (row["reviewer"], row["reviews"], row["median_seconds"] or "")
            for row in standing_now["reviewers"]
        ],
        empty=NO_REVIEWERS,
    )
    reporter.result(f"{counted(standing_now['in_hand'], 'item')} under review now")
    reporter.result(
        f"head of the trail: {standing_now['head']['number']}:{standing_now['head']['sha256']}"
    )
    reporter.data(standing_now)

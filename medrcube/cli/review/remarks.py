"""``medrcube review remarks``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Directory, Json, Wide
from medrcube.cli.review.queue import open_queue
from medrcube.console.counts import counted

__all__ = ["remarks"]


_LIST_LIMIT = 10
"""Unknown items shown without ``-v``."""


def remarks(
    directory: Directory,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Table with the columns item (or id) and text: .jsonl, .csv, .tsv, .json, .xlsx.",
        ),
    ],
    origin: Annotated[
        str, typer.Option(metavar="TEXT", help="Where the remarks were collected; never a person.")
    ] = "outside",
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Import remarks from outside the team.

    Reviewers see them after their blind answer. The exit status is 1 if a row was refused or names
    an item that is not in the queue.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.exchange.remarks import import_remarks

    report = import_remarks(file, origin=origin)
    reporter = Reporter(json_output=json_output, wide=wide)
    for row in report.refused:
        reporter.result(f"REFUSED {row.place}: {row.reason}")
    for name in report.unknown[: reporter.limit(_LIST_LIMIT)]:
        reporter.result(f"UNKNOWN {name}: not in the queue")
    if more := len(report.unknown) - len(report.unknown[: reporter.limit(_LIST_LIMIT)]):
        reporter.result(f"UNKNOWN {more:,} more; medrcube -v shows all")
    if report.items:
        reporter.table(("item", "state"), list(report.items.items()))
    reporter.result(
        f"{counted(report.added, 'remark')} on {counted(len(report.items), 'item')} imported, "
        f"{report.already_imported:,} already imported, {len(report.refused):,} refused, "
        f"{counted(len(report.unknown), 'unknown item')}"
    )
    reporter.data(asdict(report))
    raise typer.Exit(1 if report.refused or report.unknown else 0)

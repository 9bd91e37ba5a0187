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


_SHOWN = 10
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

    taken = import_remarks(file, origin=origin)
    reporter = Reporter(json_output=json_output, wide=wide)
    for row in taken.refused:
        reporter.result(f"REFUSED {row.place}: {row.reason}")
    for name in taken.unknown[: reporter.limit(_SHOWN)]:
        reporter.result(f"UNKNOWN {name}: not in the queue")
    if more := len(taken.unknown) - len(taken.unknown[: reporter.limit(_SHOWN)]):
        reporter.result(f"UNKNOWN {more:,} more; medrcube -v shows all")
    if taken.items:
        reporter.table(("item", "state"), list(taken.items.items()))
    reporter.result(
        f"{counted(taken.added, 'remark')} on {counted(len(taken.items), 'item')} imported, "
        f"{taken.already_imported:,} already imported, {len(taken.refused):,} refused, "
        f"{counted(len(taken.unknown), 'unknown item')}"
    )
    reporter.data(asdict(taken))
    raise typer.Exit(1 if taken.refused or taken.unknown else 0)

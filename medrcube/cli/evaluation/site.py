"""``medrcube site``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.runs import each_once
from medrcube.cli.options.shared import Json
from medrcube.console.counts import counted, in_bytes

__all__ = ["site"]


def site(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Scored runs.")],
    release: Annotated[
        Path, typer.Option(metavar="RELEASE", help="Release the runs were evaluated on.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder to write.")],
    json_output: Json = False,
) -> None:
    """Write a leaderboard as a static site.

    Has a page for every model, cell and item, with every reply. Needs no server, loads nothing from
    other hosts, and contains no restricted images.
    """
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.evaluate.site.write import write_site

    reporter = Reporter(json_output=json_output)
    pages = write_site(each_once(runs, reporter), release, out, reporter)
    people = f", {counted(pages.people, 'group')} of reviewers" if pages.people else ""
    reporter.result(
        f"wrote {pages.index}: {counted(pages.models, 'model')}{people}, "
        f"{counted(pages.items, 'item')}, "
        f"{counted(pages.cells, 'cell')}; {counted(pages.files, 'file')}, {in_bytes(pages.bytes)}"
    )
    reporter.result(
        f"replies longer than {pages.reply_limit:,} characters are truncated on the pages"
    )
    reporter.data({**asdict(pages), "index": str(pages.index)})

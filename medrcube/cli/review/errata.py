"""``medrcube review errata``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from medrcube.cli.options.shared import Directory, Json, ReleaseDir, Wide
from medrcube.cli.review.queue import open_queue
from medrcube.console.counts import counted

__all__ = ["write_errata"]


def write_errata(
    directory: Directory,
    release: ReleaseDir,
    notes: Annotated[
        bool,
        typer.Option("--notes", help="Use managers' notes as reasons; read them first."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the rows without writing them.")
    ] = False,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Add queue withdrawals to a release's errata.

    Includes items quarantined or rejected since the release was made.
    """
    from medrcube.cli.options.releases import read_release
    from medrcube.console.progress import Reporter
    from medrcube.release_format.errata import FILE, add_errata

    open_queue(directory)
    from medrcube.review.exchange.errata import errata_of

    benchmark = read_release(release)
    rows = errata_of(benchmark, notes=notes)
    reporter = Reporter(json_output=json_output, wide=wide)
    if rows:
        reporter.table(
            ("item", "by", "on", "why"), [(row.name, row.by, row.on, row.why) for row in rows]
        )
    if not dry_run:
        add_errata(release, rows, {item.name for item in benchmark.items})
    verb = "would be withdrawn" if dry_run else "withdrawn"
    reporter.result(f"{counted(len(rows), 'item')} {verb}: {release / FILE}")
    reporter.data({"added": [asdict(row) for row in rows], "written": not dry_run})

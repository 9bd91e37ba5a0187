"""The commands of a leaderboard: the site, and the check of a run that is handed in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.evaluation.run_arguments import each_once
from medrcube.cli.options.shared import Json
from medrcube.console.counts import counted, in_bytes

_SHOWN = 12


def site(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of scored runs.")],
    release: Annotated[Path, typer.Option(help="Release that they were asked.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the site.")],
    json_output: Json = False,
) -> None:
    """Write a static site: leaderboard, models, cells, and every item with every reply.

    It needs no server and loads nothing from outside; restricted pictures are not in it.
    """
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.evaluate.site.write import write_site

    reporter = Reporter(json_output=json_output)
    made = write_site(each_once(runs, reporter), release, out, reporter)
    people = f", {counted(made.people, 'group')} of reviewers" if made.people else ""
    reporter.result(
        f"wrote {made.index}: {counted(made.models, 'model')}{people}, "
        f"{counted(made.items, 'item')}, "
        f"{counted(made.cells, 'cell')}; {counted(made.files, 'file')}, {in_bytes(made.bytes)}"
    )
    reporter.result(f"replies of more than {made.reply_limit:,} characters are cut on the pages")
    reporter.data({**asdict(made), "index": str(made.index)})


def validate_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a scored run.")],
    release: Annotated[Path, typer.Option(help="Release that it was asked.")],
    seal: Annotated[
        bool, typer.Option("--seal", help="Write digests.json once nothing is wrong.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Check a run that is handed in: its files, its items, its digests, and its scores anew."""
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.evaluate.site.run_digests import write_digests
    from medrcube.evaluate.site.run_validation import check_run

    reporter = Reporter(json_output=json_output)
    found = check_run(run, release, sealing=seal)
    for problem in found.problems[:_SHOWN]:
        reporter.result(f"ERROR {problem}")
    if len(found.problems) > _SHOWN:
        reporter.result(f"and {len(found.problems) - _SHOWN} more: --json names all")
    for note in found.notes:
        reporter.result(f"note: {note}")
    if found.problems:
        reporter.result(f"NOT VALID: {len(found.problems)} problem(s)")
    else:
        reporter.result(f"VALID: {found.summary}")
        if seal:
            reporter.result(f"wrote {write_digests(run)}")
    reporter.data(asdict(found))
    raise typer.Exit(1 if found.problems else 0)

"""``medrcube validate-run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Json
from medrcube.console.counts import counted

__all__ = ["validate_run"]

_LIST_LIMIT = 12
"""Problems shown without ``-v``."""


def validate_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Scored run.")],
    release: Annotated[
        Path, typer.Option(metavar="RELEASE", help="Release the run was evaluated on.")
    ],
    seal: Annotated[
        bool, typer.Option("--seal", help="Write digests.json if the run is valid.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Validate a submitted run.

    Checks its files, items and digests, and rescores it. The exit status is 1 if there is a
    problem.
    """
    from dataclasses import asdict

    from medrcube.console.progress import Reporter
    from medrcube.evaluate.site.run_digests import write_digests
    from medrcube.evaluate.site.run_validation import check_run

    reporter = Reporter(json_output=json_output)
    validation = check_run(run, release, sealing=seal)
    for problem in validation.problems[: reporter.limit(_LIST_LIMIT)]:
        reporter.result(f"ERROR {problem}")
    if more := len(validation.problems) - len(validation.problems[: reporter.limit(_LIST_LIMIT)]):
        reporter.result(f"and {more} more; medrcube -v shows all")
    for note in validation.notes:
        reporter.result(f"note: {note}")
    if validation.problems:
        reporter.result(f"NOT VALID: {counted(len(validation.problems), 'problem')}")
    else:
        reporter.result(f"VALID: {validation.summary}")
        if seal:
            reporter.result(f"wrote {write_digests(run)}")
    reporter.data(asdict(validation))
    raise typer.Exit(1 if validation.problems else 0)

"""The command that checks a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli.options.shared import Json, Workers
from medrcube.console.counts import counted

if TYPE_CHECKING:
    from medrcube.build.validation.validate import Validation
    from medrcube.console.progress import Reporter

_SHOWN = 8
"""So many kinds of faults fit on a screen; programs get all."""

_EXAMPLES = 2


def validate(
    directory: Annotated[Path, typer.Argument(metavar="RELEASE")],
    with_gx: Annotated[
        bool, typer.Option("--with-gx", help="Run the contracts with Great Expectations too.")
    ] = False,
    workers: Workers = 0,
    json_output: Json = False,
) -> None:
    """Check a release, ours or the published one: tables, files, pictures, proofs."""
    from medrcube.build.execution.progress import usable_cores
    from medrcube.build.validation.validate import validate as check
    from medrcube.console.progress import Reporter

    reporter = Reporter(json_output=json_output)
    found = check(directory, reporter, workers=workers or usable_cores(), with_gx=with_gx)
    _show(found, reporter)
    reporter.data(found.stated())
    raise typer.Exit(1 if found.errors else 0)


def _show(found: Validation, reporter: Reporter) -> None:
    name = f"release {found.name}" if found.name else "release"
    kind = "private" if found.private else "public"
    reporter.result(
        f"{name}, {kind}: {counted(found.items, 'sound item')}, "
        f"{counted(found.pictures, 'picture')}; {counted(found.restricted, 'item')} restricted, "
        f"{found.without_picture:,} without a picture here"
    )
    if found.withdrawn:
        reporter.result(f"{found.withdrawn:,} of these items are withdrawn (errata.csv)")
    if found.private:
        reporter.result("PRIVATE: this tree must not be shared")
    for finding in found.findings[:_SHOWN]:
        reporter.result(
            f"{finding.level.upper()} {finding.check} ({finding.count:,}): {finding.title}"
        )
        for example in finding.examples[:_EXAMPLES]:
            reporter.result(f"  {example}")
        more = finding.count - min(len(finding.examples), _EXAMPLES)
        reporter.result(f"  do: {finding.advice}" + (f"  (and {more:,} more)" if more else ""))
    if len(found.findings) > _SHOWN:
        reporter.result(
            f"and {len(found.findings) - _SHOWN} more kinds of faults: --json names all"
        )
    for what in found.unchecked:
        reporter.result(f"not checked: {what}")
    warnings = len(found.findings) - found.errors
    verdict = "VALID" if not found.errors else "NOT VALID"
    reporter.result(f"{verdict}: {found.errors} kinds of errors, {warnings} of warnings")

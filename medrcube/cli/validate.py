"""``medrcube validate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli.options.shared import Json, ReleaseDir, Workers
from medrcube.console.counts import counted

if TYPE_CHECKING:
    from medrcube.build.validation.validate import Validation
    from medrcube.console.progress import Reporter

__all__ = ["validate"]

_LIST_LIMIT = 8
"""Kinds of faults shown without ``-v``."""

_EXAMPLES = 2


def validate(
    directory: ReleaseDir,
    with_gx: Annotated[
        bool, typer.Option("--with-gx", help="Also run the contracts with Great Expectations.")
    ] = False,
    workers: Workers = 0,
    json_output: Json = False,
) -> None:
    """Validate a release.

    Checks tables, files, images and checksums of a medrcube release or of the upstream one. The
    exit status is 1 if there are errors.
    """
    from medrcube.build.execution.progress import usable_cores
    from medrcube.build.validation.validate import validate as check
    from medrcube.console.progress import Reporter

    reporter = Reporter(json_output=json_output)
    validation = check(directory, reporter, workers=workers or usable_cores(), with_gx=with_gx)
    _show(validation, reporter)
    reporter.data(validation.as_dict())
    raise typer.Exit(1 if validation.errors else 0)


def _format_line(number: int) -> str:
    from medrcube.release_format.format_version import CURRENT, SHARDED

    line = f"checked against release format {number}"
    if number >= CURRENT.number:
        return line
    return f"{line}; new releases have {CURRENT.number}, or {SHARDED.number} with image shards"


def _show(validation: Validation, reporter: Reporter) -> None:
    name = f"release {validation.name}" if validation.name else "release"
    kind = "private" if validation.private else "public"
    reporter.result(
        f"{name}, {kind}: {counted(validation.items, 'valid item')}, "
        f"{counted(validation.pictures, 'image')}; "
        f"{counted(validation.restricted, 'item')} restricted, "
        f"{validation.without_picture:,} without an image here"
    )
    if validation.release_format is not None:
        reporter.result(_format_line(validation.release_format))
    if validation.withdrawn:
        reporter.result(f"{validation.withdrawn:,} of these items are withdrawn (errata.csv)")
    if validation.private:
        reporter.result("PRIVATE: this tree must not be shared")
    for finding in validation.findings[: reporter.limit(_LIST_LIMIT)]:
        reporter.result(
            f"{finding.level.upper()} {finding.check} ({finding.count:,}): {finding.title}"
        )
        for example in finding.examples[:_EXAMPLES]:
            reporter.result(f"  {example}")
        more = finding.count - min(len(finding.examples), _EXAMPLES)
        reporter.result(f"  do: {finding.advice}" + (f"  (and {more:,} more)" if more else ""))
    if more := len(validation.findings) - len(validation.findings[: reporter.limit(_LIST_LIMIT)]):
        reporter.result(f"and {more} more kinds of faults; medrcube -v shows all")
    for what in validation.unchecked:
        reporter.result(f"not checked: {what}")
    warnings = len(validation.findings) - validation.errors
    verdict = "VALID" if not validation.errors else "NOT VALID"
    errors = _kinds(validation.errors, "error")
    reporter.result(f"{verdict}: {errors}, {_kinds(warnings, 'warning')}")


def _kinds(count: int, noun: str) -> str:
    return counted(count, f"kind of {noun}s", f"kinds of {noun}s") if count else f"no {noun}s"

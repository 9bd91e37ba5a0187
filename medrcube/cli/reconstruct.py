"""The command ``medrcube reconstruct``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli.options.shared import Extra, Json, Roots, Workers, pairs
from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.build.reconstruction.outcomes import Reconstruction
    from medrcube.console.progress import Reporter

_SHOWN = 5
"""Reasons of each source and status that people are shown; programs get all."""
_FEW = 2
"""So many sources that were not named are told how to get; of more, only where that stands."""


def reconstruct(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder of the release.")],
    source: Roots = None,
    workers: Workers = 0,
    extra: Extra = None,
    json_output: Json = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the whole report there, as JSON.")
    ] = None,
    adopt: Annotated[
        bool, typer.Option("--adopt", help="The release is upstream's own, without recipes.")
    ] = False,
    needed: Annotated[
        bool,
        typer.Option("--needed", help="Make nothing: list the raw files that are needed for it."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --needed: write the lists there, as ID.txt."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="ID", help="With --needed: this source; may be repeated."),
    ] = None,
    by_name: Annotated[
        bool,
        typer.Option("--by-name", help="With --adopt: place pictures that only a name proves."),
    ] = False,
) -> None:
    """Make the pictures that a release lacks from your own raw data, each proved by its hash."""
    from medrcube.build.execution.local import LocalEngine
    from medrcube.build.execution.progress import usable_cores
    from medrcube.cli.reconstruct_needed import list_needed
    from medrcube.console.progress import Reporter
    from medrcube.files.atomic import write_text
    from medrcube.sources.registry import find_sources

    if needed:
        if source or adopt:
            raise MedrcubeError("--needed: looks at the release alone; leave out the other options")
        list_needed(release, extra, only, out, Reporter(json_output=json_output))
        return
    if out is not None or only:
        raise MedrcubeError("--out and --only: belong to  --needed")
    if by_name and not adopt:
        raise MedrcubeError(
            "--by-name: a release with recipes proves its pictures; it needs --adopt"
        )
    if report is not None and report.resolve().is_relative_to(release.resolve()):
        raise MedrcubeError(f"--report {report}: lies in the release, where only pictures are put")
    reporter = Reporter(json_output=json_output)
    roots = {name: Path(root).absolute() for name, root in pairs(source).items()}
    engine = LocalEngine(workers or usable_cores())
    sources = find_sources(extra or ())
    if adopt:
        from medrcube.build.reconstruction.published_release import adopt as adopt_pictures

        done = adopt_pictures(release, roots, sources, engine, reporter, place=by_name)
    else:
        from medrcube.build.reconstruction.reconstruct import reconstruct as reconstruct_pictures

        done = reconstruct_pictures(release, roots, sources, engine, reporter)
    stated = {"release": str(release), **done.stated()}
    if report is not None:
        write_text(report, json.dumps(stated, indent=2, ensure_ascii=False) + "\n")
    _show(done, reporter)
    reporter.data(stated)
    raise typer.Exit(1 if done.short else 0)


def _show(done: Reconstruction, reporter: Reporter) -> None:
    silent = done.not_given if len(done.not_given) > _FEW else ()
    for source in done.sources:
        for note in source.notes if source not in silent else ():
            reporter.result(note)
    reporter.table(
        ("source", "status", "pictures"),
        [
            (source.source, str(status), count)
            for source in done.sources
            for status, count in source.counts.items()
        ],
    )
    for reason in done.reasons(_SHOWN):
        reporter.result(reason)
    total = sum(len(source.pictures) for source in done.sources)
    reporter.result(f"there now: {total - done.short:,} of {counted(total, 'picture')}")

"""``medrcube reconstruct``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli.options.shared import (
    Json,
    ReleaseDir,
    Roots,
    SourcePath,
    Wide,
    Workers,
    raw_roots,
    source_ids,
)
from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.build.reconstruction.complete_shards import CompletedShards
    from medrcube.build.reconstruction.outcomes import Reconstruction
    from medrcube.console.progress import Reporter

__all__ = ["reconstruct"]

_LIST_LIMIT = 5
"""Reasons shown per source and status; ``--json`` prints all."""

_FEW = 2
"""Show how to get the raw data for at most this many sources."""


def reconstruct(
    release: ReleaseDir,
    source: Roots = None,
    workers: Workers = 0,
    source_path: SourcePath = None,
    wide: Wide = False,
    json_output: Json = False,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the full report to this JSON file.")
    ] = None,
    adopt: Annotated[
        bool,
        typer.Option("--adopt", help="Reconstruct the upstream release, which has no recipes."),
    ] = False,
    needed: Annotated[
        bool,
        typer.Option("--needed", help="List the raw files that are needed, and rebuild nothing."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="With --needed: folder for the lists, ID.txt."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="ID",
            help="With --needed: only this source; repeatable.",
            autocompletion=source_ids,
        ),
    ] = None,
    by_name: Annotated[
        bool,
        typer.Option("--by-name", help="With --adopt: accept images matched by file name alone."),
    ] = False,
) -> None:
    """Rebuild withheld images from your own data.

    Each image is verified against its pixel hash before it is written. The exit status is 1 while
    images are missing.
    """
    from medrcube.build.execution.local import LocalEngine
    from medrcube.build.execution.progress import usable_cores
    from medrcube.cli.reconstruct_needed import list_needed
    from medrcube.console.progress import Reporter
    from medrcube.files.atomic import write_text
    from medrcube.sources.registry import find_sources

    if needed:
        if source or adopt:
            raise MedrcubeError("--needed reads only the release; remove --source and --adopt")
        list_needed(release, source_path, only, out, Reporter(json_output=json_output, wide=wide))
        return
    if out is not None or only:
        raise MedrcubeError("--out and --only require --needed")
    if by_name and not adopt:
        raise MedrcubeError("--by-name is for releases without recipes; add --adopt")
    if report is not None and report.resolve().is_relative_to(release.resolve()):
        raise MedrcubeError(
            f"--report {report} is inside the release, where only images may be written"
        )
    reporter = Reporter(json_output=json_output, wide=wide)
    roots = raw_roots(source)
    engine = LocalEngine(workers or usable_cores())
    sources = find_sources(source_path or ())
    if adopt:
        from medrcube.build.reconstruction.published_release import adopt as adopt_pictures

        reconstruction = adopt_pictures(release, roots, sources, engine, reporter, place=by_name)
    else:
        from medrcube.build.reconstruction.reconstruct import reconstruct as reconstruct_pictures

        reconstruction = reconstruct_pictures(release, roots, sources, engine, reporter)
    unused = sorted(roots.keys() - {source.source for source in reconstruction.sources})
    content = {"release": str(release), **reconstruction.as_dict()}
    if unused:
        content["unused"] = unused
    if report is not None:
        write_text(report, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    _show(reconstruction, reporter)
    if unused:
        reporter.result(_unused_line(unused, reconstruction))
    reporter.data(content)
    raise typer.Exit(1 if reconstruction.short else 0)


def _show(reconstruction: Reconstruction, reporter: Reporter) -> None:
    silent = reconstruction.not_given if len(reconstruction.not_given) > _FEW else ()
    for source in reconstruction.sources:
        for note in source.notes if source not in silent else ():
            reporter.result(note)
    reporter.table(
        ("source", "status", "images"),
        [
            (source.source, str(status), count)
            for source in reconstruction.sources
            for status, count in source.counts.items()
        ],
        empty="no images to reconstruct",
    )
    for reason in reconstruction.reasons(_LIST_LIMIT):
        reporter.result(reason)
    if reconstruction.shards is not None:
        reporter.result(_shards_line(reconstruction.shards))
    total = sum(len(source.pictures) for source in reconstruction.sources)
    reporter.result(f"present: {total - reconstruction.short:,} of {counted(total, 'image')}")


def _unused_line(unused: Sequence[str], reconstruction: Reconstruction) -> str:
    present = ", ".join(source.source for source in reconstruction.sources) or "none"
    return (
        f"not used: --source {', '.join(unused)}: the release has no image of it; it has images "
        f"of: {present}"
    )


def _shards_line(shards: CompletedShards) -> str:
    line = f"{counted(shards.written, 'shard')} completed"
    if not shards.loose:
        return line
    return (
        f"{line}; {counted(shards.loose, 'image')} stay loose files in SOURCE/pictures: another "
        "image of their shard is missing or has other bytes"
    )

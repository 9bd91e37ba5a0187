"""``medrcube release``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.cli.options.shared import Directory, Json, SourcePath
from medrcube.console.counts import counted

if TYPE_CHECKING:
    from medrcube.build.release.changes import ReleaseChanges
    from medrcube.console.progress import Reporter

__all__ = ["release"]


def release(
    directory: Directory,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write; must be new.")],
    name: Annotated[
        str, typer.Option(metavar="VERSION", help="Version of the release, such as v1.")
    ] = "unnamed",
    allow_unreviewed: Annotated[
        bool,
        typer.Option("--allow-unreviewed", help="Include items that no clinician has accepted."),
    ] = False,
    require_agreement: Annotated[
        bool,
        typer.Option("--require-agreement", help="Refuse if reviewer agreement is too low."),
    ] = False,
    private: Annotated[
        bool,
        typer.Option("--private", help="Include restricted images; the tree must not be shared."),
    ] = False,
    since: Annotated[
        Path | None,
        typer.Option(metavar="RELEASE", help="Earlier release; CHANGES.md lists the changes."),
    ] = None,
    shard_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE", help="Put images into tar shards of at most this size, such as 512MB."
        ),
    ] = None,
    source_path: SourcePath = None,
    json_output: Json = False,
) -> None:
    """Write a release of a workspace.

    The upstream evaluator can read the release as it is, unless its images are in shards. Images
    that may not be redistributed are left out; anyone with a licensed copy can rebuild them with
    "medrcube reconstruct".
    """
    from dataclasses import asdict

    from medrcube.build.release.image_writers import parse_shard_size
    from medrcube.build.release.write import release as write_release
    from medrcube.build.workspace_sources import workspace_sources
    from medrcube.console.progress import Reporter
    from medrcube.workspace import open_workspace

    reporter = Reporter(json_output=json_output)
    workspace = open_workspace(directory)
    report = write_release(
        workspace,
        workspace_sources(workspace, source_path or ()),
        out,
        name=name,
        allow_unreviewed=allow_unreviewed,
        private=private,
        require_agreement=require_agreement,
        since=since,
        shard_size=parse_shard_size(shard_size),
    )
    reporter.result(
        f"{counted(report.items + report.open_items, 'item')} ({report.open_items:,} of them "
        f"open; {report.unreviewed:,} of the others unreviewed), "
        f"{counted(report.pictures, 'image')}, {report.withheld:,} withheld: {report.out}"
    )
    if report.under_agreement:
        reporter.result(
            f"answers and file names of {', '.join(report.under_agreement)} are in the release "
            "though images are withheld: check what their agreements say about labels before you "
            "publish it"
        )
    for stratum in report.failing_strata:
        if stratum.reasons:
            reporter.result(f"NOT AGREED {stratum}")
    if count := sum(not stratum.reasons for stratum in report.failing_strata):
        strata = counted(count, "stratum", "strata")
        reporter.result(f"NOT AGREED {strata} without a valid review")
    if report.held:
        reporter.result(f"{counted(report.held, 'item')} left out: rejected by reviewers")
    if report.incomplete_sets:
        reporter.result(
            f"{counted(report.incomplete_sets, 'set')} of {report.sets + report.incomplete_sets:,} "
            "incomplete and not scored as sets: some of their items were left out or changed by "
            "reviewers"
        )
    if report.changed:
        reporter.result(
            f"{counted(report.changed, 'item')} changed by a build after the review; run medrcube "
            f"review import again"
        )
    summary = {**asdict(report), "out": str(report.out)}
    if report.since is not None:
        summary["since"] = _changes(report.since, since, reporter)
    reporter.data(summary)


def _changes(changes: ReleaseChanges, since: Path | None, reporter: Reporter) -> dict[str, Any]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in changes.counts.items())
    reporter.result(
        f"since {since}: {counted(changes.same, 'item')} the same; {kinds or 'no change'}"
    )
    if changes.still_there:
        reporter.result(
            f"STILL INCLUDED {counted(len(changes.still_there), 'item')} withdrawn from {since}, "
            f"such as {changes.still_there[0]}"
        )
    return {
        "same": changes.same,
        "counts": dict(changes.counts),
        "withdrawn_and_still_there": list(changes.still_there),
    }

"""``medrcube review import``, ``export`` and ``freeze``: items in, decisions out."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from medrcube.cli.options.shared import Directory, Here, Json, ReleaseDir, SourcePath, Wide
from medrcube.cli.review.queue import open_queue, prepare_queue
from medrcube.console.counts import counted

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.review.exchange.import_items import ImportReport

__all__ = ["export", "freeze", "import_items"]


_LIST_LIMIT = 10
"""Refused items shown without ``-v``."""


def import_items(
    directory: Here = Path(),
    runs: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN", help="Run of a model, used to prioritize doubtful items; repeatable."
        ),
    ] = None,
    blind_runs: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="Run without images, used likewise; repeatable."),
    ] = None,
    source_path: SourcePath = None,
    json_output: Json = False,
) -> None:
    """Import the items of a workspace.

    Safe to re-run. The exit status is 1 if items were refused.
    """
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources
    from medrcube.workspace import open_workspace

    reporter = Reporter(json_output=json_output)
    workspace = open_workspace(directory.resolve())
    titles = {name: source.card.title for name, source in find_sources(source_path or ()).items()}
    prepare_queue(workspace.root, new=True)
    from medrcube.review.exchange.import_items import import_workspace
    from medrcube.review.reviewing.prioritization import doubts_from_runs

    doubts = doubts_from_runs(runs or (), blind_runs or ()) if runs or blind_runs else None
    report = import_workspace(workspace, reporter, titles=titles, doubts=doubts)
    _show_import(report, reporter)
    reporter.data(asdict(report))
    raise typer.Exit(1 if report.refused else 0)


def export(
    directory: Here = Path(),
    kind: Annotated[
        Literal["csv", "jsonl"], typer.Option("--format", help="Format of the tables.")
    ] = "csv",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Output folder; default: WORKSPACE/review-export."),
    ] = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Export pseudonymised decisions.

    Also writes to the workspace the review results that a release uses.
    """
    from medrcube.console.progress import Reporter

    root = open_queue(directory)
    from medrcube.review.exchange.export_decisions import export_decisions, write_verdicts

    reporter = Reporter(json_output=json_output, wide=wide)
    back = write_verdicts(root)
    folder = out or root / "review-export"
    tables = export_decisions(folder, kind)
    reporter.table(("file", "rows"), list(tables.items()))
    reporter.result(
        f"{back.accepted:,} of {counted(back.items, 'item')} accepted for release; the trail "
        f"ends at {back.head.number}:{back.head.sha256}"
    )
    if back.strata:
        strata = ", ".join(f"{count:,} {words}" for words, count in sorted(back.strata.items()))
        reporter.result(f"agreement of the reviewers, by stratum: {strata}; see the page Agreement")
    reporter.data({**asdict(back), "out": str(folder), "files": tables})


def freeze(
    directory: Directory,
    release: ReleaseDir,
    json_output: Json = False,
) -> None:
    """Record a release in the queue.

    Its items can then only be withdrawn, not edited.
    """
    from medrcube.console.progress import Reporter

    root = open_queue(directory)
    from medrcube.review.exchange.export_decisions import write_verdicts
    from medrcube.review.exchange.freeze_release import freeze_release

    reporter = Reporter(json_output=json_output)
    frozen = freeze_release(release)
    write_verdicts(root)
    already = " (already recorded)" if frozen.already_recorded else ""
    reporter.result(
        f"release {frozen.name}: {frozen.items:,} reviewed items recorded, {frozen.unreviewed:,} "
        f"unreviewed items are not{already}"
    )
    reporter.data(asdict(frozen))


def _show_import(report: ImportReport, reporter: Reporter) -> None:
    reporter.result(
        f"{counted(report.items, 'item')}: {report.added:,} new, {report.changed:,} changed, "
        f"{report.unchanged:,} unchanged, {len(report.refused):,} refused; "
        f"{counted(report.pictures, 'image')}"
    )
    if report.edits_replaced:
        reporter.result(
            f"{counted(report.edits_replaced, 'item')} edited in the queue; the new wording of "
            f"the workspace is used, the edit is kept as an older version"
        )
    refused = [(row.item, row.reason) for row in report.refused]
    for word, rows in (("REFUSED", refused), ("SETTLED", report.settled)):
        for name, reason in rows[: reporter.limit(_LIST_LIMIT)]:
            reporter.result(f"{word} {name}: {reason}")
        if more := len(rows) - len(rows[: reporter.limit(_LIST_LIMIT)]):
            reporter.result(f"{word} {more:,} more; medrcube -v shows all")
    if report.copies_damaged:
        reporter.result(
            f"{counted(report.copies_damaged, 'row')} of viewer/copies.jsonl damaged; reviewers "
            f"see no original pixels for these images; build and import again"
        )
    if report.vanished:
        reporter.result(
            f"{counted(len(report.vanished), 'item')} of the queue no longer in the workspace, "
            f"unchanged in the queue, such as {report.vanished[0]}"
        )

"""The commands of ``medrcube review`` that carry items in and verdicts out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from medrcube.cli.options.shared import Extra, Json
from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.review.exchange.import_items import ImportReport

_SHOWN = 10
"""Refused items that people are shown; programs get all."""

labelstudio_app = typer.Typer(
    help="Tasks for, and annotations from, a Label Studio that runs already.",
    no_args_is_help=True,
)

Directory = Annotated[Path, typer.Argument(metavar="WORKSPACE")]


def register(app: typer.Typer) -> None:
    """Add these commands to ``medrcube review``."""
    app.command("import")(import_items)
    app.command()(export)
    app.command()(freeze)


def import_items(
    directory: Directory = Path(),
    runs: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="Run of a model, to show doubtful items first; repeat."),
    ] = None,
    blind_runs: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="Run of a model that saw no picture; repeat."),
    ] = None,
    extra: Extra = None,
    json_output: Json = False,
) -> None:
    """Take the items of a workspace into the queue; the same command again does nothing."""
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources
    from medrcube.workspace import open_workspace

    reporter = Reporter(json_output=json_output)
    workspace = open_workspace(directory.resolve())
    titles = {name: source.card.title for name, source in find_sources(extra or ()).items()}
    ready(workspace.root, new=True)
    from medrcube.review.exchange.import_items import import_workspace
    from medrcube.review.reviewing.prioritization import doubts_of

    doubts = doubts_of(runs or (), blind_runs or ()) if runs or blind_runs else None
    report = import_workspace(workspace, reporter, titles=titles, doubts=doubts)
    _show_import(report, reporter)
    reporter.data(asdict(report))
    raise typer.Exit(1 if report.refused else 0)


def export(
    directory: Directory = Path(),
    kind: Annotated[Literal["csv", "jsonl"], typer.Option("--format")] = "csv",
    out: Annotated[
        Path | None, typer.Option(help="Folder for the decisions; WORKSPACE/review-export.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Write all decisions, under pseudonyms, and what a release takes into the workspace."""
    from medrcube.console.progress import Reporter

    root = open_queue(directory)
    from medrcube.review.exchange.export_decisions import export_decisions, flow_back

    reporter = Reporter(json_output=json_output)
    back = flow_back(root)
    folder = out or root / "review-export"
    tables = export_decisions(folder, kind)
    reporter.table(("file", "rows"), list(tables.items()))
    reporter.result(
        f"{back.accepted:,} of {counted(back.items, 'item')} accepted for release; the trail "
        f"ends at {back.head.number}:{back.head.sha256}"
    )
    if back.strata:
        told = ", ".join(f"{count:,} {words}" for words, count in sorted(back.strata.items()))
        reporter.result(f"agreement of the reviewers, by stratum: {told}; see the page Agreement")
    reporter.data({**asdict(back), "out": str(folder), "files": tables})


def freeze(
    directory: Directory,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder of the release.")],
    json_output: Json = False,
) -> None:
    """Record a release in the queue: its items are never edited again, only withdrawn."""
    from medrcube.console.progress import Reporter

    root = open_queue(directory)
    from medrcube.review.exchange.export_decisions import flow_back
    from medrcube.review.exchange.freeze_release import freeze_release

    reporter = Reporter(json_output=json_output)
    frozen = freeze_release(release)
    flow_back(root)
    already = " (was on record already)" if frozen.known else ""
    reporter.result(
        f"release {frozen.name}: {frozen.items:,} reviewed items on record, "
        f"{frozen.unreviewed:,} unreviewed ones are not{already}"
    )
    reporter.data(asdict(frozen))


@labelstudio_app.command("export")
def export_tasks(
    directory: Directory,
    out: Annotated[Path, typer.Argument(help="Folder to write.")],
    prefix: Annotated[
        str, typer.Option(help="Where the folder will lie in what Label Studio serves.")
    ] = "medrcube",
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many items.")] = None,
    json_output: Json = False,
) -> None:
    """Write tasks without keys, a labelling interface and pictures."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.exchange.labelstudio import export_tasks as write

    reporter = Reporter(json_output=json_output)
    made = write(out, prefix=prefix, limit=limit)
    reporter.result(f"{counted(made.tasks, 'task')}, {counted(made.pictures, 'picture')}: {out}")
    if made.told:
        items = counted(made.told, "item")
        reporter.note(
            f"{items} left out: one task's question tells another's key; export again later"
        )
    reporter.data({**asdict(made), "out": str(out)})


@labelstudio_app.command("import")
def import_annotations(
    directory: Directory,
    file: Annotated[Path, typer.Argument(help="Label Studio's JSON export.")],
    reviewer: Annotated[
        list[str], typer.Option(metavar="WHO=PSEUDONYM", help="Who annotated; repeat.")
    ],
    json_output: Json = False,
) -> None:
    """Take annotations in as reviews; each that is refused comes with a reason."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.exchange.labelstudio import import_annotations as take_in

    reporter = Reporter(json_output=json_output)
    taken = take_in(file, _pseudonyms(reviewer))
    for one in taken.refused:
        reporter.result(f"REFUSED {one.annotation}: {one.reason}")
    reporter.result(f"{taken.reviews:,} reviews taken in, {len(taken.refused):,} refused")
    reporter.data(asdict(taken))
    raise typer.Exit(1 if taken.refused else 0)


def ready(root: Path, *, new: bool, origin: str = "") -> Path | None:
    """Start Django for a workspace and bring its tables up to date."""
    from medrcube.review.server.bootstrap import configure, migrate, place_of

    place = place_of(root, origin=origin)
    if not new and "://" not in place.database and not Path(place.database).is_file():
        raise MedrcubeError(
            f"{place.database}: there is no review queue yet; begin with  medrcube review import "
            f"{root}"
        )
    configure(place)
    return migrate()


def open_queue(directory: Path) -> Path:
    """A workspace that has a queue."""
    root = directory.resolve()
    ready(root, new=False)
    return root


def _pseudonyms(values: list[str]) -> Mapping[str, str]:
    pseudonyms: dict[str, str] = {}
    for value in values:
        who, equals, pseudonym = value.partition("=")
        if not (who and equals and pseudonym):
            raise MedrcubeError(
                f"--reviewer {value}: expected WHO=PSEUDONYM, such as 3=reader-0a1b"
            )
        pseudonyms[who] = pseudonym
    return pseudonyms


def _show_import(report: ImportReport, reporter: Reporter) -> None:
    reporter.result(
        f"{counted(report.items, 'item')}: {report.added:,} new, {report.changed:,} changed, "
        f"{report.unchanged:,} as they were, {len(report.refused):,} refused; "
        f"{counted(report.pictures, 'picture')}"
    )
    if report.edits_replaced:
        reporter.result(
            f"{counted(report.edits_replaced, 'item')} edited in the queue; the workspace's new "
            "wording stands, the edit is kept as an older version"
        )
    refused = [(one.item, one.reason) for one in report.refused]
    for word, rows in (("REFUSED", refused), ("SETTLED", report.settled)):
        for name, reason in rows[:_SHOWN]:
            reporter.result(f"{word} {name}: {reason}")
        if len(rows) > _SHOWN:
            reporter.result(f"{word} {len(rows) - _SHOWN:,} more; --json names all")
    if report.copies_damaged:
        reporter.result(
            f"{counted(report.copies_damaged, 'row')} of viewer/copies.jsonl damaged, so these "
            "pictures have no original pixels for reviewers; build and import again"
        )
    if report.vanished:
        reporter.result(
            f"{counted(len(report.vanished), 'item')} of the queue no longer in the workspace, "
            f"left as they are, such as {report.vanished[0]}"
        )

"""``medrcube review labelstudio``: tasks for Label Studio, and annotations from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Directory, Json
from medrcube.cli.review.queue import open_queue
from medrcube.console.counts import counted
from medrcube.errors import MedrcubeError

__all__ = ["labelstudio_app"]


labelstudio_app = typer.Typer(help="Exchange tasks with your Label Studio.", no_args_is_help=True)


@labelstudio_app.command("export")
def export_tasks(
    directory: Directory,
    out: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write.")],
    prefix: Annotated[
        str,
        typer.Option(
            metavar="PATH",
            help="Path of the folder, relative to the folder that Label Studio serves.",
        ),
    ] = "medrcube",
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Maximum number of items to export.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Write tasks without keys, and images."""
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.exchange.labelstudio import export_labelstudio_tasks as write

    reporter = Reporter(json_output=json_output)
    project = write(out, prefix=prefix, limit=limit)
    reporter.result(
        f"{counted(project.tasks, 'task')}, {counted(project.pictures, 'image')}: {out}"
    )
    if project.disclosing:
        items = counted(project.disclosing, "item")
        reporter.note(
            f"{items} left out: the question of one task reveals the key of another; export again "
            "later"
        )
    if project.without_options:
        items = counted(project.without_options, "item")
        reporter.note(
            f"{items} left out: Label Studio tasks need options, which these items lack; review "
            "them here"
        )
    reporter.data({**asdict(project), "out": str(out)})


@labelstudio_app.command("import")
def import_annotations(
    directory: Directory,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON export of Label Studio.")],
    reviewer: Annotated[
        list[str],
        typer.Option(
            metavar="WHO=PSEUDONYM",
            help="Label Studio annotator and their pseudonym here; repeatable.",
        ),
    ],
    json_output: Json = False,
) -> None:
    """Import annotations as reviews.

    Refused annotations are listed with a reason, and the exit status is 1.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.exchange.labelstudio import import_labelstudio_annotations as take_in

    reporter = Reporter(json_output=json_output)
    report = take_in(file, _pseudonyms(reviewer))
    for refusal in report.refused:
        reporter.result(f"REFUSED {refusal.annotation}: {refusal.reason}")
    reporter.result(f"{report.reviews:,} reviews imported, {len(report.refused):,} refused")
    reporter.data(asdict(report))
    raise typer.Exit(1 if report.refused else 0)


def _pseudonyms(values: Sequence[str]) -> dict[str, str]:
    pseudonyms: dict[str, str] = {}
    for value in values:
        who, equals, pseudonym = value.partition("=")
        if not (who and equals and pseudonym):
            raise MedrcubeError(
                f"--reviewer {value}: expected WHO=PSEUDONYM, such as 3=reviewer-0a1b"
            )
        pseudonyms[who] = pseudonym
    return pseudonyms

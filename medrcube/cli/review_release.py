"""Commands of ``medrcube review`` about a release: its reviewers, its errata, and remarks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Json
from medrcube.cli.review_exchange import Directory, open_queue
from medrcube.console.counts import counted

__all__ = ["register"]

_SHOWN = 10
"""Unknown items that people are shown; programs get all."""

Release = Annotated[Path, typer.Argument(metavar="RELEASE", help="Folder of the release.")]


def register(app: typer.Typer) -> None:
    """Add these commands to ``medrcube review``."""
    app.command()(human_run)
    app.command("errata")(write_errata)
    app.command()(remarks)


def human_run(
    directory: Directory,
    release: Release,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new run.")],
    group: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the group of reviewers; never a person's.")
    ] = "reviewers",
    json_output: Json = False,
) -> None:
    """Write the reviewers' blind answers as a run human/NAME, beside the runs of models.

    Only answers given before anything that answers the item was shown count. Of an item with
    several reviewers one answer, drawn by lot, is counted; agreement and majority stand beside it.
    """
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import load_benchmark

    open_queue(directory)
    from medrcube.review.exchange.human_run import write_human_run

    made = write_human_run(load_benchmark(release), out, group=group)
    reporter = Reporter(json_output=json_output)
    told, total = made.readers, made.run.metrics["global"]
    raw, most = told["agreement"]["raw"], told["majority"]
    reporter.result(
        f"{made.run.model}: {counted(told['readers'], 'reviewer')}, {told['answers']:,} blind "
        f"answers to {counted(told['items'], 'item')}; {told['rule']}"
    )
    if told["let_in_by_these_answers"]:
        reporter.result(
            f"UPPER BOUND {told['let_in_by_these_answers']:,} of these items are in the release "
            "because reviewers accepted them, mostly those who answered rightly"
        )
    interval = total["interval"]
    span = f" (95 % {100 * interval[0]:.1f} to {100 * interval[1]:.1f})" if interval else ""
    reporter.result(f"accuracy of a single reviewer {100 * total['accuracy']:.1f} %{span}")
    if raw["value"] is not None:
        reporter.result(
            f"two reviewers chose alike in {100 * raw['value']:.1f} % of "
            f"{counted(raw['items'], 'item')}"
        )
    if most["value"] is not None:
        reporter.result(
            f"the majority of three or more was right in {100 * most['value']:.1f} % of "
            f"{counted(most['items'], 'item')}"
        )
    reporter.result(f"wrote {out}; show it with  medrcube report {out} RUN... --out report.html")
    reporter.data({"out": str(out), "model": made.run.model, "readers": dict(told)})


def write_errata(
    directory: Directory,
    release: Release,
    notes: Annotated[
        bool,
        typer.Option("--notes", help="Take the managers' notes as reasons; read them first."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the rows and write nothing.")
    ] = False,
    json_output: Json = False,
) -> None:
    """Withdraw from a release what the queue has withdrawn, quarantined or rejected since."""
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import load_benchmark
    from medrcube.release_format.errata import FILE, add_errata

    open_queue(directory)
    from medrcube.review.exchange.errata import errata_of

    benchmark = load_benchmark(release)
    rows = errata_of(benchmark, notes=notes)
    reporter = Reporter(json_output=json_output)
    if rows:
        reporter.table(
            ("item", "by", "on", "why"), [(row.name, row.by, row.on, row.why) for row in rows]
        )
    if not dry_run:
        add_errata(release, rows, {item.name for item in benchmark.items})
    done = "would be withdrawn" if dry_run else "withdrawn"
    reporter.result(f"{counted(len(rows), 'item')} {done}: {release / FILE}")
    reporter.data({"added": [asdict(row) for row in rows], "written": not dry_run})


def remarks(
    directory: Directory,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Rows of item (or id) and text: .jsonl, .csv, .tsv, .json, .xlsx."
        ),
    ],
    origin: Annotated[
        str, typer.Option(metavar="TEXT", help="What collected them; never a person.")
    ] = "outside",
    json_output: Json = False,
) -> None:
    """Take remarks of outsiders into the queue; reviewers see them after their blind answer.

    Exit status 1 when a row was refused or names an item that the queue does not have.
    """
    from medrcube.console.progress import Reporter

    open_queue(directory)
    from medrcube.review.exchange.remarks import import_remarks

    taken = import_remarks(file, origin=origin)
    reporter = Reporter(json_output=json_output)
    for row in taken.refused:
        reporter.result(f"REFUSED {row.place}: {row.reason}")
    for name in taken.unknown[:_SHOWN]:
        reporter.result(f"UNKNOWN {name}: the queue has no such item")
    if len(taken.unknown) > _SHOWN:
        reporter.result(f"UNKNOWN {len(taken.unknown) - _SHOWN:,} more; --json names all")
    if taken.items:
        reporter.table(("item", "state"), list(taken.items.items()))
    reporter.result(
        f"{counted(taken.added, 'remark')} on {counted(len(taken.items), 'item')} taken in, "
        f"{taken.known:,} known already, {len(taken.refused):,} refused, "
        f"{counted(len(taken.unknown), 'unknown item')}"
    )
    reporter.data(asdict(taken))
    raise typer.Exit(1 if taken.refused or taken.unknown else 0)

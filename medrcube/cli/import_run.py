"""The command that brings in a run of another harness."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.console.counts import counted


def import_run(
    file: Annotated[
        Path,
        typer.Argument(
            help="Log of Inspect (.eval, .json), result of VLMEvalKit (.xlsx, .tsv, .json), or "
            "samples of lmms-eval or lm-evaluation-harness (.jsonl)."
        ),
    ],
    release: Annotated[Path, typer.Option(help="The release that was asked there.")],
    out: Annotated[Path, typer.Option(help="Folder of the new run.")],
    model: Annotated[
        str | None,
        typer.Option(
            help="Name of the model, where the file tells none or another; of several models in "
            "the file, the one to take."
        ),
    ] = None,
    edition: Annotated[
        Path | None,
        typer.Option(
            metavar="RELEASE",
            help="The edition whose words were asked, for a log of the condition reworded.",
        ),
    ] = None,
) -> None:
    """Score, compare and report replies that another harness got, as if they were asked here.

    Exit status: 0 brought in; 2 wrong use, or a file that is not of this release; 3 incomplete:
    more than 5 % of the questions have no reply or one that was cut, or some were asked there in
    another way.
    """
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import load_benchmark
    from medrcube.evaluate.imports.import_run import import_run as bring_in
    from medrcube.evaluate.imports.shown_options import SHOWN
    from medrcube.evaluate.reporting.interval_text import accuracy_text

    other = None if edition is None else load_benchmark(edition)
    found = bring_in(file, load_benchmark(release), out, model=model, edition=other)
    reporter = Reporter()
    if found.unanswered:
        named = ", ".join(found.unanswered[:SHOWN])
        count = len(found.unanswered)
        reporter.result(
            f"{counted(count, 'item')} without a reply there, counted as failed: {named}"
        )
    if differing := found.matched.differing:
        reporter.result(
            f"{counted(len(differing), 'item')} with another question or other options there, "
            f"left out: {', '.join(differing[:SHOWN])}"
        )
    total = found.metrics["global"]
    between = "between " if total["accuracy"] is None else ""
    reporter.result(
        f"wrote {out}: {counted(found.replies, 'reply')} of {found.model}, accuracy "
        f"{between}{accuracy_text(total, 2)} %"
    )
    left_out = "not all of the file is in these numbers" if differing else None
    if why := left_out or found.standing.incomplete:
        reporter.result(f"INCOMPLETE {why}")
        raise typer.Exit(3)

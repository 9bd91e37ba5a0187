"""``medrcube import-run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.console.counts import counted

__all__ = ["import_run"]


def import_run(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Inspect log (.eval, .json), VLMEvalKit result (.xlsx, .tsv, .json), or samples "
            "of lmms-eval or lm-evaluation-harness (.jsonl).",
        ),
    ],
    release: Annotated[
        Path, typer.Option(metavar="RELEASE", help="Release the run was evaluated on.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new run.")],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Model name; overrides that in the file, or selects one of several.",
        ),
    ] = None,
    edition: Annotated[
        Path | None,
        typer.Option(
            metavar="RELEASE",
            help="Edition whose wording was used, for a log of the condition reworded.",
        ),
    ] = None,
) -> None:
    """Import a run from another harness.

    The run can then be scored, compared and reported like any other.

    Exit status: 0 imported; 2 usage error, or the file is not from this release; 3 incomplete: over
    5 % of the questions have no reply or one that was cut off, or some were asked with other text.
    """
    from medrcube.cli.options.releases import read_release
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.dataset import load_benchmark
    from medrcube.evaluate.imports.import_run import import_run as import_file
    from medrcube.evaluate.imports.shown_options import LIST_LIMIT
    from medrcube.evaluate.reporting.interval_text import accuracy_words

    other = None if edition is None else load_benchmark(edition)
    imported = import_file(file, read_release(release), out, model=model, edition=other)
    reporter = Reporter()
    if imported.unanswered:
        ids = ", ".join(imported.unanswered[:LIST_LIMIT])
        count = len(imported.unanswered)
        reporter.result(f"{counted(count, 'item')} without a reply, counted as failed: {ids}")
    if differing := imported.matched.differing:
        reporter.result(
            f"{counted(len(differing), 'item')} with a different question or options, left out: "
            f"{', '.join(differing[:LIST_LIMIT])}"
        )
    total = imported.metrics["global"]
    reporter.result(
        f"wrote {out}: {counted(imported.replies, 'reply')} of {imported.model}, accuracy "
        f"{accuracy_words(total, 2)}"
    )
    left_out = "these figures cover only part of the file" if differing else None
    if why := left_out or imported.standing.incomplete:
        reporter.result(f"INCOMPLETE {why}")
        raise typer.Exit(3)

"""``medrcube demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Workers, source_ids

__all__ = ["demo"]


def demo(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Workspace folder to create.")
    ] = Path("demo"),
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="ID",
            help="Build this source only; repeatable.",
            autocompletion=source_ids,
        ),
    ] = None,
    workers: Workers = 0,
) -> None:
    """Build and evaluate a demo on synthetic data.

    Generates synthetic raw files for every source in its real directory layout, builds and releases
    the benchmark, evaluates three baselines, and writes report.html.
    """
    from medrcube.console.progress import Reporter
    from medrcube.demo import run_demo

    reporter = Reporter()
    page = run_demo(directory, reporter, only=source, workers=workers)
    reporter.result(f"report: {page}")

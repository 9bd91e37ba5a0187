"""``medrcube demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Workers, source_ids

__all__ = ["demo"]


def demo(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to write; becomes a workspace.")
    ] = Path("demo"),
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="ID", help="Source to take; repeatable.", autocompletion=source_ids
        ),
    ] = None,
    workers: Workers = 0,
) -> None:
    """Build and evaluate a demo of synthetic data.

    Every source writes synthetic raw files in its true layout; then the benchmark is built,
    released and evaluated with three baselines, and report.html is written.
    """
    from medrcube.console.progress import Reporter
    from medrcube.demo import run_demo

    reporter = Reporter()
    page = run_demo(directory, reporter, only=source, workers=workers)
    reporter.result(f"report: {page}")

"""``medrcube report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.runs import each_once, look_at_errata
from medrcube.cli.options.shared import Json, Wide

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Scored runs.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="HTML file to write.")],
    benchmark: Annotated[
        Path | None,
        typer.Option(
            "--release", metavar="RELEASE", help="Release that was asked, for images and errata."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write every table here, as CSV, JSON and Parquet."),
    ] = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Write an HTML report on one or more runs.

    The page needs no other file. Page and tables depend on the release, the replies and the
    settings alone; attempts, cost and time are printed instead.
    """
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.html_report import write_report
    from medrcube.evaluate.reporting.usage_table import run_usage, usage_table

    reporter = Reporter(json_output=json_output, wide=wide)
    runs = each_once(runs, reporter)
    look_at_errata(runs, benchmark, reporter)
    tables = write_report(runs, out, benchmark, data)
    efforts = [run_usage(run) for run in runs]
    reporter.table(*usage_table(efforts))
    reporter.result(f"wrote {out}")
    if data is not None:
        reporter.result(f"wrote {len(tables)} files of tables to {data}")
    if tables and not any(table.suffix == ".parquet" for table in tables):
        reporter.note("no Parquet: pyarrow is not installed; run  pip install 'medrcube[evaluate]'")
    reporter.data(
        {
            "page": str(out),
            "tables": list(map(str, tables)),
            "effort": [usage.to_json() for usage in efforts],
        }
    )

"""``medrcube report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from medrcube.cli.options.runs import each_once, look_at_errata
from medrcube.cli.options.shared import Json, Wide
from medrcube.errors import install_command

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter

__all__ = ["report"]


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Scored runs.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="HTML file to write.")],
    benchmark: Annotated[
        Path | None,
        typer.Option(
            "--release",
            metavar="RELEASE",
            help="Release the runs were evaluated on, for images and errata.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Also write all tables here, as CSV, JSON and Parquet."),
    ] = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Write an HTML report on one or more runs.

    The page is self-contained. Page and tables depend only on the release, the replies and the
    settings; attempts, cost and time go to the terminal.
    """
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.reporting.usage_table import run_usage, usage_table

    reporter = Reporter(json_output=json_output, wide=wide)
    runs = each_once(runs, reporter)
    tables = _write(runs, out, benchmark, data, reporter)
    efforts = [run_usage(run) for run in runs]
    reporter.table(*usage_table(efforts))
    reporter.result(f"wrote {out}")
    if data is not None:
        reporter.result(f"wrote {len(tables)} table files to {data}")
    if tables and not any(table.suffix == ".parquet" for table in tables):
        reporter.note(f"no Parquet: pyarrow is not installed; run  {install_command('evaluate')}")
    reporter.data(
        {
            "page": str(out),
            "tables": list(map(str, tables)),
            "effort": [usage.to_json() for usage in efforts],
        }
    )


def _write(
    runs: list[Path], out: Path, release: Path | None, data: Path | None, reporter: Reporter
) -> list[Path]:
    """Write the report; the release and the runs are read once, and freed on return."""
    from medrcube.evaluate.html_report import write_loaded_report, write_report

    checked = look_at_errata(runs, release, reporter)
    if checked is None:
        return write_report(runs, out, data=data)
    benchmark, loaded = checked
    return write_loaded_report(loaded, out, benchmark, data)

"""The command that sets one run against another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from medrcube.cli_options import Json


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of a scored run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Run to set it against.")],
    by: Annotated[
        Literal["task", "modality", "parts", "voxel"], typer.Option(help="How to slice.")
    ] = "task",
    common: Annotated[
        bool,
        typer.Option("--common", help="Runs of two benchmarks, on the items both have alike."),
    ] = False,
    json_output: Json = False,
) -> None:
    """Compare two runs item by item: what differs, and what cannot be said."""
    from medrcube.console import Reporter
    from medrcube.evaluate.statistics.compare import compare as compare_runs
    from medrcube.evaluate.statistics.conclusions import p_text, points, short_name, span

    reporter = Reporter(json_output=json_output)
    found = compare_runs(first, second, by=by, common=common)
    labels = [run["label"] for run in found["runs"]]
    items = found["items"]
    reporter.result(f"A  {labels[0]}\nB  {labels[1]}")
    if items["lost"] or items["changed"] or items["only_one"]:
        reporter.result(
            f"{items['common']:,} items compared; left out: {items['lost']:,} without a reply, "
            f"{items['changed']:,} that differ, {items['only_one']:,} in one run only"
        )
    rows = [("all", found["overall"], "mcnemar_p")]
    rows += [(short_name(by, row), row, "mcnemar_p_holm") for row in found["families"][by]]
    reporter.table(
        (by, "n", "A %", "B %", "A - B", "95 % interval", "p"),
        [
            (
                name,
                row["n"],
                points(row["first"]),
                points(row["second"]),
                points(row["difference"], sign=True),
                span(row["interval"]),
                p_text(row[key]),
            )
            for name, row, key in rows
        ],
    )
    reporter.result("p: exact McNemar of whole units; of the slices adjusted together (Holm)")
    for line in (*found["notes"], *found["conclusions"]):
        reporter.result(f"\n{line}")
    reporter.data(found)

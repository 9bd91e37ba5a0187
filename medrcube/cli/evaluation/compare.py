"""``medrcube compare``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from medrcube.cli.options.runs import each_once, look_at_errata
from medrcube.cli.options.shared import Json, Wide
from medrcube.console.counts import counted

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter

__all__ = ["compare"]

By = Literal["task", "modality", "parts", "voxel"]


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Two or more scored runs.")],
    by: Annotated[By, typer.Option(help="Axis that groups the table.")] = "task",
    common: Annotated[
        bool,
        typer.Option(
            "--common", help="Compare runs of different releases or selections on shared items."
        ),
    ] = False,
    release: Annotated[
        Path | None,
        typer.Option(
            metavar="RELEASE", help="Release the runs were evaluated on; applies its errata."
        ),
    ] = None,
    wide: Wide = False,
    json_output: Json = False,
) -> None:
    """Compare runs item by item, with statistics.

    Two runs are compared by exact McNemar tests. With three or more, runs that cannot be
    distinguished share a letter. P values are Holm-adjusted over each table.
    """
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.statistics.comparison.compare_many_runs import compare_many
    from medrcube.evaluate.statistics.comparison.compare_runs import compare_two

    if len(runs) < 2:
        raise typer.BadParameter("only one run given; expected two or more")
    reporter = Reporter(json_output=json_output, wide=wide)
    runs = each_once(runs, reporter)
    if len(runs) < 2:
        raise typer.BadParameter(
            f"{runs[0]} and copies of it count as one run; expected two or more"
        )
    look_at_errata(runs, release, reporter)
    if len(runs) == 2:
        comparison = compare_two(runs[0], runs[1], by=by, common=common)
        _show_two(reporter, comparison, by)
    else:
        comparison = compare_many(runs, by=by, common=common)
        _show_many(reporter, comparison)
    if comparison["settings"]:
        marks = "AB" if len(runs) == 2 else [run["label"] for run in comparison["runs"]]
        reporter.result("")
        reporter.table(("setting", *marks), comparison["settings"])
    for line in comparison["conclusions"]:
        reporter.result(f"\n{line}")
    reporter.data(comparison)


def _show_two(reporter: Reporter, comparison: Mapping[str, Any], by: By) -> None:
    from medrcube.evaluate.statistics.comparison.verdict_text import (
        p_text,
        points,
        points_span,
        short_name,
    )

    labels = [run["label"] for run in comparison["runs"]]
    reporter.result(f"A  {labels[0]}\nB  {labels[1]}")
    _head(reporter, comparison)
    _left_out(reporter, comparison["items"], "only_one", "in one run only")
    rows = [("all", comparison["overall"], "mcnemar_p")]
    rows += [(short_name(by, row), row, "mcnemar_p_holm") for row in comparison["families"][by]]
    if comparison["sets"]:
        rows.append(("sets, all items right", comparison["sets"], "mcnemar_p"))
    if comparison["chains"]:
        rows.append(("chains, all steps right", comparison["chains"], "mcnemar_p"))
    reporter.table(
        (by, "n", "A %", "B %", "A - B", "95 % interval", "p"),
        [
            (
                name,
                row["n"],
                points(row["first"]),
                points(row["second"]),
                points(row["difference"], sign=True),
                points_span(row["interval"]),
                p_text(row[key]),
            )
            for name, row, key in rows
        ],
    )
    reporter.result("p: exact McNemar test on whole units; Holm-adjusted over the groups")


def _show_many(reporter: Reporter, comparison: Mapping[str, Any]) -> None:
    from medrcube.evaluate.statistics.comparison.verdict_text import points, short_name

    _head(reporter, comparison)
    _left_out(reporter, comparison["items"], "only_some", "not in all runs")
    count = len(comparison["overall"]["runs"])
    marks = [chr(ord("A") + n) if n < 26 else f"A{n}" for n in range(count)]
    reporter.table(
        ("", "run", "n", "%", "95 % interval", "group"),
        [
            (
                mark,
                run["label"],
                comparison["overall"]["n"],
                points(run["accuracy"]),
                _reach(run["interval"]),
                run["letters"],
            )
            for mark, run in zip(marks, comparison["overall"]["runs"], strict=True)
        ]
        + [
            ("", run["label"], run["items"], _bounds(run["bounds"]), "\u2013", "INCOMPLETE")
            for run in comparison["runs"]
            if run["incomplete"]
        ],
    )
    reporter.result("")
    reporter.table(
        (comparison["axis"], "n", *(f"{mark} %" for mark in marks)),
        [
            (
                short_name(comparison["axis"], group),
                group["n"],
                *(f"{points(run['accuracy'])} {run['letters']}".strip() for run in group["runs"]),
            )
            for group in comparison["groups"]
        ],
    )
    tests = comparison["correction"]
    reporter.result(
        "runs that share a letter are not distinguishable: exact McNemar test of whole units; Holm "
        f"over {counted(tests['overall_tests'], 'pair')} of all questions, and over "
        f"{tests['group_tests']:,} pairs by {comparison['axis']}; no letters where fewer than 10 "
        "questions are tested"
    )


def _head(reporter: Reporter, comparison: Mapping[str, Any]) -> None:
    """State which condition the figures are for, if ambiguous, and what else differs."""
    omissions = [
        f"{', '.join(names)} of {run['label']}"
        for run, names in zip(comparison["runs"], comparison["conditions_left"], strict=True)
        if names
    ]
    if omissions or comparison["condition"] != "full":
        more = f"; not compared: {'; '.join(omissions)}" if omissions else ""
        reporter.result(f"all figures are for condition {comparison['condition']}{more}")
    for note in comparison["notes"]:
        reporter.result(note)


def _left_out(reporter: Reporter, items: Mapping[str, int], key: str, where: str) -> None:
    if items["withdrawn"]:
        reporter.result(f"left out: {counted(items['withdrawn'], 'item')} withdrawn by errata")
    if items["lost"] or items["changed"] or items[key]:
        reporter.result(
            f"{counted(items['common'], 'item')} compared; left out: {items['lost']:,} without a "
            f"reply, {items['changed']:,} that differ, {items[key]:,} {where}"
        )


def _reach(interval: list[float] | None) -> str:
    from medrcube.evaluate.statistics.comparison.verdict_text import points

    return "\u2013" if interval is None else f"{points(interval[0])} to {points(interval[1])}"


def _bounds(bounds: list[float]) -> str:
    from medrcube.evaluate.statistics.comparison.verdict_text import points

    return f"{points(bounds[0])} to {points(bounds[1])}"

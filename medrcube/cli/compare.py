"""The command that sets runs against each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from medrcube.cli.evaluation.run_arguments import each_once, look_at_errata
from medrcube.cli.options.shared import Json
from medrcube.console.counts import counted

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter

By = Literal["task", "modality", "parts", "voxel"]


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN...", help="Folders of two or more scored runs.")
    ],
    by: Annotated[By, typer.Option(help="How to slice.")] = "task",
    common: Annotated[
        bool,
        typer.Option("--common", help="Runs of different items, on those that all have alike."),
    ] = False,
    release: Annotated[
        Path | None, typer.Option(help="Release that they were asked, for its errata.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Compare runs item by item: what differs, and what cannot be said.

    Two runs are set against each other. Of more, groups that cannot be told apart share a letter;
    all tests of a table are adjusted together (Holm).
    """
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.statistics.compare_many_runs import compare_many
    from medrcube.evaluate.statistics.compare_runs import compare_two

    if len(runs) < 2:
        raise typer.BadParameter("one run; expected two or more to compare")
    reporter = Reporter(json_output=json_output)
    runs = each_once(runs, reporter)
    if len(runs) < 2:
        raise typer.BadParameter(f"{runs[0]} and copies of it are one run; expected two or more")
    look_at_errata(runs, release, reporter)
    if len(runs) == 2:
        found = compare_two(runs[0], runs[1], by=by, common=common)
        _show_two(reporter, found, by)
    else:
        found = compare_many(runs, by=by, common=common)
        _show_many(reporter, found)
    if found["settings"]:
        marks = "AB" if len(runs) == 2 else [run["label"] for run in found["runs"]]
        reporter.result("")
        reporter.table(("set differently", *marks), found["settings"])
    for line in found["conclusions"]:
        reporter.result(f"\n{line}")
    reporter.data(found)


def _show_two(reporter: Reporter, found: Mapping[str, Any], by: By) -> None:
    from medrcube.evaluate.statistics.verdict_text import p_text, points, points_span, short_name

    labels = [run["label"] for run in found["runs"]]
    reporter.result(f"A  {labels[0]}\nB  {labels[1]}")
    _head(reporter, found)
    _left_out(reporter, found["items"], "only_one", "in one run only")
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
                points_span(row["interval"]),
                p_text(row[key]),
            )
            for name, row, key in rows
        ],
    )
    reporter.result("p: exact McNemar of whole units; of the slices adjusted together (Holm)")


def _show_many(reporter: Reporter, found: Mapping[str, Any]) -> None:
    from medrcube.evaluate.statistics.verdict_text import points, short_name

    _head(reporter, found)
    _left_out(reporter, found["items"], "only_some", "not in all runs")
    shown = len(found["overall"]["runs"])
    marks = [chr(ord("A") + n) if n < 26 else f"A{n}" for n in range(shown)]
    reporter.table(
        ("", "run", "n", "%", "95 % interval", "group"),
        [
            (
                mark,
                run["label"],
                found["overall"]["n"],
                points(run["accuracy"]),
                _reach(run["interval"]),
                run["letters"],
            )
            for mark, run in zip(marks, found["overall"]["runs"], strict=True)
        ]
        + [
            ("", run["label"], run["items"], _bounds(run["bounds"]), "\u2013", "INCOMPLETE")
            for run in found["runs"]
            if run["incomplete"]
        ],
    )
    reporter.result("")
    reporter.table(
        (found["axis"], "n", *(f"{mark} %" for mark in marks)),
        [
            (
                short_name(found["axis"], group),
                group["n"],
                *(f"{points(run['accuracy'])} {run['letters']}".strip() for run in group["runs"]),
            )
            for group in found["groups"]
        ],
    )
    tests = found["correction"]
    reporter.result(
        "runs that share a letter are not told apart: exact McNemar test of whole units; Holm "
        f"over {counted(tests['overall_tests'], 'pair')} of all questions, and over "
        f"{tests['group_tests']:,} pairs by {found['axis']}; no letters where fewer than 10 "
        "questions are tested"
    )


def _head(reporter: Reporter, found: Mapping[str, Any]) -> None:
    """Say which condition the figures are of, where that is not plain, and what else differs."""
    left = [
        f"{', '.join(names)} of {run['label']}"
        for run, names in zip(found["runs"], found["conditions_left"], strict=True)
        if names
    ]
    if left or found["condition"] != "full":
        more = f"; not compared: {'; '.join(left)}" if left else ""
        reporter.result(f"all figures are of the condition {found['condition']}{more}")
    for note in found["notes"]:
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
    from medrcube.evaluate.statistics.verdict_text import points

    return "\u2013" if interval is None else f"{points(interval[0])} to {points(interval[1])}"


def _bounds(bounds: list[float]) -> str:
    from medrcube.evaluate.statistics.verdict_text import points

    return f"{points(bounds[0])} to {points(bounds[1])}"

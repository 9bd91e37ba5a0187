"""``medrcube sources validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import Json, SourceId, SourcePath
from medrcube.console.counts import counted

__all__ = ["validate"]


def validate(
    name: SourceId,
    root: Annotated[Path, typer.Argument(metavar="ROOT", help="Your copy of the raw data.")],
    source_path: SourcePath = None,
    json_output: Json = False,
) -> None:
    """Validate a copy of the raw data of a source.

    Prints the layout, the missing files, and the number of cases that can be built; the exit status
    is 1 if there are none.
    """
    from collections import Counter

    from medrcube.build.stages.reasons import reason_lines
    from medrcube.build.stages.scan import inspect_tree, scan
    from medrcube.console.progress import Reporter
    from medrcube.facts import BAD_ROW
    from medrcube.sources._framework.layout import compare_layouts
    from medrcube.sources._framework.raw_tree.roots import describe_root
    from medrcube.sources.registry import find_sources, get_source

    reporter = Reporter(json_output=json_output)
    source = get_source(find_sources(source_path or ()), name)
    with reporter.stage("files", None) as advance:
        tree = inspect_tree(source, root, advance)
    report = compare_layouts(source.card, tree.visible_tree)
    sentences = (report.describe(), describe_root(root, report.root))
    reporter.result("; ".join(filter(None, sentences)))
    cases, codes = 0, Counter[str]()
    reasons: tuple[str, ...] = ()
    if report.fits:
        scanned = scan(source, tree.root, b"", tree=tree)
        cases = len(scanned.cases)
        codes.update(problem.code for problem in scanned.problems)
        codes.update({"absent": len(scanned.absent)})
        aside = ", ".join(f"{count:,} {code}" for code, count in sorted(codes.items()) if count)
        reporter.result(
            f"{counted(cases, 'case')} with all files" + (f"; {aside}" if aside else "")
        )
        if not cases:
            reporter.result("no case can be built from this copy")
        reasons = reason_lines(scanned.problems)
        for reason in reasons if len(scanned.problems) > cases else ():
            reporter.result(reason)
        first = next((row.message for row in scanned.problems if row.code == BAD_ROW), None)
        if first is not None:
            reporter.result(f"first unusable row: {first}")
    reporter.data(
        {
            "source": report.source,
            "root": str(report.root),
            "layout": report.layout,
            "fits": report.fits,
            "complete": report.complete,
            "missing": list(report.missing),
            "lacks": list(report.lacks),
            "hints": list(report.hints),
            "litter": report.litter,
            "found": dict(report.counts),
            "expected": dict(report.expected),
            "cases": cases,
            "set_aside": dict(codes),
            "reasons": list(reasons),
        }
    )
    raise typer.Exit(0 if cases else 1)

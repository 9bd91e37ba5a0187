"""Score a file of replies from another tool."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medrcube.console.counts import counted

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter
    from medrcube.evaluate.imports.import_run import ImportedRun

__all__ = ["Model", "Out", "Release", "Replies", "score_file"]

_option = partial(typer.Option, rich_help_panel="Replies from another tool")

Replies = Annotated[
    Path | None,
    _option(
        metavar="FILE",
        help="Replies: rows of id and text (.jsonl, .csv, .tsv, .xlsx, .json), results.json of "
        "the upstream evaluator, or results of VLMEvalKit, Inspect, lmms-eval or lm-eval.",
    ),
]
Release = Annotated[
    Path | None,
    _option(metavar="RELEASE", help="Release the replies answer; its errata are applied."),
]
Out = Annotated[
    Path | None,
    _option(
        metavar="DIR",
        help="Also store the replies as a run, for report, compare and site.",
    ),
]
Model = Annotated[
    str | None,
    _option(
        metavar="NAME",
        help="Model name; overrides that in the file, or selects one of several.",
    ),
]


def score_file(
    replies: Path, release: Path, out: Path | None, model: str | None, reporter: Reporter
) -> bool:
    """Score a file and report which rows were used; true if only part of it was."""
    from medrcube.cli.options.releases import read_release
    from medrcube.evaluate.imports.import_run import score_replies

    benchmark = read_release(release)
    with _folder(out) as folder:
        imported = score_replies(replies, benchmark, folder, model=model)
    items = len(benchmark.standing)
    incomplete = _tell(imported, items, out, reporter)
    reporter.data(_data(imported, items, out))
    return incomplete


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="medrcube-") as folder:
        yield Path(folder) / "run"


def _tell(imported: ImportedRun, items: int, out: Path | None, reporter: Reporter) -> bool:
    """Print the counts; true if part of the file was not scored."""
    from medrcube.evaluate.outcomes import AnswerOutcome
    from medrcube.evaluate.reporting.interval_text import accuracy_line

    matched, total = imported.matched, imported.metrics["global"]
    if withdrawn := imported.metrics["withdrawn"]:
        reporter.result(
            f"left out: {counted(len(withdrawn), 'item')} withdrawn by errata: {_first(withdrawn)}"
        )
    reporter.result(
        f"{imported.model}: {counted(imported.replies, 'reply')} to {counted(items, 'item')}"
    )
    kinds: tuple[tuple[str, Sequence[str]], ...] = (
        ("without a reply, counted as failed", matched.missing),
        (
            "answered more than once, differently; none of these replies was used",
            matched.conflicting,
        ),
        ("shown with a different question or options, left out", matched.differing),
        ("answered more than once, identically; one reply was used", matched.repeated),
        ("not in this release, left out", matched.unknown),
        ("with an id that several sources share, left out", matched.ambiguous),
    )
    for words, names in kinds:
        if names:
            reporter.result(f"{counted(len(names), 'item')} {words}: {_first(names)}")
    if matched.bad:
        reporter.result(f"{counted(len(matched.bad), 'row')} cannot be read: {_first(matched.bad)}")
    outcomes = [(outcome.words, total["outcomes"][outcome]) for outcome in AnswerOutcome]
    reporter.result(", ".join(f"{count:,} {words}" for words, count in outcomes if count))
    reporter.result(accuracy_line(total))
    if matched.missing and total["accuracy_without_failures"] is not None:
        answered = 100 * total["accuracy_without_failures"]
        reporter.result(f"accuracy of the items with a reply {answered:.1f} %")
    if out is not None:
        reporter.result(f"wrote {out}; show it with  medrcube report {out} --out report.html")
    if why := _incomplete(imported):
        reporter.result(f"INCOMPLETE {why}")
    return why is not None


def _incomplete(imported: ImportedRun) -> str | None:
    """Why the numbers cover only part of the file; ``None`` if they cover all of it."""
    if imported.matched.ignored:
        return "these figures cover only part of the file"
    return imported.standing.incomplete


def _data(imported: ImportedRun, items: int, out: Path | None) -> dict[str, Any]:
    from dataclasses import asdict

    matched = asdict(imported.matched)
    del matched["replies"]
    return {
        "model": imported.model,
        "out": None if out is None else str(out),
        "items": items,
        "replies": imported.replies,
        **matched,
        "ends": imported.standing.ends,
        "incomplete": _incomplete(imported),
        "metrics": dict(imported.metrics),
    }


def _first(names: Sequence[str]) -> str:
    from medrcube.evaluate.imports.shown_options import LIST_LIMIT

    more = f" and {len(names) - LIST_LIMIT:,} more" if len(names) > LIST_LIMIT else ""
    return ", ".join(names[:LIST_LIMIT]) + more

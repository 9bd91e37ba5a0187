"""The command that hands a release or a run to other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from medrcube.errors import WorkspaceError

if TYPE_CHECKING:
    from medrcube.evaluate.conditions import Condition

Form = Literal["vlmevalkit", "lmms-eval", "lm-eval", "inspect"]


def export(
    place: Annotated[
        Path, typer.Argument(metavar="RELEASE|RUN", help="Folder of a release, or of a scored run.")
    ],
    to: Annotated[Form, typer.Option(help="The program; inspect takes the log of a run.")],
    out: Annotated[Path, typer.Option(help="Folder to write; for inspect a file, .json or .eval.")],
    private: Annotated[
        bool,
        typer.Option("--private", help="Take restricted pictures too; never share the folder."),
    ] = False,
    condition: Annotated[
        str | None,
        typer.Option(help="Of a run: full, blind, circular, image-swap or reworded."),
    ] = None,
) -> None:
    """Write a release as a benchmark of another harness, or a run as a log for Inspect's viewer."""
    from medrcube.console import Reporter
    from medrcube.evaluate.running.run_folder import MANIFEST

    reporter = Reporter()
    is_run = (place / MANIFEST).exists()
    if to == "inspect":
        from medrcube.evaluate.reporting.export_inspect import export_inspect

        if not is_run:
            raise WorkspaceError(f"{place}: is no run; inspect takes the folder of a scored run")
        count = export_inspect(place, out, _condition(condition))
        reporter.result(f"wrote {out}: {count:,} samples")
        return
    if is_run:
        raise WorkspaceError(f"{place}: is a run; {to} takes a release")
    from medrcube.evaluate.benchmark import load_benchmark
    from medrcube.evaluate.exports.selection import select
    from medrcube.evaluate.exports.writing import write_export

    chosen = select(load_benchmark(place), private=private)
    for sentence in chosen.left_out():
        reporter.result(sentence)
    path = write_export(chosen, out, to)
    reporter.result(f"wrote {path}: {len(chosen.items):,} items")
    if chosen.private:
        reporter.result(f"{out} holds restricted pictures; never share it")


def _condition(name: str | None) -> Condition | None:
    from medrcube.evaluate.conditions import Condition

    try:
        return Condition(name) if name else None
    except ValueError as error:
        known = ", ".join(one.value for one in Condition)
        raise WorkspaceError(f"no condition {name!r}; expected one of: {known}") from error

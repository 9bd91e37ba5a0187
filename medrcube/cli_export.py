"""The command that hands a run to other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.errors import WorkspaceError


def export(
    run: Annotated[Path, typer.Argument(help="Folder of a scored run.")],
    inspect: Annotated[
        Path, typer.Option(metavar="FILE", help="Log for Inspect's viewer: .json or .eval.")
    ],
    condition: Annotated[
        str | None, typer.Option(help="full, blind, circular, image-swap or reworded.")
    ] = None,
) -> None:
    """Write a run in the form of another tool; pictures are named, not put in."""
    from medrcube.console import Reporter
    from medrcube.evaluate.conditions import Condition
    from medrcube.evaluate.reporting.export_inspect import export_inspect

    try:
        wanted = Condition(condition) if condition else None
    except ValueError as error:
        known = ", ".join(one.value for one in Condition)
        raise WorkspaceError(f"no condition {condition!r}; expected one of: {known}") from error
    count = export_inspect(run, inspect, wanted)
    Reporter().result(f"wrote {inspect}: {count:,} samples")

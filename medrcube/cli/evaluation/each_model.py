"""Several models in one command: each is run, even after another has failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from medrcube.cli.endings import Interrupted
from medrcube.errors import MedrcubeError

if TYPE_CHECKING:
    from medrcube.console.progress import Reporter

__all__ = ["each_model"]


def each_model(
    folders: Mapping[str, Path],
    handle: Callable[[str], tuple[Mapping[str, Any], int]],
    reporter: Reporter,
) -> None:
    """Handle every model, print how each ended, and exit with the worst status.

    Args:
        folders: folder of each model's run.
        handle: runs or forecasts one model; returns its JSON output and exit status.
        reporter: prints the outcomes.

    Raises:
        Exit: always.
        MedrcubeError: the only model cannot be used.
        Interrupted: a model was stopped by hand; carries the output of the models before it.
    """
    if len(folders) == 1:
        row, status = handle(next(iter(folders)))
        reporter.data(row)
        raise typer.Exit(status)
    rows, worst, ends = list[Mapping[str, Any]](), 0, list[str]()
    for name, folder in folders.items():
        reporter.result(f"{name}:")
        try:
            row, status = handle(name)
            ends.append(f"{name}: {'incomplete' if status else 'done'}")
        except MedrcubeError as error:
            row, status = {"model": name, "out": str(folder), "error": str(error)}, error.exit_code
            ends.append(f"{name}: FAILED {error}")
        except Interrupted as stop:
            raise Interrupted({"runs": [*rows, {**stop.summary, "interrupted": True}]}) from None
        rows.append(row)
        worst = max(worst, status)
    for end in ends:
        reporter.result(end)
    reporter.data({"runs": rows})
    raise typer.Exit(worst)

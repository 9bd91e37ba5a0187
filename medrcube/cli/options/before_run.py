"""Options of ``medrcube evaluate`` that tell what a run will ask and cost before it is paid for."""

from __future__ import annotations

from typing import Annotated

import typer

from medrcube.errors import WorkspaceError

__all__ = ["DryRun", "Estimate", "check_alone"]

_PANEL = "Before a run"

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show what would be asked, sent, left out and paid; send nothing.",
        rich_help_panel=_PANEL,
    ),
]
Estimate = Annotated[
    bool,
    typer.Option(
        "--estimate",
        help="Estimate the cost from a random sample of 32 items or more, which the run keeps.",
        rich_help_panel=_PANEL,
    ),
]


def check_alone(*, dry_run: bool, estimate: bool, again: str | None) -> None:
    """Refuse what does not go together.

    Raises:
        WorkspaceError: two of these options are given.
    """
    if dry_run and estimate:
        raise WorkspaceError(
            "--dry-run sends nothing and --estimate asks a part of the run; give one of them"
        )
    if again is not None and (dry_run or estimate):
        raise WorkspaceError(
            "--again asks questions that a run is known to have lost; give it without --dry-run "
            "and --estimate"
        )

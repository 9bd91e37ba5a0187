"""Options of ``medrcube evaluate`` that preview a run: ``--dry-run`` and ``--estimate``."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from medrcube.errors import WorkspaceError

__all__ = ["DryRun", "Estimate", "check_alone"]

_option = partial(typer.Option, rich_help_panel="Before a run")

DryRun = Annotated[
    bool,
    _option(
        "--dry-run", help="Show what would be asked, sent, left out and charged; send nothing."
    ),
]
Estimate = Annotated[
    bool,
    _option(
        "--estimate",
        help="Estimate the cost from a random sample of at least 32 items; the run keeps the "
        "replies.",
    ),
]


def check_alone(*, dry_run: bool, estimate: bool, again: str | None) -> None:
    """Refuse mutually exclusive options.

    Raises:
        WorkspaceError: two of these options are given.
    """
    if dry_run and estimate:
        raise WorkspaceError(
            "--dry-run sends nothing, --estimate asks a sample; give only one of them"
        )
    if again is not None and (dry_run or estimate):
        raise WorkspaceError("--again cannot be combined with --dry-run or --estimate")

"""``medrcube init``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["init"]


def init(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of the new workspace.")
    ] = Path(),
) -> None:
    """Create a workspace.

    Writes a commented medrcube.toml, where you list your raw data.
    """
    from medrcube.console.progress import Reporter
    from medrcube.workspace import CONFIG, init_workspace

    workspace = init_workspace(directory)
    Reporter().result(f"wrote {workspace.root / CONFIG}; list your raw data under [sources]")

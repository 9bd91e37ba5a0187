"""``medrcube sources new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["new"]


def new(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of the new source.")],
    root: Annotated[Path, typer.Option("--from", metavar="ROOT", help="Raw data to describe.")],
    into: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of source folders to write into.")
    ] = Path("sources"),
) -> None:
    """Draft a source folder for raw data.

    TODO lines mark what needs a human decision.
    """
    from medrcube.console.progress import Reporter
    from medrcube.errors import MedrcubeError
    from medrcube.sources._framework.scaffold import new_source
    from medrcube.sources.registry import find_sources

    taken = find_sources().get(name)
    if taken is not None:
        raise MedrcubeError(f"{name!r} is the id of the source in {taken.folder}; choose another")
    folder = new_source(name, root, into)
    Reporter().result(f"wrote {folder}; decide every line marked TODO")

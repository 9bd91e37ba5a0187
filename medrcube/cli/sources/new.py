"""``medrcube sources new``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["new"]


def new(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of the new source.")],
    root: Annotated[Path, typer.Option("--from", metavar="ROOT", help="Root of the raw data.")],
    into: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder of source folders in which to create it.")
    ] = Path("sources"),
) -> None:
    """Draft a source folder for raw data.

    TODO lines mark what needs a human decision.
    """
    from medrcube.console.progress import Reporter
    from medrcube.errors import MedrcubeError
    from medrcube.sources._framework.scaffold import new_source
    from medrcube.sources.registry import find_sources

    namesake = find_sources().get(name)
    if namesake is not None:
        raise MedrcubeError(
            f"the id {name!r} is already taken by {namesake.folder}; choose another"
        )
    folder = new_source(name, root, into)
    Reporter().result(f"wrote {folder}; complete every line marked TODO")

"""``medrcube sources fixture``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medrcube.cli.options.shared import SourceId, SourcePath
from medrcube.errors import MedrcubeError

__all__ = ["fixture"]


def fixture(
    name: SourceId,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write.")],
    layout: Annotated[
        str | None, typer.Option(metavar="NAME", help="Layout; default: the first in the card.")
    ] = None,
    source_path: SourcePath = None,
) -> None:
    """Write synthetic raw data in the real layout."""
    from medrcube.console.progress import Reporter
    from medrcube.sources.registry import find_sources, get_source

    source = get_source(find_sources(source_path or ()), name)
    names = [entry.name for entry in source.card.layouts]
    if layout is not None and layout not in names:
        raise MedrcubeError(f"{name} has no layout {layout!r}; expected one of: {', '.join(names)}")
    if directory.exists() and not directory.is_dir():
        raise MedrcubeError(f"{directory} is a file; choose a new folder")
    if directory.exists() and any(directory.iterdir()):
        raise MedrcubeError(f"{directory} is not empty; choose a new folder")
    source.build_fixture(directory, layout or names[0])
    Reporter().result(f"wrote {directory}")

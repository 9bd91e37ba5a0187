"""Which index file the commands of ``medrcube ontologies`` open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["IndexOption", "find_index"]

IndexOption = Annotated[
    Path | None,
    typer.Option(
        "--index",
        metavar="DB",
        help="Index file; default: that of the current workspace, or ./ontologies.sqlite3.",
    ),
]


def find_index(index: Path | None) -> Path:
    """The index that is named, that of the workspace in this folder, or the default name here.

    Raises:
        WorkspaceError: the workspace in this folder has a wrong configuration.
    """
    from medrcube.ontologies.index import DEFAULT_INDEX
    from medrcube.workspace import CONFIG, open_workspace

    if index is not None:
        return index
    stated = open_workspace(Path()).ontology_index if Path(CONFIG).exists() else None
    return stated or Path(DEFAULT_INDEX)

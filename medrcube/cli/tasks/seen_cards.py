"""Cards that the ``tasks`` commands see, with the layers of their sources and workspace active."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from medrcube.sources._framework.card import Card

__all__ = ["OfWorkspace", "seen_cards"]

OfWorkspace = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="DIR",
        help="Workspace whose source folders and vocabulary count too.",
    ),
]


def seen_cards(source_path: Iterable[Path] | None, workspace: Path | None) -> list[Card]:
    """Cards of all sources, those of a workspace included where one is named.

    Raises:
        MedrcubeError: a folder contains no source, or the workspace names an unknown source.
        WorkspaceError: the folder is not a workspace.
    """
    if workspace is None:
        from medrcube.sources.registry import find_sources

        sources = find_sources(source_path or ())
    else:
        from medrcube.build.workspace_sources import workspace_sources
        from medrcube.workspace import open_workspace

        sources = workspace_sources(open_workspace(workspace), source_path or ())
    return [source.card for source in sources.values()]

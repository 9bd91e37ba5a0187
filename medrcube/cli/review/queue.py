"""The review queue of a workspace, opened for a command."""

from __future__ import annotations

from pathlib import Path

from medrcube.errors import MedrcubeError

__all__ = ["NO_REVIEWERS", "open_queue", "prepare_queue"]

NO_REVIEWERS = "no reviewers yet; create an account with  medrcube review adduser"
"""Sentence instead of a table of reviewers."""


def open_queue(directory: Path) -> Path:
    """Open the existing queue of a workspace; return the folder of the workspace."""
    root = directory.resolve()
    prepare_queue(root, new=False)
    return root


def prepare_queue(root: Path, *, new: bool, origin: str = "") -> Path | None:
    """Start Django for a workspace and upgrade its tables; return the copy of an older database."""
    from medrcube.review.server.bootstrap import configure, migrate, review_paths
    from medrcube.workspace import open_workspace

    paths = review_paths(root, origin=origin)
    if not new and "://" not in paths.database and not Path(paths.database).is_file():
        open_workspace(root)  # reports a folder that is not a workspace
        raise MedrcubeError(
            f"{paths.database}: there is no review queue yet; create one with  medrcube review "
            f"import {root}"
        )
    configure(paths)
    return migrate()

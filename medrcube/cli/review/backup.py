"""``medrcube review backup`` and ``restore``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from medrcube.cli.options.shared import Directory, Json
from medrcube.console.counts import counted

__all__ = ["backup", "restore"]


def backup(
    directory: Directory,
    out: Annotated[Path, typer.Argument(metavar="FILE", help="Output file, such as queue.tar.")],
    json_output: Json = False,
) -> None:
    """Back up database and images into one file. Reviewers can keep working meanwhile."""
    from medrcube.console.progress import Reporter
    from medrcube.review.server.backup import create_backup
    from medrcube.review.server.bootstrap import review_paths

    copy = create_backup(review_paths(directory.resolve()), out)
    reporter = Reporter(json_output=json_output)
    reporter.result(
        f"{copy.path}: {counted(copy.files, 'image')}, head {copy.events}:{copy.head_sha256}"
    )
    reporter.data(_summary(copy))


def restore(
    directory: Directory,
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="Backup to restore.")],
    json_output: Json = False,
) -> None:
    """Restore a backup into a workspace.

    The workspace must not have a queue; nothing is overwritten.
    """
    from medrcube.console.progress import Reporter
    from medrcube.review.server.backup import restore_backup as put_back
    from medrcube.review.server.bootstrap import review_paths
    from medrcube.workspace import CONFIG

    root = directory.resolve()
    copy = put_back(archive, review_paths(root))
    reporter = Reporter(json_output=json_output)
    reporter.result(
        f"restored to the state of {copy.made_at}, head {copy.events}:{copy.head_sha256}"
    )
    if not (root / CONFIG).is_file():
        reporter.note(f"{root} has no {CONFIG}; copy the workspace there too before serving it")
    reporter.data(_summary(copy))


def _summary(copy: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(copy), "path": str(copy.path)}

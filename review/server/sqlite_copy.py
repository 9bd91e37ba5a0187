"""Consistent copies of a SQLite file that may be in use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path

from medrcube.files.atomic import PRIVATE, replacing
from medrcube.review.errors import ReviewError

__all__ = ["copy_beside", "copy_database"]


def copy_database(source: Path, target: Path) -> None:
    """Copy a consistent snapshot of a SQLite file, even while it is being written.

    Raises:
        ReviewError: the file does not exist, or the copy is incomplete.
    """
    if not source.is_file():
        raise ReviewError(
            f"{source}: no such database; create a queue with  medrcube review import"
        )
    try:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)
            fault = new.execute("PRAGMA integrity_check").fetchone()[0]
    except sqlite3.Error as error:
        raise ReviewError(f"{source}: cannot be copied ({error})") from error
    if fault != "ok":
        raise ReviewError(f"{source}: the copy is damaged ({fault})")


def copy_beside(database: Path, word: str, now: datetime) -> Path:
    """Copy a SQLite file in its folder, under a name with the time and reason."""
    stamp = now.strftime("%Y-%m-%dT%H-%M-%S")
    target = database.with_name(f"{database.stem}-{word}-{stamp}{database.suffix}")
    with replacing(target, mode=PRIVATE) as partial:
        copy_database(database, partial)
    return target

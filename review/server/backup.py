"""Online backup and restore of a SQLite queue.

A backup is one tar file: a consistent snapshot of the database, the stored images, and a list of
both with digests. It does not contain the secret key, so that a leaked backup cannot be used to
forge sessions; after a restore everybody signs in again.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from medrcube.files.atomic import PRIVATE, private_file, private_folder, replacing, sha256_of
from medrcube.review.errors import ReviewError
from medrcube.review.server.bootstrap import KEY_FILE, LOCK_FILE, ReviewPaths
from medrcube.review.server.sqlite_copy import copy_database

__all__ = ["Backup", "create_backup", "restore_backup"]

_DATABASE = "review.sqlite3"
_FOLDER = "review"
_LIST = "back-up.json"
_OURS = frozenset({KEY_FILE, LOCK_FILE})


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """Content of a backup.

    Attributes:
        files: number of images and other stored files besides the database.
        events: length of the event chain.
        head_sha256: hash of its head; ``review verify-audit`` accepts both.
    """

    path: Path
    made_at: str
    files: int
    events: int
    head_sha256: str


def create_backup(place: ReviewPaths, target: Path) -> Backup:
    """Write a backup while the queue is in use.

    Raises:
        ReviewError: the queue uses PostgreSQL, which has its own tools, or there is no database.
        WorkspaceError: the file cannot be written.
    """
    database = _sqlite(place)
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        copy = Path(name) / _DATABASE
        # Database first: an image is stored before the row that refers to it, and never removed.
        copy_database(database, copy)
        files = {
            f"{_FOLDER}/{path.relative_to(place.folder)}": path for path in _stored_files(place)
        }
        files[_DATABASE] = copy
        events, head = _chain_head(copy)
        contents = {
            "made_at": made_at,
            "events": events,
            "head_sha256": head,
            "files": {name: sha256_of(path) for name, path in sorted(files.items())},
        }
        listed = Path(name) / _LIST
        listed.write_text(json.dumps(contents, indent=1), encoding="utf-8")
        with replacing(target, mode=PRIVATE) as partial, tarfile.open(partial, "w") as archive:
            archive.add(listed, _LIST)
            for inside, path in sorted(files.items()):
                archive.add(path, inside)
    return _backup_of(target, contents)


def restore_backup(archive: Path, place: ReviewPaths) -> Backup:
    """Restore a backup to a place without a queue; nothing is ever overwritten.

    Everything is checked before the first file is moved into place.

    Raises:
        ReviewError: a queue exists, or the file is damaged or is not a backup.
    """
    database = _sqlite(place)
    if database.exists() or any(_stored_files(place)):
        raise ReviewError(
            f"{database}: there is already a queue; move it and {place.folder} away first "
            "(nothing is overwritten)"
        )
    database.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=database.parent) as name:
        contents = _unpack(archive, Path(name))
        private_folder(place.folder)
        for inside in sorted(contents["files"]):
            if inside != _DATABASE:
                target = place.folder / Path(inside).relative_to(_FOLDER)
                target.parent.mkdir(parents=True, exist_ok=True)
                (Path(name) / inside).replace(target)
        private_file(Path(name) / _DATABASE)
        # Last, so that an interrupted restore does not look like a queue.
        (Path(name) / _DATABASE).replace(database)
    return _backup_of(archive, contents)


def _unpack(archive: Path, folder: Path) -> dict[str, Any]:
    if not archive.is_file():
        raise ReviewError(f"{archive}: no such file; expected a backup of a review queue")
    try:
        with tarfile.open(archive, "r:") as opened:
            _extract(opened, folder)
        contents: dict[str, Any] = json.loads((folder / _LIST).read_text(encoding="utf-8"))
        expected = {str(name): str(digest) for name, digest in contents["files"].items()}
        digests = {
            str(path.relative_to(folder)): sha256_of(path)
            for path in folder.rglob("*")
            if path.is_file() and path != folder / _LIST
        }
    except (OSError, tarfile.TarError, ValueError, LookupError, AttributeError) as error:
        raise ReviewError(f"{archive} is not a backup of a review queue, or is damaged") from error
    for name in sorted(expected.keys() | digests.keys()):
        if expected.get(name) != digests.get(name):
            raise ReviewError(f"{archive}: {name} is missing, changed, or not in the list")
    if _DATABASE not in digests:
        raise ReviewError(f"{archive}: contains no database")
    if _chain_head(folder / _DATABASE) != (contents.get("events"), contents.get("head_sha256")):
        raise ReviewError(f"{archive}: the database ends with another event than the list says")
    return contents


def _extract(opened: tarfile.TarFile, folder: Path) -> None:
    """Extract regular files below a folder, and nothing else.

    Python 3.11.2 (Debian 12) has no extraction filters (PEP 706, since 3.11.4).
    """
    for member in opened:
        inside = PurePosixPath(member.name)
        content = opened.extractfile(member) if member.isreg() else None
        if content is None or inside.is_absolute() or ".." in inside.parts:
            raise ValueError(f"{member.name} is not a regular file of a backup")
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        with content, target.open("xb") as file:
            shutil.copyfileobj(content, file)
        private_file(target)


def _stored_files(place: ReviewPaths) -> Iterator[Path]:
    for path in sorted(place.folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.name not in _OURS:
            yield path


def _sqlite(place: ReviewPaths) -> Path:
    if "://" in place.database:
        raise ReviewError(
            "this queue is in PostgreSQL: back up its database with pg_dump, restore it with "
            f"pg_restore, and copy the folder {place.folder} afterwards"
        )
    return Path(place.database)


def _chain_head(database: Path) -> tuple[int, str]:
    try:
        with closing(sqlite3.connect(database)) as opened:
            row = opened.execute("SELECT number, sha256 FROM review_chain WHERE id = 1").fetchone()
    except sqlite3.Error as error:
        raise ReviewError(f"{database} is not a database of a queue ({error})") from error
    return (row[0], row[1]) if row else (0, "")


def _backup_of(path: Path, contents: dict[str, Any]) -> Backup:
    return Backup(
        path=path,
        made_at=contents["made_at"],
        files=len(contents["files"]) - 1,
        events=contents["events"],
        head_sha256=contents["head_sha256"],
    )

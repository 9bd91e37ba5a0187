"""Bootstrap of Django for a workspace: folder, secret key, database, migrations."""

from __future__ import annotations

import os
import secrets
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from medrcube.files.atomic import private_file, private_folder
from medrcube.review.errors import ReviewError
from medrcube.review.server.database_settings import DATABASE_FILE, unreachable
from medrcube.review.server.sqlite_copy import copy_beside
from medrcube.sources.registry import vocabulary_of
from medrcube.vocabulary.layers import activate_in_all_threads
from medrcube.workspace import CONFIG, open_workspace

if TYPE_CHECKING:
    from django.db.migrations.loader import MigrationLoader

__all__ = [
    "KEY_FILE",
    "LOCK_FILE",
    "ReviewPaths",
    "activate_vocabulary_of",
    "configure",
    "migrate",
    "review_paths",
]

KEY_FILE = "secret.key"
LOCK_FILE = "update.lock"
_ADVISORY = 0x6D656472
"""Key of our PostgreSQL advisory lock."""
_PATIENCE = 600
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "9p", "ceph"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewPaths:
    """Paths and addresses of a queue.

    Attributes:
        folder: folder with the stored images and the secret key.
        database: path of a SQLite file, or ``postgresql://...``.
        origin: public address ``https://...``; empty if it is served on this machine only.
    """

    folder: Path
    database: str
    origin: str = ""


def review_paths(workspace: Path, *, origin: str = "") -> ReviewPaths:
    """Return the paths of a workspace's queue; ``MEDRCUBE_REVIEW_DATABASE`` sets the database."""
    database = os.environ.get("MEDRCUBE_REVIEW_DATABASE", "")
    return ReviewPaths(
        folder=workspace / "review",
        database=database or str(workspace / DATABASE_FILE),
        origin=origin,
    )


def configure(place: ReviewPaths) -> None:
    """Set up Django for a queue, once per process; ``migrate`` creates the tables.

    Raises:
        ReviewError: the SQLite file would be on a network file system, whose locks are
            unreliable, or the folder cannot be written.
    """
    if "://" not in place.database:
        _refuse_network(Path(place.database).absolute().parent)
    try:
        _restrict_to_owner(place)
        _make_key(place.folder / KEY_FILE)
    except OSError as error:
        raise ReviewError(f"{place.folder}: cannot be written ({error.strerror})") from error
    os.environ["MEDRCUBE_REVIEW_FOLDER"] = str(place.folder)
    os.environ["MEDRCUBE_REVIEW_DATABASE"] = place.database
    os.environ["MEDRCUBE_REVIEW_ORIGIN"] = place.origin
    os.environ["DJANGO_SETTINGS_MODULE"] = "medrcube.review.settings"
    activate_vocabulary_of(place.folder.parent)
    import django  # noqa: PLC0415  (reads the environment that was just set)

    django.setup()


def activate_vocabulary_of(workspace: Path) -> None:
    """Activate the workspace's vocabulary in every thread that handles requests."""
    if (workspace / CONFIG).is_file():
        opened = open_workspace(workspace)
        layers = vocabulary_of(opened.source_folders, vocabulary=[opened.vocabulary])
        activate_in_all_threads(layers)


def migrate() -> Path | None:
    """Create the tables or migrate older ones; does nothing if they are up to date.

    A SQLite file with older tables is copied first. Processes that start simultaneously wait for
    each other.

    Returns:
        Path of the copy, if one was made.

    Raises:
        ReviewError: the database is unreachable, was made by a newer medrcube, or a step failed.
    """
    from django.db import DatabaseError, connection  # noqa: PLC0415
    from django.db.migrations.executor import MigrationExecutor  # noqa: PLC0415

    name = str(connection.settings_dict["NAME"])
    if connection.vendor == "sqlite" and Path(name).is_absolute():
        private_file(Path(name))
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        raise unreachable(connection.settings_dict, error) from None
    with _update_lock():
        executor = MigrationExecutor(connection)
        loader = executor.loader
        _refuse_unknown(loader)
        latest = loader.graph.leaf_nodes()
        steps = executor.migration_plan(latest)
        if not steps:
            return None
        copy = _copy_before_update(name) if loader.applied_migrations else None
        try:
            executor.migrate(latest, steps)
        except DatabaseError as error:
            where = f"; a copy of the database before the upgrade is {copy}" if copy else ""
            raise ReviewError(f"the tables cannot be upgraded: {error}{where}") from error
    return copy


def _refuse_unknown(loader: MigrationLoader) -> None:
    """Reject tables of a newer version, or with a step that came before one that it needs."""
    from django.db import connection  # noqa: PLC0415
    from django.db.migrations.exceptions import InconsistentMigrationHistory  # noqa: PLC0415

    unknown = loader.applied_migrations.keys() - loader.disk_migrations.keys()
    newer = sorted(name for app, name in unknown if app == "review")
    if newer:
        raise ReviewError(
            f"this database was last used by a newer medrcube (step {newer[-1]}); "
            "install that version, or restore an older backup"
        )
    try:
        loader.check_consistent_history(connection)
    except InconsistentMigrationHistory as error:
        raise ReviewError(
            f"this database stands between two versions of medrcube: {error} Upgrade it with the "
            "version that last used it, then open it here"
        ) from error


@contextmanager
def _update_lock() -> Iterator[None]:
    """Hold a lock for one process at a time, which is released when the process ends."""
    from django.conf import settings  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [_ADVISORY])
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_ADVISORY])
        return
    lock = sqlite3.connect(settings.FOLDER / LOCK_FILE, timeout=_PATIENCE, isolation_level=None)
    with closing(lock):
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _copy_before_update(name: str) -> Path | None:
    """Copy a SQLite file; ``None`` for PostgreSQL and for databases in memory."""
    path = Path(name)
    return copy_beside(path, "before-update", datetime.now(UTC)) if path.is_file() else None


def _restrict_to_owner(place: ReviewPaths) -> None:
    """Restrict access to the queue to its owner, whatever the umask or previous mode.

    SQLite creates its ``-wal`` and ``-shm`` files with the mode of the database.
    """
    private_folder(place.folder)
    private_file(place.folder / LOCK_FILE)
    if "://" in place.database or place.database == ":memory:":
        return
    database = Path(place.database)
    exports = (database.with_name(name) for name in ("accepted.jsonl", "review.json"))
    copies = database.parent.glob(f"{database.stem}*{database.suffix}*")
    for path in (*copies, *exports):
        if path.is_file():
            private_file(path)


def _make_key(path: Path) -> None:
    """Create the key file atomically: of several processes that start at once, the first wins."""
    if path.exists():
        return
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(64))
        with suppress(FileExistsError):
            os.link(name, path)
    finally:
        Path(name).unlink()


def _refuse_network(folder: Path, mounts: Path = Path("/proc/mounts")) -> None:
    """Reject network file systems, on which SQLite's locks fail silently.

    See sqlite.org/howtocorrupt.html, 2.1.
    """
    try:
        lines = mounts.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    best, kind = "", ""
    for line in lines:
        point, name = line.split()[1:3]
        point = point.replace("\\040", " ")
        inside = folder == Path(point) or Path(point) in folder.parents
        if inside and len(point) >= len(best):
            best, kind = point, name
    if kind in _NETWORK:
        raise ReviewError(
            f"{folder}: lies on a network file system ({kind}), whose locks SQLite cannot trust; "
            "move the workspace to a local disk, or use PostgreSQL (MEDRCUBE_REVIEW_DATABASE)"
        )

"""Makes Django ready for one workspace: folder, key, database, tables."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from medrcube.review.errors import ReviewError

_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "afs", "9p", "ceph"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a queue keeps its things.

    Attributes:
        folder: stored pictures and the secret key.
        database: path of a SQLite file, or ``postgresql://...``.
        origin: ``https://...`` behind which people reach it; empty for this machine only.
    """

    folder: Path
    database: str
    origin: str = ""


def place_of(workspace: Path, *, origin: str = "") -> Place:
    """The place of a workspace's queue; ``MEDRCUBE_REVIEW_DATABASE`` names another database."""
    database = os.environ.get("MEDRCUBE_REVIEW_DATABASE", "")
    return Place(
        folder=workspace / "review",
        database=database or str(workspace / "review.sqlite3"),
        origin=origin,
    )


def configure(place: Place) -> None:
    """Start Django for a place; once in a process. Tables are made by ``migrate``.

    Raises:
        ReviewError: a SQLite file would lie on a network file system, whose locks cannot be
            trusted, or the folder cannot be written.
    """
    if "://" not in place.database:
        _refuse_network(Path(place.database).absolute().parent)
    try:
        place.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_key(place.folder / "secret.key")
    except OSError as error:
        raise ReviewError(f"{place.folder}: cannot be written ({error.strerror})") from error
    os.environ["MEDRCUBE_REVIEW_FOLDER"] = str(place.folder)
    os.environ["MEDRCUBE_REVIEW_DATABASE"] = place.database
    os.environ["MEDRCUBE_REVIEW_ORIGIN"] = place.origin
    os.environ["DJANGO_SETTINGS_MODULE"] = "medrcube.review.settings"
    import django  # noqa: PLC0415  (reads the environment that was just set)

    django.setup()


def migrate() -> None:
    """Make the tables, or bring older ones up to date; does nothing when they are."""
    from django.core.management import call_command  # noqa: PLC0415

    call_command("migrate", verbosity=0, interactive=False)


def _make_key(path: Path) -> None:
    if path.exists():
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(64))


def _refuse_network(folder: Path, mounts: Path = Path("/proc/mounts")) -> None:
    """SQLite's locks fail silently on network file systems (sqlite.org/howtocorrupt.html, 2.1)."""
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

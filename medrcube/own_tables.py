"""Tables of terms, relations and groups that lie in source folders outside the package.

The sources that a command can name decide which tables hold beside those of the package: finding
sources says so here, reading tables asks here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

OWN_TABLES = ("terms.csv", "relations.csv", "groups.csv")

_held: tuple[tuple[Path, str], ...] = ()


def hold(folders: Iterable[Path]) -> None:
    """Let the tables of these source folders hold, and those of no other."""
    global _held  # noqa: PLW0603 -- one vocabulary a process, as the package's own tables are
    _held = tuple((folder, digest) for folder in folders if (digest := digest_of(folder)))


def held() -> tuple[tuple[Path, str], ...]:
    """Every folder whose tables hold, with their digest."""
    return _held


def digest_of(folder: Path) -> str:
    """Hash of the tables in a source folder; empty where it has none."""
    digest, found = hashlib.sha256(), False
    for name in OWN_TABLES:
        path = folder / name
        if path.is_file():
            found = True
            digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest() if found else ""

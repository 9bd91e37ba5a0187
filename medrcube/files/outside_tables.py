"""Active vocabulary: term, relation and group tables in source folders outside the package.

The active tables are a context variable of the command, build or thread: ``using_vocabulary``
activates those of some folders for a block, so that two workspaces in one process never see each
other's words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "OWN_TABLES",
    "Vocabulary",
    "activate_vocabulary",
    "active_vocabulary",
    "tables_digest",
    "using_vocabulary",
]

OWN_TABLES = ("terms.csv", "relations.csv", "groups.csv")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tables that hold beside those of the package; equal values have equal words.

    Attributes:
        folders: each source folder that has tables, with their digest.
    """

    folders: tuple[tuple[Path, str], ...] = ()

    @classmethod
    def of(cls, folders: Iterable[Path]) -> Vocabulary:
        """The tables that lie in some source folders."""
        return cls(
            tuple((folder, digest) for folder in folders if (digest := tables_digest(folder)))
        )


_HELD: ContextVar[Vocabulary] = ContextVar("held", default=Vocabulary())  # noqa: B039  # frozen


def active_vocabulary() -> Vocabulary:
    """The tables that hold here."""
    return _HELD.get()


def activate_vocabulary(folders: Iterable[Path]) -> None:
    """Let the tables of these source folders hold from here on, and those of no other."""
    _HELD.set(Vocabulary.of(folders))


@contextmanager
def using_vocabulary(folders: Iterable[Path]) -> Iterator[None]:
    """Let the tables of these source folders hold meanwhile, and those of no other."""
    token = _HELD.set(Vocabulary.of(folders))
    try:
        yield
    finally:
        _HELD.reset(token)


def tables_digest(folder: Path) -> str:
    """Hash of the tables in a source folder; empty where it has none."""
    digest, has_table = hashlib.sha256(), False
    for name in OWN_TABLES:
        path = folder / name
        if path.is_file():
            has_table = True
            digest.update(f"{name}\0".encode() + path.read_bytes())
    return digest.hexdigest() if has_table else ""

"""SQLite file of the ontology index: opening, checks, queries."""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from pathlib import Path
from typing import Any

from medrcube.ontologies.index.name_normalization import canonical
from medrcube.ontologies.index.schema import APPLICATION, SCHEMA, IndexFileError, NoIndexError

__all__ = ["CACHE_SIZE", "IndexFile"]

HOW = "medrcube ontologies index --hpo F --radlex F --icd11 F --out"
"""Command that creates an index, without the file name."""

CACHE_SIZE = 1 << 14
"""Size of each of an index's caches; far more than all terms of this project."""

_KEY = (
    "SELECT concept, 1 FROM redirect WHERE id = ? UNION ALL "
    "SELECT key, 2 FROM concept WHERE id = ? UNION ALL "
    "SELECT key, 3 FROM concept WHERE code = ? AND code <> '' ORDER BY 2 LIMIT 1"
)


class IndexFile:
    """An opened index: read-only and immutable, so no lock is taken.

    Raises:
        NoIndexError: the file is something else.
        IndexFileError: the file is missing, has a different schema, or is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = _open(path)
        self.key = lru_cache(CACHE_SIZE)(self._find_key)
        """Return the key of the concept for an id or code, after redirects, or ``None``."""

    def rows(self, statement: str, *values: object) -> list[Any]:
        """Return a query's rows; use plain ``?``, since Python 3.12.0 to 3.12.3 warn of numbers."""
        try:
            return self._database.execute(statement, values).fetchall()
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, str(error)) from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _find_key(self, identity: str) -> int | None:
        for text in dict.fromkeys((canonical(identity), identity.strip().upper())):
            rows = self.rows(_KEY, text, text, text)
            if rows:
                return int(rows[0][0])
        return None


def _open(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise IndexFileError(f"{path}: there is no ontology index; make it with  {HOW} {path}")
    try:
        # Read-only, and serialised by SQLite itself, so threads may share it.
        database = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise _unreadable(path, error) from error
    try:
        _check(path, database)
    except sqlite3.Error as error:
        database.close()
        raise _unreadable(path, error) from error
    except IndexFileError:
        database.close()
        raise
    return database


def _check(path: Path, database: sqlite3.Connection) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (schema,) = database.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise _another(path)
    if schema != SCHEMA:
        raise IndexFileError(
            f"{path}: an ontology index of schema {schema}, expected {SCHEMA}; make it again:  "
            f"{HOW} {path}"
        )


def _another(path: Path) -> NoIndexError:
    return NoIndexError(
        f"{path} is not an ontology index; name one, or make it with  {HOW} ANOTHER-FILE"
    )


def _damaged(path: Path, what: str) -> IndexFileError:
    return IndexFileError(
        f"{path}: the ontology index is damaged ({what}); delete it and make it again:  "
        f"{HOW} {path}"
    )


def _unreadable(path: Path, error: Exception) -> IndexFileError:
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except OSError as refused:
        return IndexFileError(f"{path}: cannot be read ({refused.strerror})")
    ours = head[68:72] == APPLICATION.to_bytes(4, "big")  # application id: SQLite, section 1.3
    return _damaged(path, str(error)) if ours else _another(path)

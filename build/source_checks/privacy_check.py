"""Privacy check: searches build outputs for patient identifiers.

File names chosen by the publisher are public: recipes name files, so that others find them in their
copies. Every other identifier in ``Case.patient`` must reach no output byte, in any spelling: upper
or lower case, with or without separators, reversed, as hexadecimal or base64, or as an unkeyed
digest.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import sqlite3
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet

from medrcube.facts import Case
from medrcube.sources._synthetic.images import CANARY

__all__ = [
    "FixtureCopy",
    "holds_canary",
    "identifiers_in",
    "key_holds",
    "leaks",
    "secret_identifiers",
    "unnamed_identifiers",
    "unsearchable",
]

LEAST_LENGTH = 6
LEAST_KINDS = 4
"""Fewest characters, and fewest different ones, of an identifier that can be searched for; shorter
or more uniform ones occur in any file by chance.
"""

_WORDS = re.compile(r"[^\W_](?:[\w^.-]*[^\W_])?")
_DIGEST = 12
"""Hexadecimal digits of a digest that suffice to recognise it."""
_DIGESTS = ("md5", "sha1", "sha256")
_SEPARATORS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class FixtureCopy:
    """One copy of a source and the cases that the adapter finds in it."""

    root: Path
    cases: tuple[Case, ...]


def secret_identifiers(copies: Iterable[FixtureCopy]) -> frozenset[str]:
    """Return patient identifiers that occur in no raw file name of that patient, in any copy."""
    secret: set[str] = set()
    public: set[str] = set()
    for copied in copies:
        for case in copied.cases:
            if case.patient:
                names = _plain("/".join(_relative(file, copied.root) for file in case.files()))
                (public if _plain(case.patient) in names else secret).add(case.patient)
    return frozenset(secret - public)


def unnamed_identifiers(copies: Iterable[FixtureCopy]) -> frozenset[str]:
    """Return words of copies that look like patient identifiers but are not declared as such.

    Only copies in which some cases have no ``Case.patient`` are searched. The identifiers of these
    cases are in tables and headers, and have the same pattern of letters and digits as the declared
    ones.
    """
    copies = tuple(copies)
    patients = {case.patient for copied in copies for case in copied.cases if case.patient}
    shapes = {_shape(patient) for patient in patients}
    suspects: set[str] = set()
    for copied in copies:
        if all(case.patient for case in copied.cases):
            continue
        files = [path for path in sorted(copied.root.rglob("*")) if path.is_file()]
        names = _plain("/".join(_relative(path, copied.root) for path in files))
        words = {word for path in files for text in _texts(path) for word in _WORDS.findall(text)}
        alike = {word for word in words - patients if _shape(word) in shapes}
        suspects |= {word for word in alike if _plain(word) not in names}
    return frozenset(suspects - set(unsearchable(suspects)))


def unsearchable(identifiers: Iterable[str]) -> Iterator[str]:
    """Yield identifiers that other text may contain by chance, so that a search proves nothing."""
    for identifier in sorted(identifiers):
        plain = _plain(identifier)
        if len(plain) < LEAST_LENGTH or len(set(plain)) < LEAST_KINDS:
            yield identifier


def holds_canary(copied: FixtureCopy) -> bool:
    """Whether a synthetic copy holds ``CANARY`` in place of an identifier."""
    word = _plain(CANARY)
    if any(word in _plain(case.patient or "") for case in copied.cases):
        return True
    files = (path for path in sorted(copied.root.rglob("*")) if path.is_file())
    return any(word in _plain(text) for path in files for text in _texts(path))


def identifiers_in(text: str, identifiers: Iterable[str]) -> list[str]:
    """Return the identifiers, besides ``CANARY``, that a text contains in any spelling."""
    plain = _plain(text)
    return sorted(
        {
            identifier
            for spelling, identifier in _spelling_index(identifiers).items()
            if spelling in plain
        }
    )


def leaks(folder: Path, identifiers: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield every file whose name or content holds an identifier, with the identifier.

    Args:
        folder: output of a build.
        identifiers: identifiers to search for, besides ``CANARY``; see ``unsearchable``.
    """
    spellings = _spelling_index(identifiers)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        texts = [name, *(_texts(path) if path.is_file() else ())]
        plain = [_plain(text) for text in texts]
        hits = {
            identifier
            for spelling, identifier in spellings.items()
            if any(spelling in text for text in plain)
        }
        yield from ((name, identifier) for identifier in sorted(hits))


_WORD = CANARY.partition("^")[0]


def key_holds(key: str, identifier: str) -> bool:
    """Whether the key of a case holds an identifier."""
    return _plain(identifier) in _plain(key)


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _plain(text: str) -> str:
    return _SEPARATORS.sub("", text.casefold())


def _spelling_index(identifiers: Iterable[str]) -> dict[str, str]:
    return {
        spelling: identifier
        for identifier in sorted({*identifiers, _WORD})
        for spelling in _spellings(identifier)
    }


def _spellings(identifier: str) -> set[str]:
    """Return the spellings of an identifier: plain, JSON-escaped, reversed, and encoded."""
    cases = (identifier, identifier.upper(), identifier.lower())
    data = [case.encode() for case in cases]
    plain = _plain(identifier)
    return {
        *(plain, plain[::-1]),
        *(_plain(json.dumps(case)) for case in cases),
        *(encoded.hex() for encoded in data),
        *(_plain(base64.b64encode(encoded).decode()) for encoded in data),
        *(
            hashlib.new(name, encoded).hexdigest()[:_DIGEST]
            for name in _DIGESTS
            for encoded in data
        ),
    }


def _shape(identifier: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", identifier))


def _texts(path: Path) -> Iterator[str]:
    """Yield the bytes of a file as text, and its compressed content."""
    data = path.read_bytes()
    yield data.decode("utf-8", "replace")
    if data.startswith(b"PAR1"):
        table = pyarrow.parquet.read_table(path)
        yield f"{table.schema} {table.schema.metadata} {table.to_pydict()}"
    elif data.startswith(b"SQLite format 3"):
        yield from _cells(path)
    elif data.startswith(b"\x1f\x8b"):
        yield gzip.decompress(data).decode("utf-8", "replace")
    elif data.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(path) as archive:
            yield from (
                archive.read(member).decode("utf-8", "replace") for member in archive.namelist()
            )


def _cells(path: Path) -> Iterator[str]:
    """Yield every cell of a database, unpacked where a build packs its records."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        for (table,) in tables.fetchall():
            for row in database.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 -- its own names
                for cell in row:
                    yield _inflate(cell) if isinstance(cell, bytes) else str(cell)


def _inflate(cell: bytes) -> str:
    with suppress(zlib.error):
        cell = zlib.decompress(cell)
    return cell.decode("utf-8", "replace")

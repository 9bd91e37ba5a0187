"""Bounded reading of ontology files: plain, gzip or zip, up to a size limit.

The largest edition in use is RadLex 4.3 with 52 MB, the largest table ICD-11 with 11 MB. Anything
that unpacks to several times as much is a mistake or a decompression bomb, and is refused before it
exhausts memory.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from medrcube.ontologies.concept_records import OntologyError
from medrcube.ontologies.readers.detect_format import HEAD, Format, format_of

__all__ = ["LIMIT", "TABLE_LIMIT", "UTF8", "open_bytes", "open_text"]

LIMIT = 128 * 2**20
"""Maximum unpacked size of XML and JSON in bytes."""
TABLE_LIMIT = 64 * 2**20
"""Maximum unpacked size of tables and OBO in bytes; text rows take far more than that in memory."""
MEMBERS = 1000
UTF8 = "utf-8-sig"
_GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


@contextmanager
def open_bytes(path: Path, limit: int = LIMIT) -> Iterator[IO[bytes]]:
    """Open an ontology file as bytes, unpacked according to its magic bytes.

    For a zip, opens the one member that is an ontology; readme files and workbooks are skipped.

    Args:
        path: the file.
        limit: maximum unpacked size in bytes.

    Raises:
        OntologyError: the file is missing, damaged, larger than the limit, or a zip without
            exactly one ontology; may also be raised later, while reading.
    """
    if not path.is_file():
        kind = "is a folder" if path.is_dir() else "is not there, or no file"
        raise OntologyError(f"{path}: {kind}; expected an ontology file: check the path")
    try:
        with path.open("rb") as raw:
            magic = raw.read(4)
            raw.seek(0)
            if magic.startswith(_ZIP):
                with zipfile.ZipFile(raw) as archive, _member(archive, path, limit) as member:
                    yield io.BufferedReader(_Bounded(member, path, limit))
            elif magic.startswith(_GZIP):
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield io.BufferedReader(_Bounded(unpacked, path, limit))
            else:
                yield io.BufferedReader(_Bounded(raw, path, limit))
    except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile) as error:
        raise OntologyError(
            f"{path}: is damaged or cut short ({error}); get the file again"
        ) from error
    except OSError as error:
        raise OntologyError(f"{path}: cannot be read ({error.strerror or error})") from error


@contextmanager
def open_text(path: Path, encoding: str = UTF8, limit: int = LIMIT) -> Iterator[io.TextIOWrapper]:
    """Open an ontology file as text, without newline translation.

    Raises:
        OntologyError: as for ``open_bytes``, or the text has a different encoding.
    """
    with open_bytes(path, limit) as file:
        try:
            yield io.TextIOWrapper(file, encoding=encoding, newline="")
        except UnicodeDecodeError as error:
            name = "UTF-8" if encoding == UTF8 else encoding
            raise OntologyError(
                f"{path} is not {name} text (byte 0x{error.object[error.start]:02x}); get the "
                "file again from its owner, or convert it to UTF-8"
            ) from error


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Bounded(io.RawIOBase):
    """File wrapper that fails if more data are read than an ontology can have."""

    def __init__(self, file: _Readable, path: Path, limit: int) -> None:
        self._file = file
        self._path = path
        self._limit = limit
        self._budget = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        self._budget -= len(data)
        if self._budget < 0:
            raise OntologyError(_too_large(self._path, self._limit))
        buffer[: len(data)] = data
        return len(data)


def _too_large(path: Path, limit: int) -> str:
    return (
        f"{path}: holds more than {limit // 2**20} MiB unpacked; no edition of these ontologies "
        "is as large: check where the file came from"
    )


def _member(archive: zipfile.ZipFile, path: Path, limit: int) -> IO[bytes]:
    names = archive.namelist()
    if "[Content_Types].xml" in names:
        raise OntologyError(
            f"{path}: is an Excel workbook; expected the text table beside it in WHO's zip: give "
            "the zip itself or the .txt inside"
        )
    if len(names) > MEMBERS:
        raise OntologyError(f"{path}: holds {len(names)} files; expected one ontology in a zip")
    members: list[zipfile.ZipInfo] = []
    for info in archive.infolist():
        if info.is_dir() or info.filename.startswith("__MACOSX/"):
            continue
        if isinstance(format_of(_head(archive, info, path)), Format):
            members.append(info)
    if len(members) != 1:
        listed = ", ".join(info.filename for info in members) or "none"
        raise OntologyError(
            f"{path}: holds {len(members)} ontology files ({listed}); expected one: unpack it and "
            "give the file that is meant"
        )
    if members[0].file_size > limit:
        raise OntologyError(_too_large(path, limit))
    return archive.open(members[0])


def _head(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> bytes:
    try:
        with archive.open(info) as member:
            return member.read(HEAD)
    except (NotImplementedError, RuntimeError) as error:  # unsupported method; a password
        raise OntologyError(
            f"{path}: {info.filename} cannot be unpacked ({error}); unpack it yourself and give "
            "the file inside"
        ) from error

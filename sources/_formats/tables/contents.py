"""Contents of table files: size-limited, decompressed, as text or JSON.

The unpacked size of a compressed file is measured before anything is kept, as a protection against
decompression bombs. Non-text files are rejected by their first bytes or share of control
characters, whatever the encoding, because every byte is valid Latin-1.
"""

from __future__ import annotations

import gzip
import json
import zipfile
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from pathlib import Path
from typing import Any

from medrcube.errors import RowError, TableError

__all__ = [
    "MOST_BYTES",
    "check_archive",
    "read_content",
    "read_json",
    "read_text",
    "read_text_of_case",
]

MOST_BYTES = 1 << 30
"""Maximum unpacked size of a table: eight times the largest of all sources."""

_SMALL = 16 << 20
_MOST_PACKED = 200
"""Maximum compression ratio; real tables stay below 50."""
_STEP = 1 << 20
_MARKS = {
    BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose BOM is its prefix
    BOM_UTF32_BE: "UTF-32",
    BOM_UTF16_LE: "UTF-16",
    BOM_UTF16_BE: "UTF-16",
}
_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\v\f\r\x1a\x1b"))
_LOOKED_AT = 1 << 16
_STRAY = 4
"""Tolerated control characters in an otherwise textual file with a few damaged cells."""
_MOST_CONTROLS = 0.02


def read_content(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        TableError: it is missing, empty, or larger than ``MOST_BYTES``.
    """
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        raise TableError(path, "the table is missing; the card expects it there") from None
    if not size:
        raise TableError(path, "is empty (0 bytes); get the file again")
    if size > MOST_BYTES:
        raise _too_large(path, f"has {size} bytes")
    return path.read_bytes()


def read_text(path: Path, encoding: str = "utf-8-sig", errors: str = "strict") -> str:
    """Return the text of a plain or compressed file; a UTF-8 BOM is dropped in any encoding.

    Args:
        path: the file: plain, gzip, or the only file in a zip, detected by its first bytes.
        encoding: text encoding.
        errors: error handling, as in ``bytes.decode``.

    Raises:
        TableError: the file is missing, empty, damaged or too large, or is not text in this
            encoding.
    """
    data = _unpacked(path, read_content(path))
    for mark, name in _MARKS.items():
        if data.startswith(mark):
            raise TableError(
                path,
                f"begins with the byte order mark of {name}; expected {encoding} text; convert "
                f"it:  iconv -f {name} -t UTF-8 {path.name} > converted",
            )
    if not data.strip():
        raise TableError(path, "contains only blanks; get the file again")
    start = data[:_LOOKED_AT]
    controls = len(start) - len(start.translate(None, _CONTROLS))
    if controls > max(_STRAY, _MOST_CONTROLS * len(start)):
        raise TableError(
            path,
            f"is not text: {controls} of its first {len(start)} bytes are control characters; "
            "get the file again, or save it as UTF-8",
        )
    try:
        return data.removeprefix(BOM_UTF8).decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise TableError(path, f"is not {encoding} text ({error.reason})") from None


def read_json(path: Path) -> Any:
    """Parse a plain or compressed JSON file.

    Raises:
        TableError: as ``read_text``, or it is not valid JSON.
    """
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise TableError(path, f"is not valid JSON ({what}); get the file again") from None


def read_text_of_case(path: Path, encoding: str = "utf-8-sig") -> str:
    """Return the text of a file about a single case.

    Raises:
        RowError: where ``read_text`` raises ``TableError``; other cases have their own files.
    """
    try:
        return read_text(path, encoding)
    except TableError as error:
        raise RowError(f"{path.parent.name}/{path.name}: {error.what}") from None


def check_archive(path: Path, archive: zipfile.ZipFile) -> None:
    """Reject an archive, such as a spreadsheet, with an excessive unpacked size.

    Raises:
        TableError: the stated sizes are too large; nothing is unpacked beyond them.
    """
    packed = sum(member.compress_size for member in archive.infolist())
    _check_size(path, sum(member.file_size for member in archive.infolist()), packed)


def _unpacked(path: Path, data: bytes) -> bytes:
    try:
        if data.startswith(b"\x1f\x8b"):
            _measure(path, len(data))
            return gzip.decompress(data)
        if data.startswith(b"PK\x03\x04"):
            return _only_member(path)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _damaged(path, "gzip", error) from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError) as error:
        raise _damaged(path, "zip", error) from None
    return data


def _measure(path: Path, packed: int) -> None:
    """Measure the unpacked size of a gzip file without keeping its content."""
    size = 0
    with gzip.open(path) as file:
        while step := len(file.read(_STEP)):
            size += step
            _check_size(path, size, packed)


def _only_member(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise TableError(path, f"holds {len(names)} files; expected a single table")
        check_archive(path, archive)
        return archive.read(names[0])


def _check_size(path: Path, size: int, packed: int) -> None:
    if size > MOST_BYTES or size > max(_SMALL, _MOST_PACKED * packed):
        raise _too_large(path, f"unpacks from {packed} bytes to {size} or more")


def _too_large(path: Path, problem: str) -> TableError:
    return TableError(
        path,
        f"{problem}; expected at most {MOST_BYTES}, and a compression ratio of at most "
        f"{_MOST_PACKED}: it is damaged, or crafted to exhaust memory",
    )


def _damaged(path: Path, kind: str, error: Exception) -> TableError:
    return TableError(path, f"is damaged {kind} ({error}); get the file again")

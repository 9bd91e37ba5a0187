"""Contents of table files: bounded, decompressed, as text or JSON.

A packed file is measured before any of it is kept, so that one made to exhaust the memory costs
none. What is not text, by its first bytes or by its share of control characters, is refused here,
whatever the encoding: every byte is a letter of Latin-1.
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
"""Of one table, unpacked: eight times the longest of the sources."""

_SMALL = 16 << 20
_MOST_PACKED = 200
"""Times that a table may be smaller packed; real ones stay below 50."""
_STEP = 1 << 20
_MARKS = {
    BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it begins with
    BOM_UTF32_BE: "UTF-32",
    BOM_UTF16_LE: "UTF-16",
    BOM_UTF16_BE: "UTF-16",
}
_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\v\f\r\x1a\x1b"))
_LOOKED_AT = 1 << 16
_STRAY = 4
"""Control characters that a damaged cell or two may hold in a file that is text otherwise."""
_MOST_CONTROLS = 0.02


def read_content(path: Path) -> bytes:
    """The bytes of a file.

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
    """Text of a file, plain or packed; a byte order mark of UTF-8 counts in no encoding.

    Args:
        path: the file: plain, gzip, or alone in a zip; its first bytes tell.
        encoding: of its text.
        errors: what becomes of a byte that is none, as in ``bytes.decode``.

    Raises:
        TableError: the file is missing, empty, damaged or too large, or holds no such text.
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
        raise TableError(path, "holds nothing but blanks; get the file again")
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
    """What a JSON file holds, plain or packed.

    Raises:
        TableError: as ``read_text``, or it is not valid JSON.
    """
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        what = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise TableError(path, f"is not valid JSON ({what}); get the file again") from None


def read_text_of_case(path: Path, encoding: str = "utf-8-sig") -> str:
    """Text of a file that speaks of one case, and is one of many.

    Raises:
        RowError: as ``read_text`` raises ``TableError``; other cases have files of their own.
    """
    try:
        return read_text(path, encoding)
    except TableError as error:
        raise RowError(f"{path.parent.name}/{path.name}: {error.what}") from None


def check_archive(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse an archive, such as a spreadsheet, that unpacks to more than any table has.

    Raises:
        TableError: by the sizes that it states; nothing is unpacked beyond them.
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
    """Unpack a gzip file without keeping any of it."""
    size = 0
    with gzip.open(path) as file:
        while step := len(file.read(_STEP)):
            size += step
            _check_size(path, size, packed)


def _only_member(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise TableError(path, f"holds {len(names)} files; expected one table alone")
        check_archive(path, archive)
        return archive.read(names[0])


def _check_size(path: Path, size: int, packed: int) -> None:
    if size > MOST_BYTES or size > max(_SMALL, _MOST_PACKED * packed):
        raise _too_large(path, f"unpacks from {packed} bytes to {size} or more")


def _too_large(path: Path, problem: str) -> TableError:
    return TableError(
        path,
        f"{problem}; expected at most {MOST_BYTES}, and packed not below one part in "
        f"{_MOST_PACKED}: it is damaged, or made to exhaust the memory",
    )


def _damaged(path: Path, kind: str, error: Exception) -> TableError:
    return TableError(path, f"is damaged {kind} ({error}); get the file again")

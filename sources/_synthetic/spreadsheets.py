"""Synthetic spreadsheets for fixtures, in both formats that datasets use."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from medrcube.sources._synthetic.images import CANARY

__all__ = [
    "Sheets",
    "Value",
    "write_spreadsheet",
]

Value = str | int | float | None
Sheets = Mapping[str, Sequence[Sequence[Value]]]
"""Sheet name -> rows of cells, in order."""


def write_spreadsheet(path: Path, sheets: Sheets) -> None:
    """Write one ``.xlsx`` or ``.xls`` file with an identifier as its author.

    Args:
        path: target; its suffix determines the format, and parents are created.
        sheets: content of the sheets; ``None`` is an empty cell.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".xls":
        path.write_bytes(_biff8(sheets))
        return
    import openpyxl  # noqa: PLC0415

    book = openpyxl.Workbook(write_only=True)
    book.properties.creator = CANARY
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        for row in rows:
            page.append(row)
    book.save(path)


def _biff8(sheets: Sheets) -> bytes:
    """Return a workbook stream as in [MS-XLS], without the enclosing compound file."""
    pages = [_page(rows) for rows in sheets.values()]
    head = _begin(0x0005) + _raw(0x005C, _string(CANARY))
    names = [bytes([len(name), 0]) + name.encode("latin-1") for name in sheets]
    # Each sheet is listed with its offset: header, these records of 4 + 6 bytes, end record.
    offset = len(head) + sum(10 + len(name) for name in names) + 4
    for name, page in zip(names, pages, strict=True):
        head += _raw(0x0085, struct.pack("<IH", offset, 0) + name)
        offset += len(page)
    return head + _raw(0x000A, b"") + b"".join(pages)


def _page(rows: Sequence[Sequence[Value]]) -> bytes:
    page = _begin(0x0010)
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            place = struct.pack("<HHH", y, x, 0)
            if isinstance(value, str):
                page += _raw(0x0204, place + _string(value))
            elif value is not None:
                page += _raw(0x0203, place + struct.pack("<d", value))
    return page + _raw(0x000A, b"")


def _string(text: str) -> bytes:
    return struct.pack("<HB", len(text), 1) + text.encode("utf-16-le")


def _begin(kind: int) -> bytes:
    """The first record of the workbook (5) or of a sheet (16), in version 8."""
    return _raw(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 0, 0, 0x0600))


def _raw(number: int, data: bytes) -> bytes:
    return struct.pack("<HH", number, len(data)) + data

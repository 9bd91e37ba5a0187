"""Spreadsheets: ``.xlsx``, ``.xls``, and sheets saved as ``.csv``.

Cells are converted to text: whole numbers without ``.0``, although spreadsheets store all numbers
as floats, dates as ISO 8601, empty cells as ``""``.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from medrcube.errors import TableError
from medrcube.sources._formats.tables.contents import check_archive, read_content
from medrcube.sources._formats.tables.tables import TableRow, name_cells, read_rows, require_columns

__all__ = ["read_cells", "read_sheet", "sheet_names"]

Cells = tuple[str, ...]


def read_sheet(
    path: Path,
    *,
    columns: Iterable[str],
    sheet: str | None = None,
    header: int = 1,
    data: int | None = None,
) -> list[TableRow]:
    """Read the rows of a sheet by column name, without blank rows.

    Args:
        path: the spreadsheet.
        columns: column names that must exist; others are kept too. Names and values are stripped;
            of two columns with the same name the first is kept.
        sheet: name of the sheet; by default the first.
        header: number of the header row, from 1.
        data: number of the first data row; by default the row after the header.

    Raises:
        TableError: the file or sheet is missing or broken, or lacks a column.
    """
    cells = read_cells(path, sheet=sheet)
    names = [name.strip() for name in cells[header - 1]] if header <= len(cells) else []
    require_columns(path, names, columns)
    first = header + 1 if data is None else data
    return [
        TableRow(name_cells(names, row), path.name, line)
        for line, row in enumerate(cells[first - 1 :], first)
        if any(cell.strip() for cell in row)
    ]


def read_cells(path: Path, *, sheet: str | None = None) -> list[Cells]:
    """Read all cells of a sheet as text, for tables without usable column names.

    A formula is read as its saved result.

    Args:
        path: the spreadsheet; its suffix determines the format.
        sheet: name of the sheet; the first by default.

    Raises:
        TableError: the file or sheet is missing or broken.
    """
    content = read_content(path)
    suffix = path.suffix.lower()
    if suffix == ".csv":  # one sheet of a workbook
        return read_rows(path)
    return list((_xls if suffix == ".xls" else _xlsx)(path, content, sheet))


def sheet_names(path: Path) -> tuple[str, ...]:
    """Return the sheet names of an ``.xlsx`` or ``.xls`` file, in order.

    Raises:
        TableError: the file is missing or broken.
    """
    content = read_content(path)
    if path.suffix.lower() == ".xls":
        return tuple(_xls_book(path, content).sheet_names())
    with _xlsx_book(path, content) as book:
        return tuple(page.title for page in book.worksheets)


def _xlsx(path: Path, content: bytes, sheet: str | None) -> Iterator[Cells]:
    with _xlsx_book(path, content) as book:
        page = book[_choose(path, sheet, book.sheetnames)]
        # Some programs store a wrong sheet size, which would truncate rows.
        page.reset_dimensions()
        rows = [tuple(map(_text, row)) for row in page.iter_rows(values_only=True)]
    yield from rows


@contextmanager
def _xlsx_book(path: Path, content: bytes) -> Iterator[Any]:
    import openpyxl  # noqa: PLC0415

    try:
        with warnings.catch_warnings():
            # It warns about styles and data validation that it drops; values are not affected.
            warnings.filterwarnings("ignore", module=r"openpyxl\.")
            with ZipFile(io.BytesIO(content)) as archive:
                check_archive(path, archive)
            yield openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    except (BadZipFile, KeyError, ValueError, OSError) as error:
        raise TableError(path, f"is not a readable .xlsx file ({error}); get it again") from error


def _xls_book(path: Path, content: bytes) -> Any:
    import xlrd  # noqa: PLC0415

    try:
        return xlrd.open_workbook(file_contents=content, logfile=io.StringIO())
    except (
        *(xlrd.XLRDError, xlrd.compdoc.CompDocError, AssertionError, IndexError),
        *(BadZipFile, KeyError, struct.error),
    ) as error:
        raise TableError(path, f"is not a readable .xls file ({error}); get it again") from error


def _xls(path: Path, content: bytes, sheet: str | None) -> Iterator[Cells]:
    book = _xls_book(path, content)
    page = book.sheet_by_name(_choose(path, sheet, book.sheet_names()))
    for number in range(page.nrows):
        yield tuple(_xls_text(cell, book.datemode) for cell in page.row(number))


def _choose(path: Path, sheet: str | None, names: list[str]) -> str:
    if sheet is None:
        return names[0]
    if sheet not in names:
        raise TableError(
            path,
            f"sheet {sheet!r} is missing (sheets: {', '.join(names)}); is this another edition of "
            "the table?",
        )
    return sheet


def _xls_text(cell: Any, datemode: int) -> str:
    import xlrd  # noqa: PLC0415

    if cell.ctype == xlrd.XL_CELL_DATE:
        return _text(xlrd.xldate_as_datetime(cell.value, datemode))
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return _text(bool(cell.value))
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code[cell.value])
    return _text(cell.value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime) and value.time() == time():
        return value.date().isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value)

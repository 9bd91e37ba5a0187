"""Read table rows of a result file: spreadsheet, TSV, CSV, or a JSON list of objects."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError, failure_text

__all__ = ["SPREADSHEET", "table_rows"]

SPREADSHEET = ".xlsx"

_DIALECTS = {".tsv": "excel-tab", ".csv": "excel"}
_LARGEST_CELL = 2**24


def table_rows(path: Path) -> Sequence[Mapping[str, Any]]:
    """Return rows as dictionaries, in file order; the extension determines the format.

    Raises:
        WorkspaceError: it cannot be read, or is not what its extension says.
    """
    if path.suffix == SPREADSHEET:
        return _spreadsheet(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        if path.suffix == ".json":
            return _records(json.loads(text))
        usual = csv.field_size_limit(_LARGEST_CELL)  # applies to the whole process
        try:
            return list(csv.DictReader(io.StringIO(text, newline=""), dialect=_dialect(path)))
        finally:
            csv.field_size_limit(usual)
    except (OSError, ValueError, RecursionError, csv.Error) as error:
        raise WorkspaceError(f"{path}: cannot be read: {failure_text(error)}") from error


def _dialect(path: Path) -> str:
    return _DIALECTS[path.suffix]


def _records(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or (value and not any(isinstance(row, dict) for row in value)):
        raise ValueError("expected a list of objects")
    # Anything but an object is treated as a row without columns, and refused or counted as such.
    return [row if isinstance(row, dict) else {} for row in value]


def _spreadsheet(path: Path) -> Sequence[Mapping[str, Any]]:
    import openpyxl  # noqa: PLC0415 - needs an extra

    try:
        book: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = book.worksheets[0].iter_rows(values_only=True)
        columns = next(rows, ())
        records = [dict(zip(columns, row, strict=False)) for row in rows]
        book.close()
    except Exception as error:  # openpyxl raises many kinds of exception on invalid files
        raise WorkspaceError(f"{path} is not a spreadsheet: {error}") from error
    return records

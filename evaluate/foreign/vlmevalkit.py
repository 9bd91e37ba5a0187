"""Result files of VLMEvalKit: the columns of the data set, and the reply as ``prediction``.

Spreadsheets, TSV and JSON are read; a pickle is not, since opening one runs what it says.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.foreign.replies import ForeignReply, ForeignRun

TOOL = "vlmevalkit"
ITEM = "item"
"""Column of the item's name that our export adds, since ``index`` is a number there."""

FAILED = "Failed to obtain answer"
"""What stands in place of a reply when a request failed (``INFER_FAIL_MSG``)."""

SUFFIXES = (".xlsx", ".tsv")

_LARGEST_CELL = 2**24


def read_vlmevalkit(path: Path) -> ForeignRun:
    """The replies of ``MODEL_DATASET.xlsx``, ``.tsv`` or ``.json``.

    Raises:
        WorkspaceError: it cannot be read, or lacks the columns ``item`` and ``prediction``.
    """
    rows = _spreadsheet(path) if path.suffix == ".xlsx" else _text_rows(path)
    replies = []
    for number, row in enumerate(rows, start=2):
        item, text = row.get(ITEM), row.get("prediction")
        if not isinstance(item, str) or "prediction" not in row:
            raise WorkspaceError(
                f"{path} row {number}: has no {ITEM} and prediction; expected a result of a data "
                "set that  medrcube export --to vlmevalkit  wrote"
            )
        said = "" if text is None else str(text)
        replies.append(ForeignReply(item=item, text=None if FAILED in said else said))
    # Its files are named MODEL_DATASET, and so is their folder: both may hold the sign between.
    return ForeignRun(tool=TOOL, model=path.parent.name, replies=tuple(replies))


def _text_rows(path: Path) -> Iterable[Mapping[str, Any]]:
    try:
        text = path.read_bytes().decode()
        if path.suffix == ".json":
            return _records(json.loads(text))
        usual = csv.field_size_limit(_LARGEST_CELL)  # of the whole process
        try:
            return list(csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab"))
        finally:
            csv.field_size_limit(usual)
    except (OSError, ValueError, csv.Error) as error:
        raise WorkspaceError(f"{path}: cannot be read: {error}") from error


def _records(found: Any) -> list[Mapping[str, Any]]:
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError("expected a list of objects")
    return found


def _spreadsheet(path: Path) -> Iterable[Mapping[str, Any]]:
    import openpyxl  # noqa: PLC0415 - needs an extra

    try:
        book: Any = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = book.worksheets[0].iter_rows(values_only=True)
        columns = next(rows, ())
        found = [dict(zip(columns, row, strict=False)) for row in rows]
        book.close()
    except Exception as error:  # its reader fails in many ways on what is no spreadsheet
        raise WorkspaceError(f"{path}: is no spreadsheet: {error}") from error
    return found

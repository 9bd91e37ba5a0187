"""Data frames of records: columns in fixed order and type."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from medrcube.errors import WorkspaceError

__all__ = ["column_types", "records_to_frame", "require_columns", "typed", "typed_frame"]

_TYPES = {"str": "str", "int": "int64", "float": "float64", "bool": "bool"}


def column_types(record: type) -> dict[str, str]:
    """Column -> pandas type, in the order of the attributes of a record of plain values."""
    return {
        column.name: _TYPES[str(column.type).removesuffix(" | None")] for column in fields(record)
    }


def records_to_frame(records: Iterable[Any], types: Mapping[str, Any]) -> pd.DataFrame:
    """One row per record, with columns in fixed order and type even if there are no records."""
    records = list(records)
    columns = {
        name: pd.array([getattr(record, name) for record in records], dtype=kind)
        for name, kind in types.items()
    }
    return pd.DataFrame(columns)


def typed(column: pd.Series[Any], kind: Any) -> pd.Series[Any]:
    """Return a column with a type; the column itself if it has that type already."""
    return column if column.dtype == kind else column.astype(kind)


def typed_frame(frame: pd.DataFrame, types: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame with types for some columns; only columns of another type are converted."""
    present = dict(zip(frame.columns, frame.dtypes, strict=True))
    return frame.astype({name: kind for name, kind in types.items() if present[name] != kind})


def require_columns(frame: pd.DataFrame, columns: Collection[str], table: str) -> pd.DataFrame:
    """Return the required columns of a table, in their order.

    Args:
        frame: the table as it was read.
        columns: names of the required columns.
        table: name of the table in messages, such as ``items table``.

    Raises:
        WorkspaceError: a column is missing.
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise WorkspaceError(
            f"{table}: column {missing[0]!r} is missing; build the workspace again"
        )
    return frame[list(columns)]

"""Validation of ``open_items.parquet``: it must hold exactly the items of all ``open.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.validation.bounded_parquet import read_table
from medrcube.build.validation.consistency import ItemRow
from medrcube.build.validation.findings import FaultLog
from medrcube.errors import ReleaseError
from medrcube.release_format.open_rows import OPEN_ITEMS
from medrcube.release_format.tree import safe_repr

__all__ = ["check_open_proof"]

_LARGEST = 2**30
_SAME = ("question", "form", "ask", "truth", "chance", "modality")
"""Fields with the same name in both tables."""


def check_open_proof(
    root: Path,
    files: frozenset[str],
    rows: Sequence[ItemRow],
    recipes: Mapping[str, Recipe],
    findings: FaultLog,
    *,
    most: int,
) -> pd.DataFrame | None:
    """Compare the rows of all ``open.json`` with their proof.

    Args:
        root: the release.
        files: files in it.
        rows: the valid rows of its open items.
        recipes: by image.
        findings: log of the faults.
        most: most rows that the table may have.

    Returns:
        The table; ``None`` if it is missing or cannot be read.
    """
    if OPEN_ITEMS not in files:
        if rows:
            findings.add("proof-missing", OPEN_ITEMS)
        return None
    try:
        table = _records(root, most)
    except ReleaseError as error:
        findings.add("items-table", str(error))
        return None
    records = {str(record["id"]): record for record in table}
    for entry in rows:
        record = records.pop(entry.row.id, None)
        if record is None:
            findings.add("items-differ", f"{entry.where}: {entry.row.id} is not in {OPEN_ITEMS}")
            continue
        for name in _different(entry, record, recipes):
            findings.add("items-differ", f"{entry.where}: has a different {name} in {OPEN_ITEMS}")
    for name in sorted(records):
        findings.add("items-differ", f"{safe_repr(name)} of {OPEN_ITEMS} is in no open.json")
    return pd.DataFrame(table)


def _records(root: Path, most: int) -> list[dict[str, Any]]:
    """Read the rows of the table.

    Raises:
        ReleaseError: it is not a table of open items.
    """
    needed = {*_SAME, "id", "sample", "source", "task", "anatomy"}
    table = read_table(root, OPEN_ITEMS, most=most, largest=_LARGEST)
    if missing := sorted(needed - set(table.column_names)):
        raise ReleaseError(f"{OPEN_ITEMS}: has no column {missing[0]!r}")
    try:
        records: list[dict[str, Any]] = table.to_pylist()
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise ReleaseError(
            f"{OPEN_ITEMS} is not a valid Parquet file ({type(error).__name__})"
        ) from None
    return records


def _different(
    entry: ItemRow, record: Mapping[str, Any], recipes: Mapping[str, Recipe]
) -> Iterator[str]:
    """Yield the names of fields in which the two differ for one item."""
    recipe = recipes.get(entry.image or "")
    proved = {name: record[name] for name in _SAME}
    for name in ("ask", "truth"):
        try:
            proved[name] = json.loads(str(proved[name]))
        except ValueError:
            proved[name] = None
    for name in _SAME:
        if proved[name] != entry.raw[name]:
            yield name
    for name, value in (
        ("task", entry.row.task.value),
        ("anatomy", entry.row.parts.value),
        ("sample", recipe.sample if recipe else record["sample"]),
    ):
        if record[name] != value:
            yield name
    if str(record["source"]).upper() != entry.folder:
        yield "source"

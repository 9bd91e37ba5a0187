"""Validation of the Parquet edition against tables and images."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from medrcube.build.release.editions.hugging_face import (
    AS_JSON,
    DATA,
    OPEN_DATA,
    OPEN_SCHEMA,
    TOLD,
    parquet_json,
    schema_of,
)
from medrcube.build.validation.bounded_parquet import read_batches
from medrcube.build.validation.consistency import ItemRow
from medrcube.build.validation.findings import FaultLog
from medrcube.build.validation.png_check import FileCheck
from medrcube.errors import ReleaseError
from medrcube.release_format.format_version import ReleaseFormat
from medrcube.release_format.item_facts import ItemFacts
from medrcube.release_format.open_rows import OPEN_FIELDS
from medrcube.release_format.rows import FIELDS
from medrcube.release_format.tree import OPEN_TABLE, TABLE, safe_repr

__all__ = ["check_edition"]


def check_edition(
    root: Path,
    files: Iterable[str],
    rows: Iterable[ItemRow],
    checks: Mapping[str, FileCheck],
    findings: FaultLog,
    *,
    facts: Mapping[tuple[str, str], ItemFacts],
    set_of: Mapping[tuple[str, str], tuple[str, str]],
    withdrawn: Collection[tuple[str, str]],
    most: int,
    private: bool,
    release_format: ReleaseFormat,
) -> None:
    """Compare every row of the Parquet files with its item, and its image with the file.

    A row of a restricted item may hold an image only in a ``private`` tree. Only such a tree, which
    is made after the release, may lack the rows of ``withdrawn`` items. A file with more than
    ``most`` rows is not read. The files must have exactly the columns of the format.
    """
    of_table: dict[str, dict[str, ItemRow]] = {TABLE: {}, OPEN_TABLE: {}}
    for sound in rows:
        of_table[sound.table][sound.row.id] = sound
    columns = {TABLE: schema_of(release_format), OPEN_TABLE: OPEN_SCHEMA}
    for table, part in _PARTS.items():
        remaining = of_table[table]
        names = sorted(
            file for file in files if file.startswith(f"{part}/") and file.endswith(".parquet")
        )
        for name in names:
            for row in _rows(root, name, findings, most=most, schema=columns[table]):
                entry = remaining.pop(str(row["id"]), None)
                _check(name, row, entry, checks, findings, private=private)
                if entry is not None:
                    place = (entry.folder, entry.row.id)
                    _check_told(name, row, facts.get(place), findings)
                    _check_set(name, row, set_of.get(place, ("", "")), findings)
        for item, lost in sorted(remaining.items()) if names else ():
            if private and (lost.folder, item) in withdrawn:
                continue
            findings.add("edition-differs", f"{safe_repr(item)} is in no file of {part}/")


def _rows(
    root: Path, name: str, findings: FaultLog, *, most: int, schema: pa.Schema
) -> Iterator[dict[str, Any]]:
    """Yield the rows of one Parquet file, as far as it can be read."""
    try:
        for batch in read_batches(root, name, most=most, schema=schema):
            yield from batch.to_pylist()
    except ReleaseError as error:
        findings.add("edition", str(error))


_PARTS = {TABLE: DATA, OPEN_TABLE: OPEN_DATA}


def _check(
    name: str,
    row: Mapping[str, Any],
    entry: ItemRow | None,
    checks: Mapping[str, FileCheck],
    findings: FaultLog,
    *,
    private: bool,
) -> None:
    if entry is None:
        findings.add(
            "edition-differs", f"{name}: {safe_repr(row['id'])} is not an item, or occurs twice"
        )
        return
    for field in FIELDS if entry.table == TABLE else OPEN_FIELDS:
        value = entry.raw.get(field)
        if row[field] != (parquet_json(value) if field in AS_JSON else value):
            findings.add("edition-differs", f"{name}: {safe_repr(row['id'])} has another {field}")
    picture = None if row["image"] is None else row["image"]["bytes"]
    if entry.row.restricted:
        if picture is not None and not private:
            findings.add("restricted-picture", f"{name}: {safe_repr(row['id'])}")
        if picture is None or not private:
            return
    file_check = checks.get(entry.image or "")
    if (
        picture is None
        or file_check is None
        or hashlib.sha256(picture).hexdigest() != file_check.sha256
    ):
        findings.add("edition-differs", f"{name}: {safe_repr(row['id'])} has a different image")


def _check_told(
    name: str, row: Mapping[str, Any], item_facts: ItemFacts | None, findings: FaultLog
) -> None:
    columns = [column for column in TOLD if column in row]
    for column in columns if item_facts else ():
        if column == "block" and "form" in row:  # items of open.json have only sets
            continue
        if row[column] != getattr(item_facts, column):
            findings.add("edition-differs", f"{name}: {safe_repr(row['id'])} has another {column}")


def _check_set(
    name: str, row: Mapping[str, Any], place: tuple[str, str], findings: FaultLog
) -> None:
    if (row.get("set", ""), row.get("role", "")) != place:
        findings.add(
            "edition-differs", f"{name}: {safe_repr(row['id'])} has a different set or role"
        )

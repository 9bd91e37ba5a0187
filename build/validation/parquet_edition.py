"""Validation of the Parquet edition against tables and images."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from medrcube.build.release.hugging_face import DATA, EARLIER_SCHEMAS, SCHEMA, TOLD
from medrcube.build.validation.bounded_parquet import read_batches
from medrcube.build.validation.consistency import TableRow
from medrcube.build.validation.findings import FaultLog
from medrcube.build.validation.png_check import FileCheck
from medrcube.errors import ReleaseError
from medrcube.release_format.item_facts import ItemFacts
from medrcube.release_format.rows import FIELDS
from medrcube.release_format.tree import safe_repr

__all__ = ["check_edition"]


def check_edition(
    root: Path,
    files: Iterable[str],
    rows: Iterable[TableRow],
    checks: Mapping[str, FileCheck],
    findings: FaultLog,
    *,
    facts: Mapping[tuple[str, str], ItemFacts],
    set_of: Mapping[tuple[str, str], tuple[str, str]],
    withdrawn: Collection[tuple[str, str]],
    most: int,
    private: bool,
) -> None:
    """Hold every row of the Parquet files against its item, and its picture against the file.

    A row of a restricted item may hold a picture in a ``private`` tree only, and such a tree alone,
    which is made after the release, may lack the rows of ``withdrawn`` items. No file is read that
    has more than ``most`` rows. An edition of an earlier version lacks columns of parts that its
    release lacks too.
    """
    remaining = {entry.row.id: entry for entry in rows}
    names = sorted(
        file for file in files if file.startswith(f"{DATA}/") and file.endswith(".parquet")
    )
    if not names:
        return
    for name in names:
        try:
            for batch in read_batches(root, name, most=most, schemas=(SCHEMA, *EARLIER_SCHEMAS)):
                for row in batch.to_pylist():
                    entry = remaining.pop(str(row["id"]), None)
                    _check(name, row, entry, checks, findings, private=private)
                    if entry is not None:
                        item_facts = facts.get((entry.folder, entry.row.id))
                        _check_told(name, row, item_facts, findings)
                        place = set_of.get((entry.folder, entry.row.id), ("", ""))
                        if (row.get("set", ""), row.get("role", "")) != place:
                            findings.add(
                                "edition-differs",
                                f"{name}: {safe_repr(row['id'])} has another set or role",
                            )
        except ReleaseError as error:
            findings.add("edition", str(error))
    for item, entry in sorted(remaining.items()):
        if private and (entry.folder, item) in withdrawn:
            continue
        findings.add("edition-differs", f"{safe_repr(item)} is in no file of {DATA}/")


def _check(
    name: str,
    row: Mapping[str, Any],
    entry: TableRow | None,
    checks: Mapping[str, FileCheck],
    findings: FaultLog,
    *,
    private: bool,
) -> None:
    if entry is None:
        findings.add(
            "edition-differs", f"{name}: {safe_repr(row['id'])} is no item, or stands twice"
        )
        return
    for field in FIELDS:
        if row[field] != entry.written.get(field):
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
        findings.add("edition-differs", f"{name}: {safe_repr(row['id'])} has another image")


def _check_told(
    name: str, row: Mapping[str, Any], item_facts: ItemFacts | None, findings: FaultLog
) -> None:
    for column in TOLD if item_facts else ():
        if row.get(column, "") != getattr(item_facts, column):
            findings.add("edition-differs", f"{name}: {safe_repr(row['id'])} has another {column}")

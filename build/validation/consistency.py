"""Cross-file consistency of a release: tables, recipes, licences, audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.release.metadata.licences import LICENCES, read_licences
from medrcube.build.release.review_verdicts import LET_THROUGH
from medrcube.build.validation.bounded_parquet import read_table
from medrcube.build.validation.findings import FaultLog
from medrcube.errors import ReleaseError
from medrcube.release_format.format_version import AUDIT, LARGEST_AUDIT, SYNTHETIC_KEY
from medrcube.release_format.rows import LETTERS, ReleaseRow
from medrcube.release_format.strict_json import BadJsonError, read_document
from medrcube.release_format.tree import OPEN_TABLE, TABLE, open_file, safe_repr
from medrcube.sources._formats.licences import is_licence_id
from medrcube.taxonomy import Task

__all__ = [
    "ITEMS",
    "ItemRow",
    "check_audit",
    "check_items",
    "check_licences",
    "check_recipes",
    "count_states",
    "read_audit_name",
    "read_items",
]

ITEMS = "items.parquet"

_LARGEST_TABLE = 2**30
"""Largest uncompressed size of ``items.parquet`` in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """One valid row of a table.

    Attributes:
        row: the parsed row.
        raw: the row as it is in the file.
        folder: folder of its table.
        where: table and row number, for messages.
    """

    row: ReleaseRow
    raw: Mapping[str, Any]
    folder: str
    where: str

    @property
    def table(self) -> str:
        """Name of its table: ``test.json`` or ``open.json``."""
        return TABLE if self.row.stated_chance is None else OPEN_TABLE

    @property
    def image(self) -> str | None:
        """Path of its image in the release."""
        return None if self.row.image is None else f"{self.folder}/{self.row.image}"


def check_recipes(
    rows: Sequence[ItemRow], recipes: Mapping[str, Recipe], findings: FaultLog
) -> None:
    """Check that images and recipes correspond, and that they agree on redistribution."""
    used: set[str] = set()
    for entry in rows:
        recipe = None if entry.image is None else recipes.get(entry.image)
        if recipe is None:
            findings.add("recipe-missing", f"{entry.where}: {entry.image}")
            continue
        used.add(recipe.image)
        if recipe.restricted != entry.row.restricted:
            findings.add(
                "restricted-flag",
                f"{entry.where}: restricted is {entry.row.restricted}, in its recipe "
                f"{recipe.restricted}",
            )
    for image in sorted(set(recipes) - used):
        findings.add("recipe-unused", image)


def check_items(
    rows: Sequence[ItemRow],
    items: pd.DataFrame,
    recipes: Mapping[str, Recipe],
    findings: FaultLog,
) -> None:
    """Check that ``items.parquet`` and the ``test.json`` of all sources hold the same items."""
    needed = ("id", "sample", "source", "question", "options", "key", "task", "modality")
    missing = [name for name in (*needed, "anatomy") if name not in items.columns]
    if missing:
        findings.add("items-table", f"{ITEMS}: has no column {missing[0]!r}")
        return
    rows_of = items.astype(object).to_dict("records")
    records: dict[str, Mapping[str, Any]] = {
        str(row["id"]): {str(name): value for name, value in row.items()} for row in rows_of
    }
    for entry in rows:
        record = records.pop(entry.row.id, None)
        if record is None:
            findings.add("items-differ", f"{entry.where}: {entry.row.id} is not in {ITEMS}")
            continue
        row_values, item_values = _values_in_tables(entry, recipes), _values_in_items(record)
        for name in row_values:
            if row_values[name] != item_values[name]:
                findings.add(
                    "items-differ",
                    f"{entry.where}: {name} is {safe_repr(row_values[name])}, in {ITEMS} "
                    f"{safe_repr(item_values[name])}",
                )
    for name in sorted(records):
        findings.add("items-differ", f"{safe_repr(name)} of {ITEMS} is in no test.json")


def check_licences(tree: Path, rows: Sequence[ItemRow], findings: FaultLog) -> None:
    """Check that the licence table names every item once, and agrees on redistribution."""
    restricted = {entry.row.id: entry.row.restricted for entry in rows}
    try:
        for licence in read_licences(tree):
            flag = restricted.pop(licence.id, None)
            if flag is None:
                findings.add("licence-table", f"{safe_repr(licence.id)}: twice, or no item")
            elif not licence.licence.strip():
                findings.add("licence-table", f"{licence.id}: has no licence")
            elif not is_licence_id(licence.licence):
                findings.add(
                    "licence-table",
                    f"{licence.id}: {safe_repr(licence.licence)} is no SPDX id and no "
                    "LicenseRef-...",
                )
            elif licence.redistribute == flag:
                passed_on = "yes" if licence.redistribute else "no"
                findings.add(
                    "restricted-flag",
                    f"{licence.id}: restricted is {flag}, but redistribute is {passed_on} in "
                    f"{LICENCES}",
                )
    except ReleaseError as error:
        findings.add("licence-table", str(error))
        return
    for name in sorted(restricted):
        findings.add("licence-table", f"{safe_repr(name)} is not in {LICENCES}")


def check_audit(
    tree: Path, items: int, states: Mapping[str, int] | None, findings: FaultLog
) -> dict[str, Any]:
    """Check that the audit has not failed and that its counts match the items.

    Args:
        tree: the release.
        items: number of valid items.
        states: state of an item -> number of items; ``None`` if the table is broken.
        findings: log of the faults.

    Returns:
        The audit; empty if it cannot be read.
    """
    try:
        with open_file(tree, tree / AUDIT, largest=LARGEST_AUDIT) as file:
            audit = read_document(file.read())
    except (ReleaseError, BadJsonError) as error:
        findings.add("audit", f"{AUDIT}: {error}")
        return {}
    failures = audit.get("failures") if isinstance(audit, dict) else None
    if not isinstance(audit, dict) or not isinstance(failures, list):
        findings.add("audit", f"{AUDIT}: has no list of failures")
        return {}
    for failure in failures:
        findings.add("audit-failed", safe_repr(failure))
    if audit.get(SYNTHETIC_KEY, True) is not True:
        stated = safe_repr(audit[SYNTHETIC_KEY])
        findings.add("audit", f"{AUDIT}: {SYNTHETIC_KEY} is {stated}, expected true or no such key")
    review = audit.get("review")
    if not isinstance(review, dict):
        findings.add("audit", f"{AUDIT}: does not say what was reviewed")
        return audit
    counted = {"items": items}
    if states is not None:
        counted["unreviewed"] = sum(n for state, n in states.items() if state not in LET_THROUGH)
    for name, count in counted.items():
        if review.get(name) != count:
            findings.add(
                "audit-count", f"{AUDIT}: {name} is {safe_repr(review.get(name))}, found {count:,}"
            )
    return audit


def read_items(tree: Path, most: int) -> pd.DataFrame:
    """Read ``items.parquet`` of a release, limited to ``most`` rows.

    Raises:
        ReleaseError: it is not a Parquet file, or far too large.
    """
    table = read_table(tree, ITEMS, most=most, largest=_LARGEST_TABLE)
    try:
        frame: pd.DataFrame = table.to_pandas()
    except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise ReleaseError(
            f"{ITEMS} is not a valid Parquet file ({type(error).__name__})"
        ) from None
    return frame


def count_states(items: pd.DataFrame) -> Mapping[str, int] | None:
    """Count the items in each state."""
    return Counter(map(str, items["state"])) if "state" in items.columns else None


def read_audit_name(audit: Mapping[str, Any]) -> str:
    """Return the version of the release, if its audit states it."""
    name = audit.get("release")
    return name if isinstance(name, str) and name.isprintable() and len(name) < 100 else ""


def _values_in_tables(entry: ItemRow, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """Return the values of a ``test.json`` item in the terms of ``items.parquet``."""
    row = entry.row
    recipe = recipes.get(entry.image or "")
    values: dict[str, Any] = {
        "question": row.question,
        "options": [text for _, text in row.options],
        "key": [letter for letter, _ in row.options].index(row.key),
        "task": row.task.value,
        "modality": row.modality.value,
        "anatomy": row.parts.value,
        "dataset": row.dataset,
        "letters": "".join(letter for letter, _ in row.options),
    }
    return values if recipe is None else {**values, "sample": recipe.sample}


def _values_in_items(record: Mapping[str, Any]) -> dict[str, Any]:
    options = _texts(record["options"])
    return {
        **{name: record[name] for name in ("question", "key", "modality", "anatomy", "sample")},
        "task": _task(record["task"]),
        "options": options,
        "dataset": str(record["source"]).upper(),
        "letters": LETTERS[: len(options)],
    }


def _texts(options: Any) -> list[str]:
    try:
        return [str(text) for text in options]
    except TypeError:
        return []


def _task(text: Any) -> str:
    tasks: Iterable[Task] = Task
    return next((task.value for task in tasks if text == task.value), safe_repr(text))

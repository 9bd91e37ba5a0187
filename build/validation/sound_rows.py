"""Valid rows of a release's tables; the faults of all others are recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from medrcube.build.validation.consistency import ItemRow
from medrcube.build.validation.findings import FaultLog
from medrcube.errors import ReleaseError
from medrcube.release_format.errata import read_errata
from medrcube.release_format.open_rows import UnknownFormError, read_open_row
from medrcube.release_format.row_reading import departures, read_row
from medrcube.release_format.rows import BadRowError
from medrcube.release_format.strict_json import BadJsonError, read_list
from medrcube.release_format.tree import OPEN_TABLE, open_file, safe_repr

__all__ = ["MOST_FAULTS", "sound_rows", "withdrawn_items"]

MOST_FAULTS = 1000
"""Faulty rows of one table after which its other rows are not read."""


def sound_rows(
    root: Path, tables: Iterable[Path], findings: FaultLog, unknown_forms: Counter[str]
) -> list[ItemRow]:
    """Return the valid rows of all tables; record the faults of the others.

    Rows of unknown answer forms are counted, and left out.
    """
    rows: list[ItemRow] = []
    for table in tables:
        name = table.relative_to(root).as_posix()
        try:
            with open_file(root, table) as file:
                rows.extend(_sound(read_list(file), table, name, findings, unknown_forms))
        except BadJsonError as error:
            findings.add("table", f"{name}: {error}")
        except ReleaseError as error:
            findings.add("table", str(error))
    for entry in rows:
        if not entry.row.is_open:
            for fault in departures(entry.raw):
                findings.add(fault.rule, f"{entry.where}: {fault.message}")
        if entry.row.dataset != entry.folder:
            findings.add("folder", f"{entry.where}: dataset is {safe_repr(entry.row.dataset)}")
    return rows


def _sound(
    rows: Iterable[Any],
    table: Path,
    name: str,
    findings: FaultLog,
    unknown_forms: Counter[str],
) -> Iterator[ItemRow]:
    parse = read_open_row if table.name == OPEN_TABLE else read_row
    faulty = 0
    for index, raw in enumerate(rows):
        where = f"{name} item {index}"
        try:
            row = parse(raw)
        except UnknownFormError as error:
            unknown_forms[error.form] += 1
        except BadRowError as error:
            faulty += 1
            for fault in error.faults:
                findings.add(fault.rule, f"{where}: {fault.message}")
        else:
            yield ItemRow(row=row, raw=raw, folder=table.parent.name, where=where)
        if faulty >= MOST_FAULTS:
            findings.add("table", f"{name}: {faulty:,} faulty rows; those after them were not read")
            return


def withdrawn_items(
    root: Path, rows: Iterable[ItemRow], findings: FaultLog
) -> frozenset[tuple[str, str]]:
    """Return the items that the errata withdraw, as dataset and id."""
    released = frozenset((entry.row.dataset, entry.row.id) for entry in rows)
    try:
        errata = read_errata(root)
    except ReleaseError as error:
        findings.add("errata", str(error))
        return frozenset()
    for erratum in errata:
        if (erratum.dataset, erratum.id) not in released:
            findings.add("errata", f"{erratum.name} is not a valid item of this release")
    return released.intersection((erratum.dataset, erratum.id) for erratum in errata)

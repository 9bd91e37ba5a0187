"""Validation of a release against the format that it was made in.

A release of an older format is checked against the contract of that format: its files and columns
are checked like those of a current one, and later additions are reported as not part of it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from medrcube.build.release.editions.hugging_face import DATA
from medrcube.build.validation.checksums import ChecksumLists
from medrcube.build.validation.findings import FaultLog
from medrcube.errors import ReleaseError
from medrcube.release_format.format_version import CURRENT, FORMATS, ReleaseFormat, stated_format
from medrcube.release_format.item_facts import ITEMS, read_item_columns
from medrcube.release_format.tree import open_file

__all__ = ["check_format", "later_columns", "later_tables"]


def check_format(
    root: Path, files: Collection[str], sums: ChecksumLists, findings: FaultLog
) -> ReleaseFormat:
    """Return the format of a release, and record missing tables.

    It is the format that the release states; if it states none, the newest of which any part
    exists, so that a table that was lost together with its digest is still noticed.
    """
    try:
        release_format = stated_format(root) or _newest_seen(root, files, sums)
    except ReleaseError as error:
        findings.add("format", str(error))
        release_format = CURRENT
    for name in release_format.tables:
        if name not in files:
            findings.add("proof-missing", name)
    columns = _columns_of_items(root, files)
    if columns and release_format.item_columns and columns != release_format.item_columns:
        findings.add(
            "item-facts",
            f"{ITEMS}: has the columns {', '.join(columns)}; format {release_format.number} has "
            f"{', '.join(release_format.item_columns)}",
        )
    return release_format


def later_tables(earlier: ReleaseFormat) -> tuple[str, ...]:
    """Return the tables introduced after a format."""
    return tuple(name for name in CURRENT.tables if name not in earlier.tables)


def later_columns(earlier: ReleaseFormat) -> tuple[str, ...]:
    """Return the columns that were added, after a format, to a table that it has."""
    had = earlier.item_columns
    return tuple(name for name in CURRENT.item_columns if had and name not in had)


def _newest_seen(root: Path, files: Collection[str], sums: ChecksumLists) -> ReleaseFormat:
    names = {name.rpartition("/")[2] for name in {*(sums.shared or {}), *files}}
    columns = {*_columns_of_items(root, files)}
    for name in files:
        if name.startswith(f"{DATA}/"):
            columns.update(_columns_of_edition(root, name))
    unstated = [entry for entry in FORMATS if not entry.states_itself]
    for earlier, later in zip(unstated[-2::-1], unstated[:0:-1], strict=True):
        new_files = {*later.tables, *later.optional} - {*earlier.tables, *earlier.optional}
        new_columns = set(later.edition_columns) - set(earlier.edition_columns)
        if new_files & names or new_columns & columns:
            return later
    return unstated[0]


def _columns_of_items(root: Path, files: Collection[str]) -> tuple[str, ...]:
    return read_item_columns(root) if ITEMS in files else ()


def _columns_of_edition(root: Path, name: str) -> Collection[str]:
    """Return the columns of one Parquet file; empty if unreadable, which is reported elsewhere."""
    try:
        with open_file(root, root / name) as file:
            columns: list[str] = pq.read_schema(file).names
    except (ReleaseError, OSError, ValueError, TypeError, KeyError, pa.ArrowException):
        return ()
    return columns

"""Whether the Parquet edition of a release tells what its tables tell, and leaks no picture."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from medrcube.build.publish.crosscheck import Placed
from medrcube.build.publish.findings import Findings
from medrcube.build.publish.hub import DATA, SCHEMA
from medrcube.build.publish.png_check import Seen
from medrcube.errors import ReleaseError
from medrcube.release_rows import FIELDS
from medrcube.release_tree import opened, shown

_BATCH = 16
_LARGEST_GROUP = 2**29
"""Bytes of a row group, once inflated: what a reader takes into memory at once."""


def check_edition(
    root: Path,
    files: Iterable[str],
    rows: Iterable[Placed],
    seen: Mapping[str, Seen],
    findings: Findings,
) -> None:
    """Hold every row of the Parquet files against its item, and its picture against the file.

    No row of a restricted item may hold a picture, in a private tree neither: the files are the
    same in both editions.
    """
    left = {placed.row.id: placed for placed in rows}
    names = sorted(it for it in files if it.startswith(f"{DATA}/") and it.endswith(".parquet"))
    if not names:
        return
    for name in names:
        try:
            for row in _rows(root, name):
                _check(name, row, left.pop(str(row["id"]), None), seen, findings)
        except ReleaseError as error:
            findings.add("edition", str(error))
    for item in sorted(left):
        findings.add("edition-differs", f"{shown(item)} is in no file of {DATA}/")


def _rows(root: Path, name: str) -> Iterator[Mapping[str, Any]]:
    try:
        with opened(root, root / name) as file:
            # Read ahead, the pictures of a whole file would lie in memory.
            table = pq.ParquetFile(file, pre_buffer=False)
            if not table.schema_arrow.equals(SCHEMA):
                raise ReleaseError(f"{name}: has other columns than an edition of medrcube")
            groups = [table.metadata.row_group(at) for at in range(table.metadata.num_row_groups)]
            size = max((group.total_byte_size for group in groups), default=0)
            if size > _LARGEST_GROUP:
                raise ReleaseError(f"{name}: a row group has {size:,} bytes once inflated")
            for batch in table.iter_batches(batch_size=_BATCH):
                yield from batch.to_pylist()
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise ReleaseError(f"{name}: is no sound Parquet file ({type(error).__name__})") from None


def _check(
    name: str,
    row: Mapping[str, Any],
    placed: Placed | None,
    seen: Mapping[str, Seen],
    findings: Findings,
) -> None:
    if placed is None:
        findings.add("edition-differs", f"{name}: {shown(row['id'])} is no item, or stands twice")
        return
    for field in FIELDS:
        if row[field] != placed.written.get(field):
            findings.add("edition-differs", f"{name}: {shown(row['id'])} has another {field}")
    picture = None if row["image"] is None else row["image"]["bytes"]
    if placed.row.restricted:
        if row["image"] is not None:
            findings.add("restricted-picture", f"{name}: {shown(row['id'])}")
        return
    known = seen.get(placed.image or "")
    if picture is None or known is None or hashlib.sha256(picture).hexdigest() != known.sha256:
        findings.add("edition-differs", f"{name}: {shown(row['id'])} has another picture")

"""Bounded Parquet reader for untrusted files: limits on rows, bytes and memory.

A file of one megabyte can hold a hundred million rows, or a hundred megabytes of text in every row,
since repeated values are stored once. Rows are therefore counted before any is read, and batches
are so small that they would fit in memory even if every row had the largest value of the row group.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from medrcube.errors import ReleaseError
from medrcube.release_format.tree import open_file

__all__ = ["read_batches", "read_table"]

_LARGEST_GROUP = 2**29
"""Largest uncompressed size of a row group in bytes: a reader loads it into memory at once."""

_AT_ONCE = 2**28
"""Largest size of the rows of one batch in bytes."""

_MOST_AT_ONCE = 4096


def read_batches(
    root: Path, name: str, *, most: int, schema: pa.Schema | None = None
) -> Iterator[pa.RecordBatch]:
    """Read a file of a tree in batches.

    Args:
        root: the release.
        name: path of the file in it.
        most: most rows allowed.
        schema: required columns; any if not given.

    Raises:
        ReleaseError: it is not such a file, or exceeds a limit.
    """
    try:
        with open_file(root, root / name) as file:
            # Reading ahead would hold the images of a whole file in memory.
            table = pq.ParquetFile(file, pre_buffer=False)
            if schema is not None and not table.schema_arrow.equals(schema):
                raise ReleaseError(f"{name}: has other columns than its release format")
            rows = table.metadata.num_rows
            if rows > most:
                raise ReleaseError(f"{name}: has {rows:,} rows, far more than there are items")
            for at in range(table.metadata.num_row_groups):
                size = table.metadata.row_group(at).total_byte_size
                if size > _LARGEST_GROUP:
                    raise ReleaseError(f"{name}: a row group has {size:,} bytes once inflated")
                together = min(max(_AT_ONCE // max(size, 1), 1), _MOST_AT_ONCE)
                yield from table.iter_batches(batch_size=together, row_groups=[at])
    except (OSError, ValueError, TypeError, KeyError, pa.ArrowException) as error:
        raise ReleaseError(f"{name} is not a valid Parquet file ({type(error).__name__})") from None


def read_table(root: Path, name: str, *, most: int, largest: int) -> pa.Table:
    """Read a whole file of a tree.

    Args:
        root: the release.
        name: path of the file in it.
        most: most rows allowed.
        largest: largest size of the rows in bytes.

    Raises:
        ReleaseError: it is not such a file, or exceeds a limit.
    """
    batches: list[pa.RecordBatch] = []
    size = 0
    for batch in read_batches(root, name, most=most):
        size += batch.nbytes
        if size > largest:
            raise ReleaseError(f"{name}: has more than {largest:,} bytes once inflated")
        batches.append(batch)
    if not batches:
        raise ReleaseError(f"{name}: has no rows")
    return pa.Table.from_batches(batches)

"""Parts of a release that its format has: earlier versions of medrcube wrote fewer.

A release names its format nowhere. Its list of digests tells what it was released with, and the
columns of its Parquet edition what they were taken from.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from medrcube.build.release.editions.hugging_face import DATA, EARLIER_SCHEMAS
from medrcube.build.validation.checksums import ChecksumLists
from medrcube.errors import ReleaseError
from medrcube.release_format.item_facts import ITEMS
from medrcube.release_format.item_sets import SETS
from medrcube.release_format.tree import open_file

__all__ = ["parts_of_later_formats"]


def parts_of_later_formats(
    root: Path, files: Collection[str], sums: ChecksumLists
) -> frozenset[str]:
    """Files that medrcube writes now and that are not part of the format of this release.

    A file that was released and is lost is part of it.
    """
    if sums.shared is None:
        return frozenset()
    known = sums.shared.keys() | files
    later = {name for name in (ITEMS, SETS) if name not in known}
    if any(_tells_facts(root, name) for name in files if name.startswith(f"{DATA}/")):
        later.discard(ITEMS)
    return frozenset(later)


def _tells_facts(root: Path, name: str) -> bool:
    """Whether a file of the Parquet edition has a column of ``items.csv``."""
    try:
        with open_file(root, root / name) as file:
            columns = pq.read_schema(file).names
    except (ReleaseError, OSError, ValueError, TypeError, KeyError, pa.ArrowException):
        return False
    return len(columns) > len(EARLIER_SCHEMAS[0])

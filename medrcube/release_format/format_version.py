"""Version of the release format: which tables and columns a release has.

From format 5 on, a release states its format in ``audit.json``. For earlier releases, which stated
none, it is inferred from the files and columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import ReleaseError
from medrcube.release_format.item_facts import COLUMNS, EARLIER_COLUMNS, ITEMS
from medrcube.release_format.item_sets import SETS
from medrcube.release_format.open_rows import OPEN_ITEMS
from medrcube.release_format.shards import SHARDS
from medrcube.release_format.strict_json import BadJsonError, read_document
from medrcube.release_format.tree import OPEN_TABLE, open_file, safe_repr, stat_file
from medrcube.release_format.vocabulary_file import VOCABULARY

__all__ = [
    "AUDIT",
    "CURRENT",
    "FORMATS",
    "FORMAT_KEY",
    "LARGEST_AUDIT",
    "SHARDED",
    "SYNTHETIC_KEY",
    "ReleaseFormat",
    "stated_format",
    "states_synthetic",
]

AUDIT = "audit.json"
FORMAT_KEY = "format"
"""Key of ``audit.json`` that states the format."""
SYNTHETIC_KEY = "synthetic"
"""Key of ``audit.json`` that is true if all images are generated, and absent otherwise."""

LARGEST_AUDIT = 2**26
"""Maximum size of ``audit.json`` in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFormat:
    """One version of the format.

    Attributes:
        number: its number, from 1.
        tables: required files that were introduced after format 1.
        optional: optional files that were introduced after format 1.
        item_columns: columns of ``items.csv``; empty if the format has no such table.
        edition_columns: columns of the Parquet edition introduced after format 1.
        states_itself: whether a release of this format states its format.
    """

    number: int
    tables: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    item_columns: tuple[str, ...] = ()
    edition_columns: tuple[str, ...] = ()
    states_itself: bool = False


_FACTS = COLUMNS[2:]
_EARLIER_FACTS = EARLIER_COLUMNS[2:]
_SET = ("set", "role")
_OPEN = (OPEN_TABLE, OPEN_ITEMS, VOCABULARY)

FORMATS = (
    ReleaseFormat(number=1),
    ReleaseFormat(
        number=2, tables=(ITEMS,), item_columns=EARLIER_COLUMNS, edition_columns=_EARLIER_FACTS
    ),
    ReleaseFormat(number=3, tables=(ITEMS,), item_columns=COLUMNS, edition_columns=_FACTS),
    ReleaseFormat(
        number=4,
        tables=(ITEMS, SETS),
        optional=_OPEN,
        item_columns=COLUMNS,
        edition_columns=(*_FACTS, *_SET),
    ),
    ReleaseFormat(
        number=5,
        tables=(ITEMS, SETS),
        optional=_OPEN,
        item_columns=COLUMNS,
        edition_columns=(*_FACTS, *_SET),
        states_itself=True,
    ),
    ReleaseFormat(
        number=6,
        tables=(ITEMS, SETS, SHARDS),
        optional=_OPEN,
        item_columns=COLUMNS,
        edition_columns=(*_FACTS, *_SET),
        states_itself=True,
    ),
)
"""Every format, oldest first."""

CURRENT, SHARDED = FORMATS[-2:]
"""Format of a new release with loose images, and with images in shards.

A release with loose images stays in format 5, which earlier versions read correctly; they would
report the images of a release with shards as missing.
"""


def stated_format(root: Path) -> ReleaseFormat | None:
    """Return the format that a release states, or ``None`` if it states none or has no valid audit.

    Raises:
        ReleaseError: the stated format is unknown to this version of medrcube.
    """
    stated = _stated(root, FORMAT_KEY)
    if stated is None:
        return None
    formats = {
        release_format.number: release_format
        for release_format in FORMATS
        if release_format.states_itself
    }
    if type(stated) is not int or stated not in formats:
        raise ReleaseError(
            f"{AUDIT}: {FORMAT_KEY} is {safe_repr(stated)}; expected one of "
            f"{', '.join(map(str, formats))}: use the version of medrcube named in the release's "
            "README.md, or a later one"
        )
    return formats[stated]


def states_synthetic(root: Path) -> bool:
    """Return whether a release states that all its images are generated."""
    return _stated(root, SYNTHETIC_KEY) is True


def _stated(root: Path, key: str) -> Any:
    try:
        if stat_file(root, root / AUDIT) is None:
            return None
        with open_file(root, root / AUDIT, largest=LARGEST_AUDIT) as file:
            audit = read_document(file.read())
    except (ReleaseError, BadJsonError):
        return None
    return audit.get(key) if isinstance(audit, dict) else None

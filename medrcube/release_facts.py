"""``items.csv`` of a release: what is told of an item beside the published fields.

``test.json`` keeps exactly the fields of the published release, so what its questions rest on
stands beside it. Releases of others have no such table.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from medrcube.errors import ReleaseError
from medrcube.records import Visible
from medrcube.release_tree import opened, shown, state_of

ITEMS = "items.csv"

_LARGEST = 2**28
_VISIBLE = frozenset(it.name.lower() for it in Visible)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFacts:
    """One row.

    Attributes:
        dataset: folder of the source in the release.
        id: id of the item.
        visible: whether a reader of the picture could know the answer: ``yes``, ``partly``, ``no``.
        block: block of items that share their options; empty for none.
    """

    dataset: str
    id: str
    visible: str
    block: str


COLUMNS = tuple(column.name for column in fields(ItemFacts))


def write_item_facts(tree: Path, rows: Iterable[ItemFacts]) -> None:
    """Write the table of a new release, in the order of the rows."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(astuple, rows))
    (tree / ITEMS).write_text(text.getvalue(), encoding="utf-8")


def read_item_facts(root: Path) -> Mapping[tuple[str, str], ItemFacts]:
    """Rows by dataset and id; none where the release has no such table.

    Raises:
        ReleaseError: it is no such table; names the line.
    """
    path = root / ITEMS
    if state_of(root, path) is None:
        return {}
    found: dict[tuple[str, str], ItemFacts] = {}
    with opened(root, path, largest=_LARGEST) as file:
        try:
            reader = csv.reader(io.StringIO(file.read().decode(), newline=""), strict=True)
            if tuple(next(reader, ())) != COLUMNS:
                raise ReleaseError(f"{path}: expected the columns {', '.join(COLUMNS)}")
            for row in reader:
                told = dict(zip(COLUMNS, row, strict=False))
                if len(row) != len(COLUMNS) or told["visible"] not in _VISIBLE:
                    raise ReleaseError(f"{path} line {reader.line_num}: {shown(row)}")
                found[told["dataset"], told["id"]] = ItemFacts(**told)
        except (csv.Error, UnicodeDecodeError) as error:
            raise ReleaseError(f"{path}: cannot be read: {error}") from None
    return found

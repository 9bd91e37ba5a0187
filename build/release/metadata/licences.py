"""``licences.csv``: licence of the image of every item."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from medrcube.build.open_items.table import OpenItem
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample
from medrcube.errors import ReleaseError
from medrcube.release_format.tree import open_file, safe_repr
from medrcube.sources._framework.contract import Source

__all__ = ["LICENCES", "ItemLicence", "citation_key", "read_licences", "write_licences"]

LICENCES = "licences.csv"

_COLUMNS = ("id", "source", "picture", "licence", "redistribute", "attribution", "citation")
_LARGEST = 2**28
_WORDS = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLicence:
    """Licence and attribution of the image of one item.

    Attributes:
        id: id of the item.
        source: id of the source.
        picture: id of the image.
        licence: SPDX id, or a reference to the source's own licence.
        redistribute: whether the image may be redistributed.
        attribution: title of the source.
        citation: key of its BibTeX entry.
    """

    id: str
    source: str
    picture: str
    licence: str
    redistribute: bool
    attribution: str
    citation: str


def write_licences(
    tree: Path,
    items: Iterable[ChoiceItem | OpenItem],
    pictures: Mapping[str, Sample],
    sources: Mapping[str, Source],
) -> None:
    """Write the table of a new release, in the order of its items."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for item in items:
        sample, card = pictures[item.sample], sources[item.source].card
        passed_on = "yes" if sample.redistribute else "no"
        key = citation_key(card.citation)
        row = (item.id, item.source, sample.id, sample.licence, passed_on, card.title, key)
        writer.writerow(row)
    (tree / LICENCES).write_text(text.getvalue(), encoding="utf-8")


def citation_key(citation: str) -> str:
    """Return the key of the first BibTeX entry; empty if there is none."""
    match = re.search(r"@\w+\s*\{\s*([^,\s]+)\s*,", citation)
    return match[1] if match else ""


def read_licences(tree: Path) -> Iterator[ItemLicence]:
    """Read the table of a release.

    Raises:
        ReleaseError: it is not such a table; names the line.
    """
    with open_file(tree, tree / LICENCES, largest=_LARGEST) as file:
        try:
            reader = csv.reader(io.StringIO(file.read().decode(), newline=""), strict=True)
            header = next(reader, list(_COLUMNS))
            if tuple(header) != _COLUMNS:
                raise ReleaseError(f"{LICENCES}: has columns {safe_repr(header)}")
            for number, row in enumerate(reader, 2):
                yield _licence_of(row, number)
        except (csv.Error, UnicodeDecodeError) as error:
            raise ReleaseError(f"{LICENCES}: cannot be read: {error}") from None


def _licence_of(row: list[str], number: int) -> ItemLicence:
    if len(row) != len(_COLUMNS) or row[4] not in _WORDS:
        raise ReleaseError(f"{LICENCES} line {number}: {safe_repr(row)}")
    text = dict(zip(_COLUMNS, row, strict=True))
    passed_on = _WORDS[text.pop("redistribute")]
    return ItemLicence(**text, redistribute=passed_on)

"""``items.csv`` of a release: item metadata in addition to the published fields.

``test.json`` keeps exactly the fields of the published release, so further metadata is stored in
this table. Third-party releases have no such table, and those of earlier versions lack unit and
fact.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from medrcube.errors import ReleaseError
from medrcube.facts import Visibility
from medrcube.release_format.strict_json import BadJsonError, read_lines
from medrcube.release_format.tree import open_file, safe_repr, stat_file

__all__ = [
    "COLUMNS",
    "EARLIER_COLUMNS",
    "FACT",
    "ITEMS",
    "UNIT",
    "ItemFacts",
    "each_item_row",
    "read_case_units",
    "read_item_columns",
    "read_item_facts",
    "read_pixel_hashes",
    "read_scenes",
    "write_item_facts",
]

ITEMS = "items.csv"
RECIPES = "recipes.jsonl"

UNIT = re.compile("(patient|case)-[0-9a-f]{16}")
"""Pattern of a unit: its kind and its keyed id."""

FACT = re.compile("[0-9a-f]{16}")
"""Pattern of a fact id."""

_LARGEST = 2**28
_LONGEST_HEAD = 1024
_VISIBLE = frozenset(level.name.lower() for level in Visibility)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFacts:
    """One row.

    Attributes:
        dataset: source folder in the release.
        id: id of the item.
        visible: whether a reader of the image could know the answer: ``yes``, ``partly``, ``no``.
        block: block of items that share their options; empty if none.
        unit: patient, or case if the source identifies no patients, under a keyed id such as
            ``patient-0123456789abcdef``; items of one unit are not statistically independent. Empty
            if unknown.
        fact: id of the fact asked about and its image, the same in every edition of a workspace
            regardless of wording and options. Empty if unknown.
    """

    dataset: str
    id: str
    visible: str
    block: str
    unit: str = ""
    fact: str = ""


COLUMNS = tuple(column.name for column in fields(ItemFacts))
EARLIER_COLUMNS = COLUMNS[:4]
"""Columns of releases from an earlier version."""


def write_item_facts(tree: Path, rows: Iterable[ItemFacts]) -> None:
    """Write the table of a new release, in row order."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(astuple, rows))
    (tree / ITEMS).write_text(text.getvalue(), encoding="utf-8")


def read_item_facts(root: Path) -> dict[tuple[str, str], ItemFacts]:
    """Read rows by dataset and id; empty if the release has no such table.

    Raises:
        ReleaseError: the table is invalid; names the line.
    """
    return {
        (dataset, name): ItemFacts(
            dataset=dataset, id=name, visible=visible, block=block, unit=unit, fact=fact
        )
        for dataset, name, visible, block, unit, fact in each_item_row(root)
    }


def each_item_row(root: Path) -> Iterator[tuple[str, str, str, str, str, str]]:
    """Yield the cells of each row in the order of ``COLUMNS``; equal texts are one object.

    Raises:
        ReleaseError: the table is invalid; names the line.
    """
    path = root / ITEMS
    if stat_file(root, path) is None:
        return
    texts: dict[str, str] = {}
    sound: set[tuple[str, str]] = set()
    with open_file(root, path, largest=_LARGEST) as file:
        try:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            reader = csv.reader(text, strict=True)
            columns = tuple(next(reader, ()))
            if columns not in (COLUMNS, EARLIER_COLUMNS):
                raise ReleaseError(f"{path}: expected the columns {', '.join(COLUMNS)}")
            absent = ("",) * (len(COLUMNS) - len(columns))
            for row in reader:
                if len(row) != len(columns):
                    raise ReleaseError(f"{path} line {reader.line_num}: {safe_repr(row)}")
                dataset, name, visible, block, unit, fact = (*row, *absent)
                if (visible, unit) not in sound:
                    if not _is_sound(visible, unit):
                        raise ReleaseError(f"{path} line {reader.line_num}: {safe_repr(row)}")
                    sound.add((visible, unit))
                if fact and FACT.fullmatch(fact) is None:
                    raise ReleaseError(f"{path} line {reader.line_num}: {safe_repr(row)}")
                yield (
                    texts.setdefault(dataset, dataset),
                    name,
                    texts.setdefault(visible, visible),
                    texts.setdefault(block, block),
                    texts.setdefault(unit, unit),
                    fact,
                )
        except (csv.Error, UnicodeDecodeError) as error:
            raise ReleaseError(f"{path}: cannot be read: {error}") from None


def read_item_columns(root: Path) -> tuple[str, ...]:
    """Return the columns of the table; empty if its header cannot be read."""
    try:
        with open_file(root, root / ITEMS, largest=_LARGEST) as file:
            head = file.readline(_LONGEST_HEAD).decode("utf-8")
        return tuple(next(csv.reader([head], strict=True), ()))
    except (ReleaseError, UnicodeDecodeError, csv.Error):
        return ()


def read_case_units(root: Path) -> Mapping[str, str]:
    """Map each image path in the release to its case as a unit, from the recipes.

    For releases whose ``items.csv`` has no units. Empty if there are no recipes.

    Raises:
        ReleaseError: the recipes cannot be read.
    """
    units: dict[str, str] = {}
    for row in _recipes(root):
        image, *case = (row.get(name) for name in ("image", "source", "case"))
        if isinstance(image, str) and all(isinstance(text, str) for text in case):
            identity = "\0".join(map(str, case)).encode("utf-8", "backslashreplace")
            digest = hashlib.sha256(identity).hexdigest()
            units[image] = f"case-{digest[:16]}"
    return units


def read_pixel_hashes(root: Path) -> Mapping[str, str]:
    """Map each image path in the release to its pixel hash, if the recipes publish one.

    Raises:
        ReleaseError: the recipes cannot be read.
    """
    pairs = ((row.get("image"), row.get("pixel_sha256")) for row in _recipes(root))
    return {
        image: pixels
        for image, pixels in pairs
        if isinstance(image, str) and isinstance(pixels, str)
    }


def read_scenes(root: Path) -> Mapping[str, str]:
    """Map each image path in the release to its scene: the image content regardless of marks.

    Images of the same frames or slices of the same files of one case share a scene, an opaque
    digest. Empty if the release has no recipes.

    Raises:
        ReleaseError: the recipes cannot be read.
    """
    scenes: dict[str, str] = {}
    for row in _recipes(root):
        image, parts = row.get("image"), [row.get(name) for name in ("source", "case", "images")]
        if isinstance(image, str) and all(parts):
            identity = json.dumps(parts, sort_keys=True).encode()
            scenes[image] = hashlib.sha256(identity).hexdigest()
    return scenes


def _recipes(root: Path) -> Iterator[Mapping[str, Any]]:
    path = root / RECIPES
    if stat_file(root, path) is None:
        return
    with open_file(root, path) as file:
        try:
            for row in read_lines(file):
                if not isinstance(row, dict):
                    raise ReleaseError(f"{path}: cannot be read: expected objects")
                yield row
        except BadJsonError as error:
            raise ReleaseError(f"{path}: cannot be read: {error}") from None


def _is_sound(visible: str, unit: str) -> bool:
    return visible in _VISIBLE and (not unit or UNIT.fullmatch(unit) is not None)

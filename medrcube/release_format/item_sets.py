"""``sets.json`` of a release: items that are scored together.

A set consists of items with one question and one list of options, on different images and with
different keys. It is right if all its items are. ``test.json`` keeps exactly the published fields,
so sets are stored in a separate file; third-party and earlier releases have none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import ReleaseError
from medrcube.release_format.rows import ReleaseRow
from medrcube.release_format.strict_json import BadJsonError, read_list
from medrcube.release_format.tree import open_file, safe_repr, stat_file

__all__ = ["SETS", "ItemSet", "SetMember", "fault_of_set", "read_item_sets", "write_item_sets"]

SETS = "sets.json"

SET_ID = re.compile("(block|pair)-[0-9a-f]{16}")
"""Pattern of a set id: its kind, and a digest of its items."""

MOST_ITEMS = 64
"""Maximum number of items in a set."""

_LARGEST = 2**28
_LONGEST_ROLE = 200
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMember:
    """One item of a set.

    Attributes:
        dataset: source folder in the release.
        id: id of the item.
        role: what distinguishes the item within its set: the concept of its key, ``yes`` or ``no``,
            or ``shown`` and ``hidden`` if one image shows a fact and the other cannot.
    """

    dataset: str
    id: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSet:
    """One set.

    Attributes:
        id: its kind and a digest of its items, such as ``block-0123456789abcdef``.
        size: number of items it was built with.
        members: those of its items that are in the release.
    """

    id: str
    size: int
    members: tuple[SetMember, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the release contains all its items; if not, it is not scored as a set."""
        return len(self.members) == self.size


def write_item_sets(tree: Path, sets: Iterable[ItemSet]) -> None:
    """Write the file of a new release, one set per line, in the given order."""
    rows = ",\n".join(json.dumps(asdict(item_set), ensure_ascii=False) for item_set in sets)
    (tree / SETS).write_text(f"[\n{rows}\n]\n" if rows else "[]\n", encoding="utf-8")


def read_item_sets(root: Path) -> tuple[ItemSet, ...]:
    """Read the sets in file order; empty if the release has no such file.

    Raises:
        ReleaseError: the file is invalid; names the set.
    """
    path = root / SETS
    if stat_file(root, path) is None:
        return ()
    sets: dict[str, ItemSet] = {}
    places: set[tuple[str, str]] = set()
    with open_file(root, path, largest=_LARGEST) as file:
        try:
            for number, row in enumerate(read_list(file)):
                where = f"{path} set {number}"
                item_set = _read_set(row, where)
                if item_set.id in sets:
                    raise ReleaseError(f"{where}: {item_set.id} occurs twice")
                sets[item_set.id] = item_set
                _take_places(item_set, places, where)
        except BadJsonError as error:
            raise ReleaseError(f"{path}: cannot be read: {error}") from None
    return tuple(sets.values())


def _take_places(item_set: ItemSet, places: set[tuple[str, str]], where: str) -> None:
    """Register the items of a set, none of which may belong to an earlier set."""
    for member in item_set.members:
        place = (member.dataset, member.id)
        if place in places:
            raise ReleaseError(f"{where}: {safe_repr(member.id)} is in two sets; expected only one")
        places.add(place)


def fault_of_set(rows: Collection[ReleaseRow]) -> str:
    """Return why items do not form a set, for an error message; empty if they do."""
    if any(not row.options for row in rows):
        return "contains an item without options"
    if len({(row.question, *sorted(text for _, text in row.options)) for row in rows}) > 1:
        return "contains items with different questions or options"
    if len({dict(row.options)[row.key] for row in rows}) < len(rows):
        return "contains two items with the same key"
    return ""


def _read_set(row: Any, where: str) -> ItemSet:
    if not isinstance(row, dict) or row.keys() != {"id", "size", "members"}:
        raise ReleaseError(f"{where}: {safe_repr(row)}; expected id, size and members")
    name, size, members = row["id"], row["size"], row["members"]
    if not isinstance(name, str) or SET_ID.fullmatch(name) is None:
        raise ReleaseError(
            f"{where}: id is {safe_repr(name)}; expected one like block-0123456789abcdef"
        )
    if type(size) is not int or not 2 <= size <= MOST_ITEMS:
        raise ReleaseError(f"{where}: size is {safe_repr(size)}; expected 2 to {MOST_ITEMS}")
    if not isinstance(members, list) or not 1 <= len(members) <= size:
        raise ReleaseError(f"{where}: expected 1 to {size} members")
    return ItemSet(
        id=name, size=size, members=tuple(_read_member(member, where) for member in members)
    )


def _read_member(row: Any, where: str) -> SetMember:
    if not isinstance(row, dict) or row.keys() != {"dataset", "id", "role"} or not _are_texts(row):
        raise ReleaseError(f"{where}: member {safe_repr(row)}; expected dataset, id and role")
    return SetMember(**row)


def _are_texts(row: Mapping[str, Any]) -> bool:
    return all(
        isinstance(value, str) and len(value) <= _LONGEST_ROLE and not _SURROGATE.search(value)
        for value in row.values()
    )

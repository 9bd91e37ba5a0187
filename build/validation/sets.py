"""Validation of ``sets.json``: every set holds items of the release that belong together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from medrcube.build.validation.consistency import ItemRow
from medrcube.build.validation.findings import FaultLog
from medrcube.errors import ReleaseError
from medrcube.release_format.item_sets import SETS, ItemSet, fault_of_set, read_item_sets
from medrcube.release_format.tree import safe_repr

__all__ = ["check_sets"]


def check_sets(
    root: Path, rows: Iterable[ItemRow], findings: FaultLog
) -> Mapping[tuple[str, str], tuple[str, str]]:
    """Check that members have one question, one list of options and pairwise different keys.

    Returns:
        (dataset, item id) -> set id and role, for the items of complete sets; empty if the file
        cannot be read.
    """
    try:
        sets = read_item_sets(root)
    except ReleaseError as error:
        findings.add("sets", str(error))
        return {}
    entries = {(entry.folder, entry.row.id): entry for entry in rows}
    for item_set in sets:
        fault = _fault(item_set, entries)
        if fault:
            findings.add("sets", f"{SETS}: {item_set.id} {fault}")
    return {
        (member.dataset, member.id): (item_set.id, member.role)
        for item_set in sets
        if item_set.is_complete
        for member in item_set.members
    }


def _fault(item_set: ItemSet, entries: Mapping[tuple[str, str], ItemRow]) -> str:
    """Return what is wrong with a set; empty if nothing is."""
    members = []
    for member in item_set.members:
        entry = entries.get((member.dataset, member.id))
        if entry is None:
            return f"names {safe_repr(member.id)}, which is not a valid item of this release"
        members.append(entry.row)
    return fault_of_set(members)

"""Validation of ``items.csv``: statistical unit and fact of every item."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.validation.consistency import ItemRow
from medrcube.build.validation.findings import FaultLog
from medrcube.errors import ReleaseError
from medrcube.release_format.item_facts import ITEMS, ItemFacts, read_item_facts
from medrcube.release_format.tree import safe_repr

__all__ = ["check_units"]


def check_units(
    root: Path,
    rows: Iterable[ItemRow],
    recipes: Mapping[str, Recipe],
    findings: FaultLog,
    columns: Collection[str],
) -> Mapping[tuple[str, str], ItemFacts]:
    """Check that every item has one row, a case one unit, a unit one source, a fact one item.

    Units and facts are checked if ``columns``, those of the release format, contain them.

    Returns:
        The rows by dataset and id; empty if the table cannot be read.
    """
    try:
        facts = read_item_facts(root)
    except ReleaseError as error:
        findings.add("item-facts", str(error))
        return {}
    remaining = dict(facts)
    pairs = []
    for entry in rows:
        row = remaining.pop((entry.folder, entry.row.id), None)
        if row is None:
            findings.add("item-facts", f"{entry.where}: {safe_repr(entry.row.id)} has no row")
        else:
            pairs.append((entry, row))
    for _, name in sorted(remaining):
        findings.add("item-facts", f"{safe_repr(name)} of {ITEMS} is in no table of items")
    if "unit" in columns:
        _check_sense(pairs, recipes, findings)
    return facts


def _check_sense(
    pairs: Iterable[tuple[ItemRow, ItemFacts]], recipes: Mapping[str, Recipe], findings: FaultLog
) -> None:
    units: dict[tuple[str, str], str] = {}
    sources: dict[str, str] = {}
    fact_places: dict[str, str] = {}
    for entry, row in pairs:
        if not (row.unit and row.fact):
            findings.add("item-facts", f"{entry.where}: has no unit or no fact")
            continue
        recipe = recipes.get(entry.image or "")
        case = (entry.folder, recipe.case if recipe else entry.image or entry.row.id)
        if units.setdefault(case, row.unit) != row.unit:
            findings.add("unit", f"{entry.where}: {row.unit}, and {units[case]} for its case")
        if sources.setdefault(row.unit, entry.folder) != entry.folder:
            findings.add("unit", f"{entry.where}: {row.unit} is of {sources[row.unit]} too")
        if fact_places.setdefault(row.fact, entry.where) != entry.where:
            findings.add("item-facts", f"{entry.where}: asks the same as {fact_places[row.fact]}")

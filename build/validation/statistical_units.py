"""Whether ``items.csv`` of a release tells of every item the unit and the fact that it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from medrcube.build.reconstruction.recipes import Recipe
from medrcube.build.validation.consistency import TableRow
from medrcube.build.validation.findings import FaultLog
from medrcube.errors import ReleaseError
from medrcube.release_format.item_facts import ITEMS, ItemFacts, read_item_facts
from medrcube.release_format.tree import safe_repr


def check_units(
    root: Path, rows: Iterable[TableRow], recipes: Mapping[str, Recipe], findings: FaultLog
) -> Mapping[tuple[str, str], ItemFacts]:
    """Every item has one row; a case has one unit, a unit one source, a fact one item.

    Returns:
        The rows by dataset and id; none where the table cannot be read.
    """
    try:
        facts = read_item_facts(root)
    except ReleaseError as error:
        findings.add("item-facts", str(error))
        return {}
    left = dict(facts)
    told = []
    for placed in rows:
        row = left.pop((placed.folder, placed.row.id), None)
        if row is None:
            findings.add("item-facts", f"{placed.where}: {safe_repr(placed.row.id)} has no row")
        else:
            told.append((placed, row))
    for _, name in sorted(left):
        findings.add("item-facts", f"{safe_repr(name)} of {ITEMS} is in no test.json")
    if told and not any(row.unit for _, row in told):
        findings.add("units-missing", ITEMS)
    else:
        _check_sense(told, recipes, findings)
    return facts


def _check_sense(
    told: Iterable[tuple[TableRow, ItemFacts]], recipes: Mapping[str, Recipe], findings: FaultLog
) -> None:
    units: dict[tuple[str, str], str] = {}
    sources: dict[str, str] = {}
    asked: dict[str, str] = {}
    for placed, row in told:
        if not (row.unit and row.fact):
            findings.add("item-facts", f"{placed.where}: has no unit or no fact")
            continue
        recipe = recipes.get(placed.image or "")
        case = (placed.folder, recipe.case if recipe else placed.image or placed.row.id)
        if units.setdefault(case, row.unit) != row.unit:
            findings.add("unit", f"{placed.where}: {row.unit}, and {units[case]} for its case")
        if sources.setdefault(row.unit, placed.folder) != placed.folder:
            findings.add("unit", f"{placed.where}: {row.unit} is of {sources[row.unit]} too")
        if asked.setdefault(row.fact, placed.where) != placed.where:
            findings.add("item-facts", f"{placed.where}: asks what {asked[row.fact]} asks")

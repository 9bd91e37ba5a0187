"""Pair items with the same facts in another edition: other wording, order and distractors.

Two editions of one workspace differ only in their seed (``medrcube build --seed``), so that neither
is harder on average. A model that memorised the items of one edition, rather than what the images
show, is less accurate on the same facts in the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem, item_from_json, item_to_json
from medrcube.evaluate.dataset import Benchmark
from medrcube.files.atomic import write_text

__all__ = ["FILE", "read_reworded", "reworded_items", "write_reworded"]

FILE = "reworded.jsonl"


def reworded_items(items: Iterable[BenchmarkItem], edition: Benchmark) -> dict[str, BenchmarkItem]:
    """Return items of another edition by the name of the item with the same fact.

    They keep name, image and unit of the first edition, so that answers to both are paired. Facts
    that the other edition lacks, or asks about in the same words and order, are left out.

    Raises:
        WorkspaceError: a release states no facts, or the two share none.
    """
    items = list(items)
    others = {item.fact: item for item in edition.standing if item.fact}
    if not others or not any(item.fact for item in items):
        where = edition.root if not others else "the release"
        raise WorkspaceError(
            f"{where}: has no facts (column fact of items.csv), by which two editions are paired; "
            "make both with  medrcube release  of this version, from one workspace"
        )
    pairs = {
        item.name: replace(
            other,
            id=item.id,
            dataset=item.dataset,
            image=item.image,
            restricted=item.restricted,
            unit=item.unit,
        )
        for item in items
        if (other := others.get(item.fact)) and not _same(item, other)
    }
    if not pairs:
        raise WorkspaceError(
            f"{edition.root}: has no fact of the release in other words; expected another "
            "edition of the same workspace:  medrcube build WORKSPACE --seed 1,  then  "
            "medrcube release"
        )
    return pairs


def write_reworded(run: Path, items: Mapping[str, BenchmarkItem]) -> None:
    """Store the items of the other edition with the run."""
    rows = (json.dumps(item_to_json(item), ensure_ascii=False) for item in items.values())
    write_text(run / FILE, "".join(f"{row}\n" for row in rows))


def read_reworded(run: Path) -> dict[str, BenchmarkItem]:
    """Return the items that ``write_reworded`` stored; empty without the file."""
    path = run / FILE
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").split("\n")
    items = (item_from_json(json.loads(line)) for line in lines if line)
    return {item.name: item for item in items}


def _same(item: BenchmarkItem, other: BenchmarkItem) -> bool:
    mine, theirs = ((i.question, i.options, i.target) for i in (item, other))
    return mine == theirs

"""Priority of items: those first that are doubtful by model answers, item rules or rarity."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.evaluate.runner.run_folder import RESULTS, read_manifest
from medrcube.review.exchange.workspace_items import IncomingItem

__all__ = [
    "BLIND",
    "CONFLICT",
    "FROM_RUNS",
    "RARE",
    "WARNED",
    "ItemSummary",
    "ModelDoubts",
    "doubts_from_runs",
    "merged_priority",
    "priorities",
    "summarize",
]

CONFLICT, BLIND, WARNED, RARE = 8, 4, 2, 1
"""Weights, each greater than the sum of the following: models contradict the key; the key is found
without the image; warnings of two or more item rules; few items of its kind."""
FROM_RUNS = CONFLICT | BLIND
_ANSWERED = frozenset({"correct", "wrong"})
_BASELINE = "baseline/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDoubts:
    """Ids of items that model answers make doubtful."""

    conflict: frozenset[str] = frozenset()
    blind: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSummary:
    """Data of an item that its priority depends on.

    Attributes:
        item: id of the item.
        stratum: see ``IncomingItem``.
        warnings: number of item rules with a warning.
        fingerprint: see ``IncomingItem``.
        case_key: see ``IncomingItem``.
    """

    item: str
    stratum: str
    warnings: int
    fingerprint: str
    case_key: str


def doubts_from_runs(runs: Sequence[Path], blind_runs: Sequence[Path] = ()) -> ModelDoubts:
    """Find doubtful items in runs of ``medrcube evaluate``.

    An item is in conflict if more than half of the models that answered it chose a different option
    than the key, and solved blind if every model without the image found the key. Baselines do not
    look at images and count as blind.

    Args:
        runs: folders of runs with images, or of baselines.
        blind_runs: folders of runs without images.

    Raises:
        WorkspaceError: a folder is not a run, or has not been scored.
    """
    seeing: dict[str, Counter[str]] = {}
    blind: dict[str, Counter[str]] = {}
    for run in (*runs, *blind_runs):
        name = str(read_manifest(run).get("model", {}).get("name", ""))
        into = blind if run in blind_runs or name.startswith(_BASELINE) else seeing
        for item, outcome in _run_outcomes(run):
            if outcome in _ANSWERED:
                into.setdefault(item, Counter())[outcome] += 1
    return ModelDoubts(
        conflict=frozenset(
            item for item, outcomes in seeing.items() if outcomes["wrong"] > outcomes["correct"]
        ),
        blind=frozenset(item for item, outcomes in blind.items() if not outcomes["wrong"]),
    )


def summarize(row: IncomingItem) -> ItemSummary:
    """Return the data of an item that is kept in memory during an import."""
    return ItemSummary(
        item=row.item.id,
        stratum=sys.intern(row.stratum),
        warnings=len(row.item.warnings),
        fingerprint=row.fingerprint,
        case_key=sys.intern(row.case_key),
    )


def priorities(glances: Collection[ItemSummary], doubts: ModelDoubts) -> dict[str, int]:
    """Return the priority of each item; higher comes first."""
    strata = Counter(row.stratum for row in glances)
    even = len(glances) / len(strata) if strata else 0.0
    return {
        row.item: CONFLICT * (row.item in doubts.conflict)
        + BLIND * (row.item in doubts.blind)
        + WARNED * (row.warnings >= 2)
        + RARE * (strata[row.stratum] < even / 2)
        for row in glances
    }


def merged_priority(old: int, new: int, *, with_runs: bool) -> int:
    """Merge priorities: without runs, the part derived from earlier runs is kept."""
    return new if with_runs else new | old & FROM_RUNS


def _run_outcomes(run: Path) -> Iterable[tuple[str, str]]:
    path = run / RESULTS
    try:
        # Not splitlines(): a reply may contain U+2028, which JSON does not escape.
        lines = path.read_text(encoding="utf-8").split("\n")
        rows: list[Mapping[str, str]] = [json.loads(line) for line in lines if line]
        return [(str(row["id"]), str(row["outcome"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(
            f"{path}: no results of a run ({error}); score it:  medrcube score {run}"
        ) from error

"""Priority of items: those first that models, rules of item writing or rarity put in doubt."""

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
"""Each outweighs all that follow: models contradict the key; the key is found without looking at
the image; two or more rules of item writing are bent; few items of its kind."""
FROM_RUNS = CONFLICT | BLIND
_ANSWERED = frozenset({"correct", "wrong"})
_BASELINE = "baseline/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDoubts:
    """Items in which the answers of models give a reason to doubt, by their ids."""

    conflict: frozenset[str] = frozenset()
    blind: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSummary:
    """What the order of an import rests on.

    Attributes:
        item: its id.
        stratum: see ``IncomingItem``.
        warnings: how many rules of item writing it bends.
        fingerprint: see ``IncomingItem``.
        case_key: see ``IncomingItem``.
    """

    item: str
    stratum: str
    warnings: int
    fingerprint: str
    case_key: str


def doubts_from_runs(runs: Sequence[Path], blind_runs: Sequence[Path] = ()) -> ModelDoubts:
    """Read runs of ``medrcube evaluate``.

    An item is in conflict when more than half of the models that answered it chose another option
    than the key, and solved blind when every model that saw no image found the key. Baselines
    look at nothing: they count as blind.

    Args:
        runs: folders of runs with images, or of baselines.
        blind_runs: folders of runs in which the models were shown no image.

    Raises:
        WorkspaceError: a folder is not a run, or was not scored.
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
    """What of an item stays in memory while a workspace is imported."""
    return ItemSummary(
        item=row.item.id,
        stratum=sys.intern(row.stratum),
        warnings=len(row.item.warnings),
        fingerprint=row.fingerprint,
        case_key=sys.intern(row.case_key),
    )


def priorities(glances: Collection[ItemSummary], doubts: ModelDoubts) -> dict[str, int]:
    """Item -> priority; larger is sooner."""
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
    """A new priority; what an earlier import has learnt from runs stays when there are none."""
    return new if with_runs else new | old & FROM_RUNS


def _run_outcomes(run: Path) -> Iterable[tuple[str, str]]:
    path = run / RESULTS
    try:
        # Not splitlines(): a reply may hold U+2028, which JSON does not escape.
        lines = path.read_text(encoding="utf-8").split("\n")
        rows: list[Mapping[str, str]] = [json.loads(line) for line in lines if line]
        return [(str(row["id"]), str(row["outcome"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkspaceError(
            f"{path}: no results of a run ({error}); score it:  medrcube score {run}"
        ) from error

"""Two runs on the same questions: which is better, where, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.conditions import Condition
from medrcube.evaluate.outcomes import Outcome, Result
from medrcube.evaluate.running.run_folder import benchmark_of, read_manifest
from medrcube.evaluate.scoring import read_results
from medrcube.evaluate.statistics.conclusions import conclusions
from medrcube.evaluate.statistics.contrasts import LOST
from medrcube.evaluate.statistics.paired import Pair, adjust, paired_metrics
from medrcube.evaluate.statistics.slices import COLUMNS, Axis, grouped
from medrcube.evaluate.statistics.units import unit_kinds, unit_of

ALPHA = 0.05


def compare(
    first: Path, second: Path, *, by: Axis = "task", common: bool = False
) -> dict[str, Any]:
    """Compare two scored runs, item by item.

    The first epoch of the first condition that both runs asked is compared; full stands for the
    unturned form of circular and the other way round. Items of which either run has no reply
    are left out and counted.

    Args:
        first: folder of a run.
        second: folder of the run that it is set against.
        by: axis of the slices; tasks are always compared.
        common: compare runs of different benchmarks on the items that are the same in both:
            name, question, options, key and the bytes of the picture.

    Returns:
        ``runs``, two with ``label``, ``folder``, ``model``, ``dataset`` and ``items``;
        ``condition``; ``same_dataset``; ``items`` with ``common`` ones that are compared,
        ``lost`` by either run, ``changed`` (same name, other content) and ``only_one``;
        ``overall``, a row of ``paired.paired_metrics`` with ``verdict``; ``families``, by axis a
        list of such rows with the names of the group and ``mcnemar_p_holm``; ``notes``, what
        else differs between the runs; ``conclusions``, sentences. ``verdict`` is ``first`` or
        ``second`` where the interval leaves out 0 and McNemar's p (in a family: Holm's) is below
        5 %, else ``unclear``.

    Raises:
        WorkspaceError: a folder is no scored run, the runs asked different benchmarks (without
            ``common``) or different conditions, or they share no item.
    """
    one, other = _load(first), _load(second)
    same = one.dataset == other.dataset
    if not (same or common):
        raise WorkspaceError(
            f"{first} and {second} asked different benchmarks ({one.dataset[:12]} and "
            f"{other.dataset[:12]}); compare runs of one release, or add  --common  to compare on "
            "the items that are the same in both"
        )
    condition, left, right = _shown(one, other)
    names = [name for name in left if name in right]
    equal = [name for name in names if _same_item(left[name], right[name])]
    kept = [
        (left[name], right[name])
        for name in equal
        if left[name].outcome not in LOST and right[name].outcome not in LOST
    ]
    if not kept:
        raise WorkspaceError(f"{first} and {second} answer no item in common")
    axes: dict[Axis, None] = {"task": None, by: None}
    found = {
        "runs": [
            run.described(label)
            for run, label in zip((one, other), _labels(one, other), strict=True)
        ],
        "condition": condition.value,
        "same_dataset": same,
        "items": {
            "common": len(kept),
            "lost": len(equal) - len(kept),
            "changed": len(names) - len(equal),
            "only_one": len(left.keys() ^ right.keys()),
        },
        "overall": _judged(_row(kept), "mcnemar_p"),
        "families": {axis: _family(axis, kept) for axis in axes},
        "notes": _notes(one, other),
    }
    return {**found, "conclusions": conclusions(found)}


@dataclass(frozen=True, slots=True)
class _Run:
    folder: Path
    manifest: Mapping[str, Any]
    results: Sequence[Result]

    @property
    def dataset(self) -> str:
        return benchmark_of(self.manifest)

    @property
    def model(self) -> str:
        return str(self.manifest["model"]["name"])

    def shown(self, *conditions: Condition) -> dict[str, Result]:
        """Results of the first of these conditions that the run asked, by item."""
        for condition in conditions:
            found = {
                result.item.name: result
                for result in self.results
                if (one := result.asked.presentation).condition is condition
                and one.turn == one.epoch == 0
            }
            if found:
                return found
        return {}

    def described(self, label: str) -> dict[str, Any]:
        items = {result.item.name for result in self.results}
        return {
            "label": label,
            "folder": str(self.folder),
            "model": self.model,
            "dataset": self.dataset,
            "items": len(items),
        }


def _load(folder: Path) -> _Run:
    return _Run(folder, read_manifest(folder), read_results(folder))


def _labels(one: _Run, other: _Run) -> tuple[str, str]:
    if one.model != other.model:
        return one.model, other.model
    return f"{one.model} ({one.folder.name})", f"{other.model} ({other.folder.name})"


_COMPARABLE = (
    (Condition.FULL, Condition.CIRCULAR),
    (Condition.BLIND,),
    (Condition.IMAGE_SWAP,),
    (Condition.REWORDED,),
)


def _shown(one: _Run, other: _Run) -> tuple[Condition, dict[str, Result], dict[str, Result]]:
    for conditions in _COMPARABLE:
        left, right = one.shown(*conditions), other.shown(*conditions)
        if left and right:
            return conditions[0], left, right
    asked = [", ".join(run.manifest["conditions"]) for run in (one, other)]
    raise WorkspaceError(
        f"{one.folder} asked {asked[0]}, {other.folder} asked {asked[1]}; expected a condition "
        "that both asked"
    )


def _same_item(left: Result, right: Result) -> bool:
    return left.item == right.item and left.asked.subject == right.asked.subject


def _row(pairs: Sequence[tuple[Result, Result]]) -> dict[str, Any]:
    right = Outcome.CORRECT
    found = paired_metrics(
        [Pair(unit_of(a), a.outcome is right, b.outcome is right) for a, b in pairs]
    )
    return {**found, "unit_kinds": unit_kinds(a for a, _ in pairs)}


def _family(axis: Axis, kept: Sequence[tuple[Result, Result]]) -> list[dict[str, Any]]:
    rows = [
        {**dict(zip(COLUMNS[axis], key, strict=True)), **_row(pairs)}
        for key, pairs in grouped(axis, kept, lambda pair: pair[0].item).items()
    ]
    adjust(rows)
    return [_judged(row, "mcnemar_p_holm") for row in rows]


def _judged(row: dict[str, Any], key: str) -> dict[str, Any]:
    p, interval = row[key], row["interval"]
    verdict = "unclear"
    if p is not None and p < ALPHA and interval is not None:
        if interval[0] > 0:
            verdict = "first"
        elif interval[1] < 0:
            verdict = "second"
    return {**row, "verdict": verdict}


def _notes(one: _Run, other: _Run) -> list[str]:
    notes = []
    if one.manifest["prompt"] != other.manifest["prompt"]:
        notes.append("the runs used different prompts: a difference may be theirs")
    versions = [run.manifest.get("versions", {}).get("medrcube") for run in (one, other)]
    if versions[0] != versions[1]:
        notes.append(f"begun with versions {versions[0]} and {versions[1]} of medrcube")
    return notes

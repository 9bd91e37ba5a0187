"""Compare two runs: which is better, where, and with what certainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import (
    LOST,
    AnswerOutcome,
    Result,
    accuracy_bounds,
    too_many_lost,
)
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.questions.degradation import Degradation
from medrcube.evaluate.questions.settings import side_by_side
from medrcube.evaluate.runner.run_folder import question_set_digest, read_manifest
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.evaluate.scoring import main_results, read_results, withdrawn_items
from medrcube.evaluate.statistics.chain_metrics import AskedChain, asked_chains
from medrcube.evaluate.statistics.grouping import COLUMNS, Axis, grouped
from medrcube.evaluate.statistics.item_sets import group_sets, paired_set_metrics
from medrcube.evaluate.statistics.paired_tests import AnswerPair, adjust, paired_metrics
from medrcube.evaluate.statistics.units import unit_kinds, unit_of
from medrcube.evaluate.statistics.verdict_text import conclusions, points

__all__ = [
    "ALPHA",
    "ComparedRun",
    "compare_two",
    "degradation_notes",
    "differences_of_runs",
    "incomplete_sentences",
    "labels_of",
    "load_compared",
    "require_same_items",
    "same_item",
    "shown_alike",
    "uncompared_conditions",
]

ALPHA = 0.05


def compare_two(
    first: Path, second: Path, *, by: Axis = "task", common: bool = False
) -> dict[str, Any]:
    """Compare two scored runs, item by item.

    The first epoch of the first common condition is compared; full and the unrotated form of
    circular are equivalent. A run on degraded images alone is compared with one on whole images:
    ``condition`` is then ``degraded``, and ``notes`` tell which is which. Items without a reply in
    either run are left out and counted.

    Args:
        first: run folder.
        second: folder of the run to compare with.
        by: axis of the slices; tasks are always compared.
        common: compare runs of different benchmarks on their identical items: same name,
            question, options, key and image bytes.

    Returns:
        ``runs``, two with ``label``, ``folder``, ``model``, ``dataset``, ``items``,
        ``incomplete``, why no accuracy of the run is told, or ``None``, and ``bounds``, between
        which it lies; where a run is incomplete, no row has an accuracy, a difference, an interval
        or a p;
        ``condition``; ``conditions_left``, of each run those that are not compared;
        ``same_dataset``; ``items`` with ``common`` ones that are compared,
        ``lost`` by either run, ``changed`` (same name, other content), ``only_one`` and
        ``withdrawn`` by the errata that either run was scored with, which both leave out;
        ``overall``, a row of ``paired_tests.paired_metrics`` with ``verdict``; ``families``, by
        axis a list of such rows with the names of the group and ``mcnemar_p_holm``; ``sets``, a row
        of ``item_sets.paired_set_metrics`` with ``verdict`` over the sets that both answered,
        or ``None`` without any; ``chains``, a row of ``paired_tests.paired_metrics`` with
        ``verdict`` over the chains that both asked, right where all steps are, or ``None``;
        ``settings``,
        (name, of the first, of the second) of what was set differently; ``notes``, what else
        differs between the runs; ``conclusions``, sentences. ``verdict`` is ``first`` or
        ``second`` where the interval leaves out 0 and McNemar's p (in a family: Holm's) is below 5
        %, else ``unclear``.

    Raises:
        WorkspaceError: a folder is no scored run, the runs asked different benchmarks (without
            ``common``) or different conditions, or they share no item.
    """
    first_run, second_run = load_compared([first, second])
    same = first_run.dataset == second_run.dataset
    if not (same or common):
        raise WorkspaceError(
            f"{first} and {second} asked different benchmarks ({first_run.dataset[:12]} and "
            f"{second_run.dataset[:12]}); compare runs of one release, or add  --common  to "
            "compare on the items that are the same in both"
        )
    condition, (left, right) = shown_alike([first_run, second_run])
    if not common:
        require_same_items([first_run, second_run], [left, right])
    names = [name for name in left if name in right]
    equal = [name for name in names if same_item(left[name], right[name])]
    pairs = [
        (left[name], right[name])
        for name in equal
        if left[name].outcome not in LOST and right[name].outcome not in LOST
    ]
    if not pairs:
        raise WorkspaceError(f"{first} and {second} answer no item in common")
    axes: dict[Axis, None] = {"task": None, by: None}
    described = [
        run.summary(label)
        for run, label in zip(
            (first_run, second_run), labels_of([first_run, second_run]), strict=True
        )
    ]
    parts = incomplete_sentences(described)
    overall = _with_verdict(_row(pairs), "mcnemar_p")
    families = {axis: _family(axis, pairs) for axis in axes}
    sets = _compare_sets(pairs)
    if parts:
        sets = sets and _without_accuracies(sets)
        overall = _without_accuracies(overall)
        families = {axis: list(map(_without_accuracies, rows)) for axis, rows in families.items()}
    comparison = {
        "runs": described,
        "condition": condition.value,
        "conditions_left": uncompared_conditions([first_run, second_run], condition),
        "same_dataset": same,
        "items": {
            "common": len(pairs),
            "lost": len(equal) - len(pairs),
            "changed": len(names) - len(equal),
            "only_one": len(left.keys() ^ right.keys()),
            "withdrawn": len(first_run.withdrawn),
        },
        "overall": overall,
        "families": families,
        "sets": sets,
        "chains": _compare_chains(first_run, second_run),
        "settings": [list(row) for row in side_by_side([first_run.manifest, second_run.manifest])],
        "notes": [
            *differences_of_runs([first_run, second_run]),
            *degradation_notes([first_run, second_run], condition, described),
        ],
    }
    return {**comparison, "conclusions": parts or conclusions(comparison)}


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A scored run, for comparison."""

    folder: Path
    manifest: Mapping[str, Any]
    results: Sequence[Result]
    withdrawn: frozenset[str]

    @property
    def dataset(self) -> str:
        """Digest of the question set."""
        return question_set_digest(self.manifest)

    @property
    def model(self) -> str:
        """Name of the model."""
        return str(self.manifest["model"]["name"])

    def results_of(self, *conditions: Condition) -> dict[str, Result]:
        """Results of the first of these conditions that the run asked, by item name."""
        for condition in conditions:
            results = {
                result.item.name: result
                for result in self.results
                if (presentation := result.asked.presentation).condition is condition
                and presentation.turn == presentation.epoch == 0
            }
            if results:
                return results
        return {}

    def summary(self, label: str) -> dict[str, Any]:
        """Summary of the run in the result of a comparison."""
        items = {result.item.name for result in self.results}
        return {
            "label": label,
            "folder": str(self.folder),
            "model": self.model,
            "dataset": self.dataset,
            "items": len(items),
            "incomplete": self.incomplete,
            "bounds": accuracy_bounds(self._correct(), self._main()),
        }

    @property
    def incomplete(self) -> str | None:
        """Why the run has no accuracy; ``None`` where enough questions have a reply."""
        main = self._main()
        if not too_many_lost(main):
            return None
        replied = sum(result.outcome not in LOST for result in main)
        return f"{replied:,} of {counted(len(main), 'question')} have a reply"

    def _main(self) -> list[Result]:
        return main_results(self.results)

    def _correct(self) -> int:
        return sum(result.outcome is AnswerOutcome.CORRECT for result in self._main())


def load_compared(folders: Sequence[Path]) -> list[ComparedRun]:
    """Load scored runs; items withdrawn in one of them are left out of all.

    Raises:
        WorkspaceError: a folder is no scored run.
    """
    withdrawn = frozenset(name for folder in folders for name in withdrawn_items(folder))
    return [
        ComparedRun(
            folder=folder,
            manifest=read_manifest(folder),
            results=[r for r in read_results(folder) if r.item.name not in withdrawn],
            withdrawn=withdrawn,
        )
        for folder in folders
    ]


def labels_of(runs: Sequence[ComparedRun]) -> list[str]:
    """Unique label of each run: its model, with its folder or number where ambiguous."""
    labels = [run.model for run in runs]
    for more in (lambda run, _: run.folder.name, lambda _, number: f"run {number}"):
        labels = [
            label if labels.count(label) == 1 else f"{run.model} ({more(run, number)})"
            for number, (run, label) in enumerate(zip(runs, labels, strict=True), start=1)
        ]
    return labels


_QUESTION_SETTINGS = ("system prompt", "examples", "size of images", "detail of images")
"""Settings that change a question, besides the prompt."""

_COMPARABLE = (
    (Condition.FULL, Condition.CIRCULAR),
    (Condition.BLIND,),
    (Condition.IMAGE_SWAP,),
    (Condition.REWORDED,),
    (Condition.CHAIN,),
    (Condition.DEGRADED, Condition.FULL, Condition.CIRCULAR),
)
"""Conditions that are compared with one another, the first choice first.

Degraded images are compared with whole ones only where the runs share no other condition.
"""


def shown_alike(runs: Sequence[ComparedRun]) -> tuple[Condition, list[dict[str, Result]]]:
    """First condition that all runs asked, and the results of each run by item name.

    Raises:
        WorkspaceError: no condition was asked by all.
    """
    for conditions in _COMPARABLE:
        results = [run.results_of(*conditions) for run in runs]
        if all(results):
            return conditions[0], results
    conditions_text = [
        f"{run.folder} asked {', '.join(run.manifest['conditions'])}" for run in runs
    ]
    raise WorkspaceError(
        f"{', '.join(conditions_text)}; expected a condition that {_all_of(runs)} asked"
    )


def uncompared_conditions(runs: Sequence[ComparedRun], compared: Condition) -> list[list[str]]:
    """Conditions of each run that are not compared."""
    alike = next(set(kinds) for kinds in _COMPARABLE if compared in kinds)
    return [[name for name in run.manifest["conditions"] if name not in alike] for run in runs]


def require_same_items(
    runs: Sequence[ComparedRun], results: Sequence[Mapping[str, Result]]
) -> None:
    """Refuse runs of one release with different items.

    Raises:
        WorkspaceError: they were not asked the same items.
    """
    if any(by_item.keys() != results[0].keys() for by_item in results):
        counts = ", ".join(
            f"{run.folder} {counted(len(by_item), 'item')}"
            for run, by_item in zip(runs, results, strict=True)
        )
        raise WorkspaceError(
            f"the runs were asked different items of the release ({counts}); add  --common  to "
            "compare on the items that all of them were asked"
        )


def _all_of(runs: Sequence[ComparedRun]) -> str:
    return "both" if len(runs) == 2 else "all"


def same_item(left: Result, right: Result) -> bool:
    """Whether two results have the same question, options, key and image."""
    # An imported run may know no image.
    pictures = {left.asked.subject, right.asked.subject} - {None}
    return left.item == right.item and len(pictures) < 2


def _row(pairs: Sequence[tuple[Result, Result]]) -> dict[str, Any]:
    right = AnswerOutcome.CORRECT
    row = paired_metrics(
        [AnswerPair(unit_of(a), a.outcome is right, b.outcome is right) for a, b in pairs]
    )
    return {**row, "unit_kinds": unit_kinds(a for a, _ in pairs)}


def _compare_sets(pairs: Sequence[tuple[Result, Result]]) -> dict[str, Any] | None:
    """Row of the sets of which both runs answered every item."""
    first, second = (
        {entry.id: entry for entry in group_sets(results).answered}
        for results in zip(*pairs, strict=True)
    )
    both = [(first[name], second[name]) for name in first if name in second]
    return _with_verdict(paired_set_metrics(both), "mcnemar_p") if both else None


def _compare_chains(first: ComparedRun, second: ComparedRun) -> dict[str, Any] | None:
    """Row of the chains that both runs asked, those that lost a reply in either left out."""
    right, left = (
        {chain.id: chain for chain in asked_chains(run.results)} for run in (second, first)
    )
    both = [
        (left[name], right[name])
        for name in left
        if name in right and _same_steps(left[name], right[name])
    ]
    if not both:
        return None
    asked = [(a, b) for a, b in both if not (a.is_lost or b.is_lost)]
    row = paired_metrics([AnswerPair(a.unit, a.is_right, b.is_right) for a, b in asked])
    row["unit_kinds"] = unit_kinds(a.results[0] for a, _ in asked)
    if len(both) - len(asked) > FAILURE_GATE * len(both):
        return _without_accuracies(row)
    return _with_verdict(row, "mcnemar_p")


def _same_steps(left: AskedChain, right: AskedChain) -> bool:
    pairs = zip(left.results, right.results, strict=False)
    return len(left.results) == len(right.results) and all(same_item(a, b) for a, b in pairs)


def degradation_notes(
    runs: Sequence[ComparedRun], compared: Condition, described: Sequence[Mapping[str, Any]]
) -> list[str]:
    """A sentence on the images of each run, where degraded ones are compared."""
    if compared is not Condition.DEGRADED:
        return []
    return [
        f"{about['label']}: "
        + (
            Degradation.of_manifest(run.manifest["degradation"]).words
            if run.results_of(Condition.DEGRADED)
            else "images as they are"
        )
        for run, about in zip(runs, described, strict=True)
    ]


def incomplete_sentences(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence on each incomplete run, from its ``summary``."""
    return [
        f"INCOMPLETE {run['label']}: {run['incomplete']}, so the accuracy lies between "
        f"{points(run['bounds'][0])} and {points(run['bounds'][1])} %; no group, interval "
        "or verdict"
        for run in runs
        if run["incomplete"]
    ]


_COMPLETE_RUN_FIELDS = ("first", "second", "difference", "interval", "mcnemar_p", "mcnemar_p_holm")


def _without_accuracies(row: Mapping[str, Any]) -> dict[str, Any]:
    """Row of an incomplete run: its replies are no random sample of the questions."""
    return {
        **row,
        **{name: None for name in _COMPLETE_RUN_FIELDS if name in row},
        "verdict": "unclear",
    }


def _family(axis: Axis, pairs_of_axis: Sequence[tuple[Result, Result]]) -> list[dict[str, Any]]:
    rows = [
        {**dict(zip(COLUMNS[axis], key, strict=True)), **_row(pairs)}
        for key, pairs in grouped(axis, pairs_of_axis, lambda pair: pair[0].item).items()
    ]
    adjust(rows)
    return [_with_verdict(row, "mcnemar_p_holm") for row in rows]


def _with_verdict(row: dict[str, Any], key: str) -> dict[str, Any]:
    p, interval = row[key], row["interval"]
    verdict = "unclear"
    if p is not None and p < ALPHA and interval is not None:
        if interval[0] > 0:
            verdict = "first"
        elif interval[1] < 0:
            verdict = "second"
    return {**row, "verdict": verdict}


def differences_of_runs(runs: Sequence[ComparedRun]) -> list[str]:
    """Other differences between runs, in sentences."""
    notes = []
    prompts = [run.manifest["prompt"] for run in runs]
    if any(prompt != prompts[0] for prompt in prompts):
        notes.append("the runs used different prompts: a difference may be theirs")
    settings = [
        name
        for name, *_ in side_by_side([run.manifest for run in runs])
        if name in _QUESTION_SETTINGS
    ]
    if settings:
        notes.append(f"the runs differ in {', '.join(settings)}: a difference may be theirs")
    versions = [str(run.manifest.get("versions", {}).get("medrcube")) for run in runs]
    if len(set(versions)) > 1:
        names = list(versions if len(runs) == 2 else dict.fromkeys(versions))
        notes.append(f"begun with versions {', '.join(names[:-1])} and {names[-1]} of medrcube")
    return notes

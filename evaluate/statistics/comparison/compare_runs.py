"""Compare two runs: which is better, where, and with what certainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import LOST, AnswerOutcome, Result
from medrcube.evaluate.questions.settings import side_by_side
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.evaluate.statistics.chain_metrics import AskedChain, asked_chains
from medrcube.evaluate.statistics.comparison.compared_runs import (
    ComparedRun,
    degradation_notes,
    differences_of_runs,
    incomplete_sentences,
    labels_of,
    load_compared,
    refuse_other_questions,
    require_same_items,
    same_item,
    shown_alike,
    uncompared_conditions,
)
from medrcube.evaluate.statistics.comparison.verdict_text import conclusions
from medrcube.evaluate.statistics.grouping import COLUMNS, Axis, grouped
from medrcube.evaluate.statistics.item_sets import group_sets, paired_set_metrics
from medrcube.evaluate.statistics.paired_tests import AnswerPair, adjust, paired_metrics
from medrcube.evaluate.statistics.units import unit_kinds, unit_of

__all__ = ["ALPHA", "compare_two"]

ALPHA = 0.05


def compare_two(
    first: Path, second: Path, *, by: Axis = "task", common: bool = False
) -> dict[str, Any]:
    """Compare two scored runs, item by item.

    The first epoch of the first common condition is compared; full and the unrotated form of
    circular are equivalent. A run on degraded images alone is compared with one on original images:
    ``condition`` is then ``degraded``, and ``notes`` say which is which. Items without a reply in
    either run are left out and counted.

    Args:
        first: run folder.
        second: folder of the run to compare with.
        by: axis of the slices; tasks are always compared.
        common: compare runs of different releases or selections on their identical items: same
            name, question, options, key and image bytes.

    Returns:
        ``runs``, two objects with ``label``, ``folder``, ``model``, ``dataset``, ``items``,
        ``incomplete``, why the run has no accuracy, or ``None``, and ``bounds`` of that accuracy;
        if a run is incomplete, no row has an accuracy, a difference, an interval or a p;
        ``condition``; ``conditions_left``, the conditions of each run that are not compared;
        ``same_dataset``; ``items`` with ``common`` ones, which are compared, ``lost`` by either
        run, ``changed`` (same name, different content), ``only_one`` and ``withdrawn`` by the
        errata that either run was scored with, which are excluded from both;
        ``overall``, a row of ``paired_tests.paired_metrics`` with ``verdict``; ``families``, by
        axis a list of such rows with the names of the group and ``mcnemar_p_holm``; ``sets``, a row
        of ``item_sets.paired_set_metrics`` with ``verdict`` over the sets that both answered,
        or ``None`` without any; ``chains``, a row of ``paired_tests.paired_metrics`` with
        ``verdict`` over the chains that both asked, right if all steps are, or ``None``;
        ``settings``, (name, value in the first, value in the second) of differing settings;
        ``notes``, other differences between the runs; ``conclusions``, sentences. ``verdict`` is
        ``first`` or ``second`` if the interval excludes 0 and McNemar's p (in a family: Holm's) is
        below 5 %, else ``unclear``.

    Raises:
        WorkspaceError: a folder is not a scored run, the runs asked different releases or
            selections (without ``common``) or different conditions, or they share no item.
    """
    first_run, second_run = load_compared([first, second])
    same = first_run.dataset == second_run.dataset
    if not (same or common):
        refuse_other_questions([first_run, second_run])
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


def _row(pairs: Sequence[tuple[Result, Result]]) -> dict[str, Any]:
    right = AnswerOutcome.CORRECT
    row = paired_metrics(
        [AnswerPair(unit_of(a), a.outcome is right, b.outcome is right) for a, b in pairs]
    )
    return {**row, "unit_kinds": unit_kinds(a for a, _ in pairs)}


def _compare_sets(pairs: Sequence[tuple[Result, Result]]) -> dict[str, Any] | None:
    """Return the row of the sets for which both runs answered every item."""
    first, second = (
        {entry.id: entry for entry in group_sets(results).answered}
        for results in zip(*pairs, strict=True)
    )
    both = [(first[name], second[name]) for name in first if name in second]
    return _with_verdict(paired_set_metrics(both), "mcnemar_p") if both else None


def _compare_chains(first: ComparedRun, second: ComparedRun) -> dict[str, Any] | None:
    """Return the row of the chains that both runs asked, unless either lost a reply to one."""
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
    complete = [(a, b) for a, b in both if not (a.is_lost or b.is_lost)]
    row = paired_metrics([AnswerPair(a.unit, a.is_right, b.is_right) for a, b in complete])
    row["unit_kinds"] = unit_kinds(a.results[0] for a, _ in complete)
    if len(both) - len(complete) > FAILURE_GATE * len(both):
        return _without_accuracies(row)
    return _with_verdict(row, "mcnemar_p")


def _same_steps(left: AskedChain, right: AskedChain) -> bool:
    pairs = zip(left.results, right.results, strict=False)
    return len(left.results) == len(right.results) and all(same_item(a, b) for a, b in pairs)


_COMPLETE_RUN_FIELDS = ("first", "second", "difference", "interval", "mcnemar_p", "mcnemar_p_holm")


def _without_accuracies(row: Mapping[str, Any]) -> dict[str, Any]:
    """Blank the accuracies of an incomplete run: its replies are not a random sample."""
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

"""Accuracy along every axis, with sample size, interval, chance level and outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.outcomes import (
    LOST,
    NOT_SHOWN,
    AnswerOutcome,
    Result,
    is_incomplete,
    too_many_lost,
)
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.evaluate.statistics.answer_columns import AnswerColumns, GroupedAnswers
from medrcube.evaluate.statistics.clustered_inference import (
    design_effect,
    share_interval,
    why_no_interval,
)
from medrcube.evaluate.statistics.grouping import COLUMNS, Axis
from medrcube.evaluate.statistics.intervals import SMALL, chance_corrected, mean, ratio
from medrcube.evaluate.statistics.item_sets import set_metrics

__all__ = [
    "METRICS_VERSION",
    "group_metrics",
    "metrics",
    "replies_account",
    "run_metrics",
    "task_metrics",
    "upstream_metrics",
]

METRICS_VERSION = 7
"""Version of the format of ``metrics.json``."""

_INCOMPLETE = f"more than {100 * FAILURE_GATE:.0f} % of the questions of the run have no reply"


def metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return the accuracies of ``metrics.json``, and the count of each rule.

    Empty groups are left out. Each group is a row of ``group_metrics``. ``macro`` has macro
    averages over cells and over tasks, in addition to the micro ``accuracy``; the means
    ``_not_small`` exclude groups with fewer than ``n_min`` items, and ``suppressed`` counts the
    excluded cells. ``sets`` is for items scored together, see ``item_sets.set_metrics``.

    If ``incomplete``, more than ``FAILURE_GATE`` of all items have no reply: then no group has an
    accuracy or an interval, only its ``bounds``.
    """
    all_metrics = _metrics(results)
    return _bounded(all_metrics) if all_metrics["incomplete"] else all_metrics


def run_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return the metrics of all items of a run; with bounds, not an accuracy, if incomplete."""
    total = group_metrics(results)
    return _without_accuracy(total) if is_incomplete(total) else total


def task_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return only ``global`` and ``task``, by the same rule."""
    table = GroupedAnswers.of(results)
    total, tasks = _group(table.columns), _slice(table, "task")
    if is_incomplete(total):
        total = _without_accuracy(total)
        tasks = {name: _without_accuracy(group) for name, group in tasks.items()}
    return {"global": total, "task": tasks}


def _metrics(results: Sequence[Result]) -> dict[str, Any]:
    table = GroupedAnswers.of(results)
    cells = list(enumerate(table.items))
    published = [
        cell for cell, item in cells if item.options and item.task.declaration.published_margins
    ]
    voxels = [
        {**dict(zip(COLUMNS["voxel"], key, strict=True)), **_group(columns)}
        for key, columns in table.by("voxel").items()
    ]
    large = [voxel for voxel in voxels if not voxel["small"]]
    tasks = _slice(table, "task")
    total = _group(table.columns)
    return {
        "version": METRICS_VERSION,
        "incomplete": is_incomplete(total),
        "global": total,
        "macro": {
            "n_min": SMALL,
            "voxels": len(voxels),
            "accuracy": mean(voxel["accuracy"] for voxel in voxels),
            "voxels_not_small": len(large),
            "accuracy_not_small": mean(voxel["accuracy"] for voxel in large),
            "suppressed": len(voxels) - len(large),
            "tasks_not_small": sum(not task["small"] for task in tasks.values()),
            "task_accuracy_not_small": mean(
                task["accuracy"] for task in tasks.values() if not task["small"]
            ),
        },
        "slices": {
            "task": tasks,
            "level": _slice(table, "level"),
            "modality": _slice(table, "modality"),
            "parts": _slice(table, "parts"),
            "dataset": _slice(table, "dataset"),
            "visible": _slice(table, "visible", [cell for cell, item in cells if item.visible]),
            "modality_as_published": _slice(table, "modality", published),
            "parts_as_published": _slice(table, "parts", published),
            "within_sources": _within_sources(results, table),
        },
        "voxels": voxels,
        "sets": set_metrics(results),
        "rules": dict(sorted(Counter(result.rule for result in results).items())),
    }


def group_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return the metrics of a group of items.

    Returns:
        ``n``; ``correct``; ``accuracy`` of all items, one without a reply counted as wrong; its
        95 % ``interval``, clustered by unit, or ``None`` with ``interval_reason``; ``units``, their
        number, and ``unit_kinds``; ``design_effect``; ``accuracy_without_failures``, of the items
        with a reply; ``bounds`` of the accuracy, whatever the items without a reply are;
        ``accuracy_answered``, of the replies that give a letter; ``chance``;
        ``chance_corrected``, 0 at chance and 1 if all are right; ``small`` for fewer than ``SMALL``
        items; ``outcomes``.
    """
    return _group(AnswerColumns.of(results))


def _group(columns: AnswerColumns) -> dict[str, Any]:
    counts = columns.outcome_counts()
    n, correct = len(columns), counts[AnswerOutcome.CORRECT]
    failures = sum(counts[outcome] for outcome in LOST)
    units, kinds = columns.right_by_unit()
    interval = share_interval(units)
    by_chance = mean(columns.chances.tolist())
    accuracy = ratio(correct, n)
    return {
        "n": n,
        "correct": correct,
        "accuracy": accuracy,
        "interval": None if interval is None else list(interval),
        "interval_reason": why_no_interval(units),
        "units": len(units),
        "unit_kinds": kinds,
        "design_effect": design_effect(units),
        "accuracy_without_failures": ratio(correct, n - failures),
        "bounds": [correct / n, (correct + failures) / n] if n else None,
        "accuracy_answered": ratio(correct, correct + counts[AnswerOutcome.WRONG]),
        "chance": by_chance,
        "chance_corrected": chance_corrected(accuracy, by_chance),
        "small": n < SMALL,
        "outcomes": {outcome.value: count for outcome, count in counts.items()},
    }


def upstream_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return the published evaluator's ``metrics_summary.json``, with its keys and task spelling.

    If more than ``FAILURE_GATE`` of all items have no reply, ``acc`` is ``None`` and an additional
    key ``bounds`` gives its range over all items of the group.

    Args:
        results: one result per item; those that the published evaluator does not load are excluded
            from ``n``.
    """
    table = GroupedAnswers.of(results)
    bounded = too_many_lost(results)
    axes: dict[str, Callable[[BenchmarkItem], str]] = {
        "task": lambda item: item.task.release_name,
        "modality": lambda item: item.modality.value,
        "parts": lambda item: item.parts.value,
        "dataset": lambda item: item.dataset,
    }

    def by(*names: str) -> dict[str, Any]:
        cells: dict[str, list[int]] = {}
        for cell, item in enumerate(table.items):
            key = "|".join(f"{name}={axes[name](item)}" for name in names)
            cells.setdefault(key, []).append(cell)
        groups = {key: table.of_cells(members) for key, members in cells.items()}
        return {
            key: _upstream_group(columns, bounded=bounded)
            for key, columns in groups.items()
            if len(columns) > _counts(columns, NOT_SHOWN)
        }

    return {
        "global": _upstream_group(table.columns, bounded=bounded),
        "slice_results": {f"by_{name}": by(name) for name in axes},
        "voxel_results": {"by_task_modality_parts": by("task", "modality", "parts")},
    }


def replies_account(replies: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return number, tokens and reported models of the replies that count.

    Contains nothing that differs between two runs with the same replies: attempts, failures and
    times are left out.
    """
    usage: Counter[str] = Counter()
    models = []
    for record in replies:
        usage.update(record["usage"])
        models.append(record["model"])
    return {
        "n": len(models),
        "usage": dict(sorted(usage.items())),
        "models": sorted(set(models)),
    }


def _upstream_group(columns: AnswerColumns, *, bounded: bool) -> dict[str, Any]:
    n = len(columns) - _counts(columns, NOT_SHOWN)
    correct = _counts(columns, {AnswerOutcome.CORRECT})
    group = {"n": n, "correct": correct, "acc": ratio(correct, n) or 0.0}
    if not bounded:
        return group
    count, missing = len(columns), _counts(columns, LOST)
    bounds = [correct / count, (correct + missing) / count] if count else None
    return {**group, "acc": None, "bounds": bounds}


def _counts(columns: AnswerColumns, outcomes: Collection[AnswerOutcome]) -> int:
    counts = columns.outcome_counts()
    return sum(counts[outcome] for outcome in outcomes)


def _slice(table: GroupedAnswers, axis: Axis, cells: Sequence[int] | None = None) -> dict[str, Any]:
    return {name: _group(columns) for (name,), columns in table.by(axis, cells).items()}


def _within_sources(results: Sequence[Result], table: GroupedAnswers) -> dict[str, Any]:
    """Return groups of items for which recognising the source does not help, by task and overall.

    Every option of such an item is the answer to an item of the same source and task.
    """
    import numpy as np  # noqa: PLC0415 - an import that only scoring pays

    choices = [(r.item.dataset, r.item.task, r.item.options) for r in results]
    keys = {
        (dataset, task, _texts(options)[r.item.key])
        for r, (dataset, task, options) in zip(results, choices, strict=True)
        if options
    }
    are_keys = {
        choice: all((choice[0], choice[1], text) in keys for text in _texts(choice[2]).values())
        for choice in set(choices)
        if choice[2]
    }
    within = np.array([are_keys.get(choice, False) for choice in choices], dtype=bool)
    if not within.any():
        return {}
    subset = table.take(within)
    return {**_slice(subset, "task"), "All tasks": _group(subset.columns)}


@lru_cache(maxsize=4096)
def _texts(options: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the texts of options by letter, ignoring case."""
    return {letter: text.casefold() for letter, text in options}


def _bounded(values: Mapping[str, Any]) -> dict[str, Any]:
    means = ("accuracy", "accuracy_not_small", "task_accuracy_not_small")
    return {
        **values,
        "global": _without_accuracy(values["global"]),
        "macro": {**values["macro"], **dict.fromkeys(means)},
        "slices": {
            axis: {name: _without_accuracy(group) for name, group in groups.items()}
            for axis, groups in values["slices"].items()
        },
        "voxels": [_without_accuracy(group) for group in values["voxels"]],
        "sets": _bounded_sets(values["sets"]),
    }


def _bounded_sets(sets: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if sets is None:
        return None
    shares = dict.fromkeys(("confusion", "item_accuracy"))
    return {
        **sets,
        "global": {**_without_accuracy(sets["global"]), **shares},
        "task": {name: {**_without_accuracy(row), **shares} for name, row in sets["task"].items()},
    }


def _without_accuracy(group: Mapping[str, Any]) -> dict[str, Any]:
    """Return a group of an incomplete run: lost replies are not wrong, nor a random sample."""
    return {
        **group,
        **dict.fromkeys(("accuracy", "interval", "chance_corrected", "design_effect")),
        "interval_reason": _INCOMPLETE,
    }

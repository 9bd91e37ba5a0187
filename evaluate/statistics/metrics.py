"""Accuracy along every axis, with sample size, interval, chance level and outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.outcomes import (
    LOST,
    NOT_SHOWN,
    AnswerOutcome,
    Result,
    accuracy_bounds,
    is_incomplete,
    too_many_lost,
)
from medrcube.evaluate.runner.run_state import FAILURE_GATE
from medrcube.evaluate.statistics.clustered_inference import (
    design_effect,
    share_interval,
    tallies,
    why_no_interval,
)
from medrcube.evaluate.statistics.grouping import COLUMNS, Axis, grouped
from medrcube.evaluate.statistics.intervals import SMALL, chance_corrected, mean, ratio
from medrcube.evaluate.statistics.item_sets import set_metrics
from medrcube.evaluate.statistics.units import unit_kinds, unit_of
from medrcube.taxonomy import Task

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
    averages over voxels and over tasks, in addition to the micro ``accuracy``; the means
    ``_not_small`` exclude groups with fewer than ``n_min`` items, and ``suppressed`` counts the
    excluded voxels. ``sets`` is for items scored together, see ``item_sets.set_metrics``.

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
    total, tasks = group_metrics(results), _slice(results, "task")
    if is_incomplete(total):
        total = _without_accuracy(total)
        tasks = {name: _without_accuracy(group) for name, group in tasks.items()}
    return {"global": total, "task": tasks}


def _metrics(results: Sequence[Result]) -> dict[str, Any]:
    published = [r for r in results if r.item.options and r.item.task.declaration.published_margins]
    voxels = [
        {**dict(zip(COLUMNS["voxel"], key, strict=True)), **group_metrics(group)}
        for key, group in grouped("voxel", results, _item).items()
    ]
    large = [voxel for voxel in voxels if not voxel["small"]]
    tasks = _slice(results, "task")
    total = group_metrics(results)
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
            "level": _slice(results, "level"),
            "modality": _slice(results, "modality"),
            "parts": _slice(results, "parts"),
            "dataset": _slice(results, "dataset"),
            "visible": _slice([r for r in results if r.item.visible], "visible"),
            "modality_as_published": _slice(published, "modality"),
            "parts_as_published": _slice(published, "parts"),
            "within_sources": _within_sources(results),
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
    counts = Counter(result.outcome for result in results)
    n, correct = len(results), counts[AnswerOutcome.CORRECT]
    failures = sum(counts[outcome] for outcome in LOST)
    units = tallies((unit_of(r), int(r.outcome is AnswerOutcome.CORRECT)) for r in results)
    interval = share_interval(units)
    by_chance = mean(result.item.chance for result in results)
    accuracy = ratio(correct, n)
    return {
        "n": n,
        "correct": correct,
        "accuracy": accuracy,
        "interval": None if interval is None else list(interval),
        "interval_reason": why_no_interval(units),
        "units": len(units),
        "unit_kinds": unit_kinds(results),
        "design_effect": design_effect(units),
        "accuracy_without_failures": ratio(correct, n - failures),
        "bounds": [correct / n, (correct + failures) / n] if n else None,
        "accuracy_answered": ratio(correct, correct + counts[AnswerOutcome.WRONG]),
        "chance": by_chance,
        "chance_corrected": chance_corrected(accuracy, by_chance),
        "small": n < SMALL,
        "outcomes": {outcome.value: counts[outcome] for outcome in AnswerOutcome},
    }


def upstream_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Return the published evaluator's ``metrics_summary.json``, with its keys and task spelling.

    If more than ``FAILURE_GATE`` of all items have no reply, ``acc`` is ``None`` and an additional
    key ``bounds`` gives its range over all items of the group.

    Args:
        results: one result per item; those that the published evaluator does not load are excluded
            from ``n``.
    """
    group_of = _upstream_bounded if too_many_lost(results) else _upstream_group
    axes: dict[str, Callable[[Result], str]] = {
        "task": lambda result: result.item.task.release_name,
        "modality": lambda result: result.item.modality.value,
        "parts": lambda result: result.item.parts.value,
        "dataset": lambda result: result.item.dataset,
    }

    def by(*names: str) -> dict[str, Any]:
        groups: dict[str, list[Result]] = {}
        for result in results:
            key = "|".join(f"{name}={axes[name](result)}" for name in names)
            groups.setdefault(key, []).append(result)
        return {
            key: group_of(group)
            for key, group in groups.items()
            if any(result.outcome not in NOT_SHOWN for result in group)
        }

    return {
        "global": group_of(results),
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


def _upstream_group(results: Sequence[Result]) -> dict[str, Any]:
    n = sum(result.outcome not in NOT_SHOWN for result in results)
    correct = sum(result.outcome is AnswerOutcome.CORRECT for result in results)
    return {"n": n, "correct": correct, "acc": ratio(correct, n) or 0.0}


def _upstream_bounded(results: Sequence[Result]) -> dict[str, Any]:
    group = _upstream_group(results)
    return {**group, "acc": None, "bounds": accuracy_bounds(group["correct"], results)}


def _slice(results: Sequence[Result], axis: Axis) -> dict[str, Any]:
    groups = grouped(axis, results, _item)
    return {name: group_metrics(group) for (name,), group in groups.items()}


def _within_sources(results: Sequence[Result]) -> dict[str, Any]:
    """Return groups of items for which recognising the source does not help, by task and overall.

    Every option of such an item is the answer to an item of the same source and task.
    """
    optional = [result for result in results if result.item.options]
    keys = {_answer(result.item, result.item.key) for result in optional}
    within = [
        result
        for result in optional
        if all(_answer(result.item, letter) in keys for letter, _ in result.item.options)
    ]
    return {**_slice(within, "task"), "All tasks": group_metrics(within)} if within else {}


def _answer(item: BenchmarkItem, letter: str) -> tuple[str, Task, str]:
    return (item.dataset, item.task, dict(item.options)[letter].casefold())


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


def _item(result: Result) -> BenchmarkItem:
    return result.item

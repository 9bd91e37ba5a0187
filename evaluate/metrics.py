"""Accuracy cut by every axis, each with its size, interval, chance line and outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from medrcube.evaluate.outcomes import Outcome, Result
from medrcube.evaluate.statistics import chance, mean, ratio, wilson
from medrcube.taxonomy import Anatomy, Level, Modality, Task

SMALL = 10
"""A group of fewer items is marked: its accuracy says little."""

OUTSIDE_PUBLISHED_MARGINS = frozenset({Task.VIEW_RECOGNITION, Task.IMAGING_PROTOCOLS_RECOGNITION})
"""Tasks that the published table leaves out of its modality and region columns."""


def metrics(results: Sequence[Result]) -> dict[str, Any]:
    """Everything that stands in ``metrics.json`` but the accounting of requests.

    Groups without an item are left out. Each group has ``n``; ``correct``; ``accuracy`` of all
    items, so that a failure counts as wrong; its 95 % Wilson ``interval``;
    ``accuracy_without_failures``, where failures are dropped; ``accuracy_answered``, of the
    replies that give a letter; ``chance``; ``outcomes``; and ``small`` for fewer than ``SMALL``.
    """
    published = [r for r in results if r.item.task not in OUTSIDE_PUBLISHED_MARGINS]
    voxels = [
        {"task": task, "modality": modality, "parts": parts, **group_metrics(group)}
        for (task, modality, parts), group in _cells(results)
    ]
    large = [voxel for voxel in voxels if not voxel["small"]]
    return {
        "version": 1,
        "global": group_metrics(results),
        "macro": {
            "voxels": len(voxels),
            "accuracy": mean(voxel["accuracy"] for voxel in voxels),
            "voxels_not_small": len(large),
            "accuracy_not_small": mean(voxel["accuracy"] for voxel in large),
        },
        "slices": {
            "task": _slice(results, _task, [task.value for task in Task]),
            "level": _slice(results, _level, [level.value for level in Level]),
            "modality": _slice(results, _modality, [modality.value for modality in Modality]),
            "parts": _slice(results, _parts, [parts.value for parts in Anatomy]),
            "dataset": _slice(results, _dataset, sorted({_dataset(r) for r in results})),
            "modality_as_published": _slice(published, _modality, [m.value for m in Modality]),
            "parts_as_published": _slice(published, _parts, [parts.value for parts in Anatomy]),
        },
        "voxels": voxels,
        "rules": dict(sorted(Counter(result.rule for result in results).items())),
    }


def group_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """The numbers of one group of items."""
    counts = Counter(result.outcome for result in results)
    n, correct = len(results), counts[Outcome.CORRECT]
    failures = counts[Outcome.FAILED] + counts[Outcome.MISSING_IMAGE]
    return {
        "n": n,
        "correct": correct,
        "accuracy": ratio(correct, n),
        "interval": list(wilson(correct, n)) if n else None,
        "accuracy_without_failures": ratio(correct, n - failures),
        "accuracy_answered": ratio(correct, correct + counts[Outcome.WRONG]),
        "chance": chance([len(result.item.options) for result in results]),
        "small": n < SMALL,
        "outcomes": {outcome.value: counts[outcome] for outcome in Outcome},
    }


def upstream_metrics(results: Sequence[Result]) -> dict[str, Any]:
    """The published evaluator's ``metrics_summary.json``: its keys and its spelling of a task."""
    axes: dict[str, Callable[[Result], str]] = {
        "task": lambda result: result.item.task.release_name,
        "modality": _modality,
        "parts": _parts,
        "dataset": _dataset,
    }

    def by(*names: str) -> dict[str, Any]:
        groups: dict[str, list[Result]] = {}
        for result in results:
            key = "|".join(f"{name}={axes[name](result)}" for name in names)
            groups.setdefault(key, []).append(result)
        return {key: _upstream_group(group) for key, group in groups.items()}

    return {
        "global": _upstream_group(results),
        "slice_results": {f"by_{name}": by(name) for name in axes},
        "voxel_results": {"by_task_modality_parts": by("task", "modality", "parts")},
    }


def accounting(attempts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What all tries of all sessions cost, failed ones too."""
    usage: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    models: set[str] = set()
    replies, latency = 0, 0.0
    for record in attempts:
        if record["status"] == "reply":
            replies += 1
            latency += record["latency"]
            usage.update(record["usage"])
            models.add(record["model"])
        else:
            errors[record["code"]] += 1
    return {
        "tries": replies + errors.total(),
        "replies": replies,
        "errors": dict(sorted(errors.items())),
        "usage": dict(sorted(usage.items())),
        "mean_latency": latency / replies if replies else None,
        "models": sorted(models),
    }


def _upstream_group(results: Sequence[Result]) -> dict[str, Any]:
    correct = sum(result.outcome is Outcome.CORRECT for result in results)
    return {"n": len(results), "correct": correct, "acc": ratio(correct, len(results)) or 0.0}


def _slice(
    results: Sequence[Result], axis: Callable[[Result], str], order: Sequence[str]
) -> dict[str, Any]:
    groups: dict[str, list[Result]] = {name: [] for name in order}
    for result in results:
        groups[axis(result)].append(result)
    return {name: group_metrics(group) for name, group in groups.items() if group}


def _cells(results: Sequence[Result]) -> list[tuple[tuple[str, str, str], list[Result]]]:
    cells: dict[tuple[str, str, str], list[Result]] = {
        (task.value, modality.value, parts.value): []
        for modality in Modality
        for task in Task
        for parts in Anatomy
    }
    for result in results:
        cells[_task(result), _modality(result), _parts(result)].append(result)
    return [(cell, group) for cell, group in cells.items() if group]


def _task(result: Result) -> str:
    return result.item.task.value


def _level(result: Result) -> str:
    return result.item.task.level.value


def _modality(result: Result) -> str:
    return result.item.modality.value


def _parts(result: Result) -> str:
    return result.item.parts.value


def _dataset(result: Result) -> str:
    return result.item.dataset

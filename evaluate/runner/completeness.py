"""Check that the lists of a run contain every question that its manifest states.

A run on a part of a release states a selection of items or a limit. If the lists are shorter
without either, questions were removed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError
from medrcube.evaluate.benchmark_item import BenchmarkItem, held_once
from medrcube.evaluate.questions.chains import steps_digest
from medrcube.evaluate.questions.conditions import Condition, presentations
from medrcube.evaluate.questions.reworded import read_reworded
from medrcube.evaluate.runner.plan import draw_order
from medrcube.evaluate.runner.run_folder import (
    ITEMS,
    QUESTIONS,
    each_json_line,
    read_items,
    read_manifest,
)

__all__ = ["count_outside_draw", "list_problems"]

_LIST_LIMIT = 3


def list_problems(run: Path) -> list[str]:
    """Return deviations of a run's lists from its manifest, in words; empty for a complete run.

    Raises:
        WorkspaceError: the folder is not a run, or a list cannot be read.
    """
    manifest = read_manifest(run)
    try:
        items = read_items(run)
        listed, steps = list[tuple[str, str, int, int]](), list[Mapping[str, Any]]()
        for row in each_json_line(run / QUESTIONS):
            if row.get("chain"):
                steps.append(row)
            else:
                listed.append(_form(row))
        return [
            *_items(manifest, items),
            *_forms(run, manifest, items, listed),
            *_chains(manifest, items, steps),
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise WorkspaceError(f"{run}: the list of questions cannot be read: {error!r}") from error


def count_outside_draw(
    manifest: Mapping[str, Any], asked_names: Sequence[str], release: Sequence[BenchmarkItem]
) -> int:
    """Return the number of items of a run with a limit that are not in the draw.

    Args:
        manifest: manifest of the run.
        asked_names: names of its items.
        release: all items of its release.
    """
    limit = manifest.get("limit")
    if limit is None or manifest.get("selection") is not None:
        return 0
    return len(set(asked_names) - {item.name for item in draw_order(release)[:limit]})


def _items(manifest: Mapping[str, Any], items: Sequence[BenchmarkItem]) -> Iterator[str]:
    selection, limit = manifest.get("selection"), manifest.get("limit")
    available = manifest["dataset"]["items"] if selection is None else selection["items"]
    expected = available if limit is None else min(limit, available)
    names = {item.name for item in items}
    if len(items) != expected or len(names) != expected:
        why = "selection" if selection is not None else "dataset"
        setting = f"{why}.items is {available:,}, " + (
            "with no limit" if limit is None else f"with limit {limit:,}"
        )
        yield (
            f"{ITEMS}: holds {counted(len(names), 'item')}, and the run asks {expected:,} "
            f"(manifest.json: {setting}); items were removed or added after the run: restore the "
            "original folder, or run the evaluation again"
        )
    elif selection is not None and limit is None and selection["digest"] != _digest(names):
        yield f"{ITEMS}: its items do not match selection.digest of manifest.json"


def _forms(
    run: Path,
    manifest: Mapping[str, Any],
    items: Sequence[BenchmarkItem],
    listed: Sequence[tuple[str, str, int, int]],
) -> Iterator[str]:
    conditions = [Condition(name) for name in manifest["conditions"]]
    planned = presentations(
        items, conditions, epochs=manifest["epochs"], reworded=read_reworded(run)
    )
    forms = [(p.item.name, p.condition.value, p.turn, p.epoch) for p in planned]
    if forms == listed:  # as in every run that nobody changed
        return
    expected, present = Counter(forms), Counter(listed)
    for those, what in (
        (expected - present, "lacks"),
        (present - expected, "has in excess"),
    ):
        if those:
            names = list(dict.fromkeys(name for name, *_ in sorted(those)))[:_LIST_LIMIT]
            yield (
                f"{QUESTIONS}: {what} {counted(those.total(), 'question')}, such as of "
                f"{', '.join(names)}; expected {expected.total():,} from the items, conditions "
                f"and epochs of the run, and it holds {present.total():,}"
            )


def _chains(
    manifest: Mapping[str, Any],
    items: Sequence[BenchmarkItem],
    steps: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Report steps of chains that differ from those in the manifest.

    Which chains the items form depends on the recipes of the release, which a run does not contain.
    """
    stated = manifest.get("chains") or {"steps": 0, "digest": ""}
    expected = stated["steps"] * manifest["epochs"]
    if len(steps) != expected:
        yield (
            f"{QUESTIONS}: holds {counted(len(steps), 'step')} of chains; expected {expected:,} "
            "(manifest.json: chains.steps and epochs); restore the original folder, or run the "
            "evaluation again"
        )
        return
    names = {item.name for item in items}
    for epoch in range(manifest["epochs"] if expected else 0):
        rows = [(row["chain"], row["step"], row["item"]) for row in steps if row["epoch"] == epoch]
        if steps_digest(rows) != stated["digest"] or not {name for *_, name in rows} <= names:
            yield f"{QUESTIONS}: its chains do not match chains.digest of manifest.json"


def _form(row: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return row["item"], held_once(row["condition"]), row["turn"], row["epoch"]


def _digest(names: set[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()

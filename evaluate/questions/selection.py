"""Select the items of a run, and record the selection in its identity."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medrcube.console.counts import counted
from medrcube.errors import WorkspaceError, failure_text
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.models.protocol import Json
from medrcube.evaluate.questions import expressions
from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "NOT_THERE",
    "WITHDRAWN",
    "WITHHELD",
    "ItemFilter",
    "ItemSelection",
    "read_ids",
    "select_items",
]

WITHHELD, NOT_THERE, WITHDRAWN = "may-not-be-sent", "not-there", "withdrawn"
"""Reasons for leaving out a selected item."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Filter of items; all parts must match.

    Attributes:
        tasks: tasks; all if empty, likewise below.
        anatomies: regions.
        modalities: modalities.
        sources: sources by folder in the release, case-insensitive.
        where: expression over the columns of an item.
        ids: names ``SOURCE/ID``, or ids.
        present_only: only items whose image is present.
        withheld: sources whose items are left out because their images may not be sent.
    """

    tasks: frozenset[Task] = frozenset()
    anatomies: frozenset[Anatomy] = frozenset()
    modalities: frozenset[Modality] = frozenset()
    sources: frozenset[str] = frozenset()
    where: str | None = None
    ids: frozenset[str] | None = None
    present_only: bool = False
    withheld: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSelection:
    """Items selected by a filter.

    Attributes:
        items: selected items, in the order of the release.
        matches: number of matching items before any was left out.
        left_out: items left out, by reason.
        by_source: of these, items that may not be sent, by source.
        whole: whether these are all items of the release.
    """

    items: tuple[BenchmarkItem, ...]
    matches: int
    left_out: Mapping[str, int]
    by_source: Mapping[str, int]
    whole: bool

    @property
    def identity(self) -> dict[str, Json] | None:
        """Identity of the selection in a run's manifest; ``None`` for the whole release."""
        if self.whole:
            return None
        names = "\n".join(sorted(item.name for item in self.items))
        return {
            "digest": hashlib.sha256(names.encode()).hexdigest(),
            "items": len(self.items),
            "wanted": self.matches,
            "left_out": dict(self.left_out),
            "by_source": dict(self.by_source),
        }


def select_items(benchmark: Benchmark, choice: ItemFilter) -> ItemSelection:
    """Select the items of a run.

    Raises:
        WorkspaceError: no item is left, or a source or an id is not in the release.
    """
    tests = _tests(benchmark.items, choice)
    matching = [item for item in benchmark.items if all(test(item) for test in tests)]
    if not matching:
        raise WorkspaceError("no item of the release matches the options; loosen them")
    withheld = Counter(item.dataset for item in matching if item.dataset in choice.withheld)
    may = [item for item in matching if item.dataset not in choice.withheld]
    digests = benchmark.image_digests if choice.present_only else {}
    items = [
        item
        for item in may
        if not choice.present_only or (item.image is not None and digests[item.image] is not None)
    ]
    left_out = {
        why: count
        for why, count in ((WITHHELD, withheld.total()), (NOT_THERE, len(may) - len(items)))
        if count
    }
    if not items:
        reasons = "; ".join(f"{count:,} {why}" for why, count in left_out.items())
        raise WorkspaceError(
            f"none is left of {counted(len(matching), 'item')} ({reasons}); see --i-may-send "
            "(in Python may_send) for images under an agreement, medrcube reconstruct for missing "
            "images"
        )
    return ItemSelection(
        items=tuple(items),
        matches=len(matching),
        left_out=left_out,
        by_source=dict(sorted(withheld.items())),
        whole=len(items) == len(benchmark.items),
    )


def read_ids(path: Path) -> frozenset[str]:
    """Read item names, one per line; empty lines and lines that begin with # are skipped.

    Raises:
        WorkspaceError: the file cannot be read, or names nothing.
    """
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"--ids {path}: cannot be read: {failure_text(error)}") from error
    names = frozenset(line for line in lines if line and not line.startswith("#"))
    if not names:
        raise WorkspaceError(f"--ids {path}: has no item; expected SOURCE/ID or ID on each line")
    return names


def _tests(
    items: Sequence[BenchmarkItem], choice: ItemFilter
) -> list[Callable[[BenchmarkItem], bool]]:
    tests: list[Callable[[BenchmarkItem], bool]] = []
    if choice.tasks:
        tests.append(lambda item: item.task in choice.tasks)
    if choice.anatomies:
        tests.append(lambda item: item.parts in choice.anatomies)
    if choice.modalities:
        tests.append(lambda item: item.modality in choice.modalities)
    if choice.sources:
        folders = {item.dataset.casefold(): item.dataset for item in items}
        names = {name.casefold() for name in choice.sources}
        _all_known("--source", names, folders)
        tests.append(lambda item: item.dataset.casefold() in names)
    if choice.where is not None:
        tests.append(expressions.parse(choice.where))
        expressions.require_known(choice.where, items)
    if (ids := choice.ids) is not None:
        _all_known("--ids", ids, {name for item in items for name in (item.name, item.id)})
        tests.append(lambda item: item.name in ids or item.id in ids)
    return tests


def _all_known(option: str, names: Collection[str], present: Collection[str]) -> None:
    if unknown := sorted(set(names) - set(present)):
        first_names = ", ".join(unknown[:5])
        more = f" and {len(unknown) - 5:,} more" if len(unknown) > 5 else ""
        raise WorkspaceError(f"{option}: not in this release: {first_names}{more}")

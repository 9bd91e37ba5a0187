"""Changes between two releases: ``CHANGES.md`` and ``changes.json``.

Items are matched by source and id; an item whose id is gone but whose fact has another id in the
new release counts as renamed. Both trees are read as any user would read them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.console.counts import counted
from medrcube.errors import ReleaseError
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark, load_benchmark
from medrcube.forms import form_of
from medrcube.forms.protocol import Json
from medrcube.release_format.format_version import AUDIT, LARGEST_AUDIT
from medrcube.release_format.tree import open_file, stat_file

__all__ = ["DATA", "KINDS", "PAGE", "ReleaseChanges", "find_changes", "write_changes"]

PAGE, DATA = "CHANGES.md", "changes.json"

KINDS: Mapping[str, str] = {
    "added": "new, a fact that the old release does not ask",
    "gone": "no longer there",
    "renamed": "the same fact under another id, in other words or with other options",
    "re-keyed": "another answer is right, or another bar decides",
    "reworded": "other words in the question or the options, or another unit",
    "reordered": "the same words, the options in another order",
    "moved": "another task, modality or region",
    "picture-changed": "other pixels",
    "picture-unknown": "whether the image is the same cannot be known: no pixel hash, no file",
}
"""Kinds of changes to an item and their meaning; several may apply."""

_LIST_LIMIT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChange:
    """Changes to one item.

    Attributes:
        item: its name in the new release, or in the old one if it is gone.
        kinds: keys of ``KINDS``.
        source: folder of its source.
        task: its task.
        before: its name in the old release, if different.
    """

    item: str
    kinds: tuple[str, ...]
    source: str
    task: str
    before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseChanges:
    """All changes.

    Attributes:
        old: name of the old release, and the digest that identifies it as a benchmark.
        items: number of items in the old and in the new release.
        same: number of items that are the same in both.
        changes: all other items.
        still_there: items withdrawn by the errata of the old release that the new release holds
            unchanged.
    """

    old: tuple[str, str]
    items: tuple[int, int]
    same: int
    changes: tuple[ItemChange, ...]
    still_there: tuple[str, ...]

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of items to which each kind of change applies."""
        counts = Counter(kind for change in self.changes for kind in change.kinds)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}


def find_changes(old: Path, new: Path) -> ReleaseChanges:
    """Compare a release with an earlier one.

    Raises:
        ReleaseError: one of them is not a valid release.
    """
    before, after = load_benchmark(old), load_benchmark(new, pictures=False)
    changes, same = _sorted(before, after)
    changed = {change.item for change in changes}
    return ReleaseChanges(
        old=(_name(old), before.digest),
        items=(len(before.items), len(after.items)),
        same=same,
        changes=tuple(changes),
        still_there=tuple(
            item.name
            for item in after.items
            if item.name in before.errata and item.name not in changed
        ),
    )


def write_changes(tree: Path, changes: ReleaseChanges) -> None:
    """Write both files into a tree that is being built."""
    (tree / PAGE).write_text(_page(changes), encoding="utf-8")
    document = {
        "old": {"name": changes.old[0], "digest": changes.old[1], "items": changes.items[0]},
        "items": changes.items[1],
        "same": changes.same,
        "counts": dict(changes.counts),
        "withdrawn_and_still_there": list(changes.still_there),
        "changes": [
            {
                "item": change.item,
                "kinds": list(change.kinds),
                "source": change.source,
                "task": change.task,
                **({"before": change.before} if change.before else {}),
            }
            for change in changes.changes
        ],
    }
    (tree / DATA).write_text(
        json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def _sorted(before: Benchmark, after: Benchmark) -> tuple[list[ItemChange], int]:
    old = {item.name: item for item in before.items}
    new = {item.name: item for item in after.items}
    gone_facts = {
        (item.dataset, item.fact): item
        for name, item in old.items()
        if name not in new and item.fact
    }
    changes: list[ItemChange] = []
    renamed, same = set[str](), 0
    for name, item in new.items():
        former, other_name = old.get(name), ""
        if former is None:
            former = gone_facts.get((item.dataset, item.fact)) if item.fact else None
            if former is None or former.name in renamed:
                changes.append(_change(item, ("added",)))
                continue
            renamed.add(former.name)
            other_name = former.name
        kinds = (*(("renamed",) if other_name else ()), *_kinds(former, item, before, after))
        if kinds:
            changes.append(_change(item, kinds, other_name))
        else:
            same += 1
    changes += [
        _change(item, ("gone",))
        for name, item in old.items()
        if name not in new and name not in renamed
    ]
    return changes, same


def _change(item: BenchmarkItem, kinds: tuple[str, ...], before: str = "") -> ItemChange:
    return ItemChange(
        item=item.name, kinds=kinds, source=item.dataset, task=item.task.value, before=before
    )


def _kinds(
    old: BenchmarkItem, new: BenchmarkItem, before: Benchmark, after: Benchmark
) -> Iterator[str]:
    words = [[text for _, text in item.options] for item in (old, new)]
    asks, right = zip(_asked_and_right(old), _asked_and_right(new), strict=True)
    if right[0] != right[1]:
        yield "re-keyed"
    if old.question != new.question or asks[0] != asks[1] or sorted(words[0]) != sorted(words[1]):
        yield "reworded"
    elif words[0] != words[1]:
        yield "reordered"
    if (old.task, old.modality, old.parts) != (new.task, new.modality, new.parts):
        yield "moved"
    pictures = [_pixels(before, old), _pixels(after, new)]
    if None in pictures:
        digests = [_file(before, old), _file(after, new)]
        if None in digests:
            yield "picture-unknown"
        elif digests[0] != digests[1]:
            yield "picture-changed"
    elif pictures[0] != pictures[1]:
        yield "picture-changed"


def _asked_and_right(item: BenchmarkItem) -> tuple[Json, Json]:
    """Return what an open item states in addition to the question, and its target with the bar.

    For options, this is the text of the key: their texts and order are compared separately.
    """
    if item.target is None:
        return None, item.right_answer
    ask, right = form_of(item.target).write_target(item.target)
    return [item.form, ask], right


def _pixels(benchmark: Benchmark, item: BenchmarkItem) -> str | None:
    return None if item.image is None else benchmark.pixels.get(item.image)


def _file(benchmark: Benchmark, item: BenchmarkItem) -> str | None:
    return None if item.image is None else benchmark.image_digests[item.image]


def _name(root: Path) -> str:
    """Return the version of a release from its audit; empty if it has none."""
    path = root / AUDIT
    if stat_file(root, path) is None:
        return ""
    with open_file(root, path, largest=LARGEST_AUDIT) as file:
        try:
            audit: Any = json.loads(file.read())
        except (ValueError, RecursionError) as error:
            raise ReleaseError(f"{path}: cannot be read as JSON: {error}") from None
    name = audit.get("release") if isinstance(audit, dict) else None
    return name if isinstance(name, str) and name.isprintable() else ""


def _page(changes: ReleaseChanges) -> str:
    name, digest = changes.old
    title = f"release {name}" if name else "the release before"
    summary = (
        f"{counted(changes.items[1], 'item')}; {changes.items[0]:,} before (benchmark "
        f"`{digest[:16]}`). {counted(changes.same, 'item')} the same in both, with the same words, "
        "key and pixels. Scores on the two releases are not of the same questions; `medrcube "
        "compare --common` compares two runs on what is the same in both."
    )
    lines = [f"# Changes since {title}", "", summary, ""]
    if changes.still_there:
        shouted = f"{counted(len(changes.still_there), 'item')} withdrawn from {title}"
        names_of_items = _names(changes.still_there)
        still = "is" if len(changes.still_there) == 1 else "are"
        lines += [f"**{shouted} {still} in this release unchanged:** {names_of_items}.", ""]
    if not changes.changes:
        return "\n".join([*lines, "No item changed.", ""])
    lines += ["| Change | Items | Means |", "|---|---:|---|"]
    lines += [f"| {kind} | {count:,} | {KINDS[kind]} |" for kind, count in changes.counts.items()]
    lines += ["", "## By source and task", "", *_table(changes), ""]
    for kind in changes.counts:
        names = [_change_line(change) for change in changes.changes if kind in change.kinds]
        lines += [f"## {kind.capitalize()}", "", f"{_names(names)}.", ""]
    return "\n".join([*lines, f"All of them: `{DATA}`.", ""])


def _table(changes: ReleaseChanges) -> Iterator[str]:
    kinds = list(changes.counts)
    yield f"| Source | Task | {' | '.join(kinds)} |"
    yield f"|---|---|{'---:|' * len(kinds)}"
    cells: dict[tuple[str, str], Counter[str]] = {}
    for change in changes.changes:
        cells.setdefault((change.source, change.task), Counter()).update(change.kinds)
    for (source, task), kind_counts in sorted(cells.items()):
        yield f"| {source} | {task} | {' | '.join(f'{kind_counts[kind]:,}' for kind in kinds)} |"


def _change_line(change: ItemChange) -> str:
    return f"{change.item} (was {change.before})" if change.before else change.item


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LIST_LIMIT:,} more" if len(names) > _LIST_LIMIT else ""
    return ", ".join(f"`{name}`" for name in names[:_LIST_LIMIT]) + more

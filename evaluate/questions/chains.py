"""Chains: the questions on one image, from what is seen to what it means, as one conversation.

No new items are created: a chain is a series of existing items on one image, with at most one item
per task, in the order of the vocabulary's levels and of the tasks within a level, covering at least
two levels. Items are on one image if their recipes name the same frame or slice of the same files;
in a release without recipes, if their files have the same bytes and the same patient or case.
Chains depend only on the items, never on the order in which they are read.

In a conversation the text of one question may give away the answer to another. Two items are never
steps of the same chain if one names the key of the other, before or after it: a later question that
names the key of an earlier one tells the model what it should have said. "Names" means that the
question itself, every one of its options, or its key contains the key of the other: as a phrase, or
as all the words that distinguish that key from the other options. Words by which questions refer to
a modality count as its key.

Further pairs are excluded. A question about a place, or a yes/no question, is not asked together
with an image of the same slice with marks, nor a yes/no question with another on findings, diseases
or grades: asking where a mass is presupposes that there is one, and an outline may be drawn around
what is asked about. A question that offers "cannot be determined" is not asked together with the
protocol of its image: if no option names a contrast agent, the image cannot show enhancement. For
the same reason no grade is asked together with a question that locates a finding, and no question
that offers "no abnormality" or the like together with an open task that does. Two questions on one
field of the source are not steps of the same chain, nor are two on a grade or number: a point on a
mass and the box around it, or an ejection fraction and its range, are the same thing asked twice.

This is a check of words, not of meaning: a list of options may still hint at what an earlier
question asked.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.models.protocol import Json
from medrcube.fact_kind import FactKind
from medrcube.forms.box import BoxTarget
from medrcube.forms.number import NumberTarget
from medrcube.forms.point import PointTarget
from medrcube.release_format.item_facts import read_scenes
from medrcube.taxonomy import Level, Modality, Task, cube_tasks

__all__ = [
    "RULE",
    "ChainSet",
    "QuestionChain",
    "gives_away",
    "make_chains",
    "scenes_of",
    "steps_digest",
    "task_place",
]

RULE = "chain/4"
"""Changed whenever the same items would give different chains, or the same chain other requests."""

MOST_ITEMS = 64
"""Maximum number of items per image to consider, taken from the start of the draw."""

_LABEL = re.compile(r"[A-Za-z]+ \d+")
"""A key that names a mark in its own image, such as Box 2, and means nothing in another."""

_DENIAL = re.compile(r"(?:no|normal)\b", re.IGNORECASE)
"""Start of an option that says that nothing is there."""

_ABSTENTION = re.compile(r"cannot be determined\b", re.IGNORECASE)

_EMPTY = frozenset({"yes", "no", "none"})
_YES_OR_NO = frozenset({"yes", "no"})
_PROTOCOL = "protocol"
_SHORTEST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionChain:
    """One chain.

    Attributes:
        id: digest of its items, such as ``chain-0123456789abcdef``.
        steps: its items in the order they are asked.
    """

    id: str
    steps: tuple[BenchmarkItem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainSet:
    """The chains of a set of items.

    Attributes:
        chains: the chains, in the order of their first items.
        left_out: items in no chain, by reason: ``gives-away``, one of two items on an image that
            give each other away; ``same-task``, another item of its task is in the chain;
            ``alone``, no item of another level is left on its image; ``no-image``.
    """

    chains: tuple[QuestionChain, ...]
    left_out: Mapping[str, int]

    @property
    def steps(self) -> int:
        """Number of items in chains."""
        return sum(len(chain.steps) for chain in self.chains)

    @property
    def identity(self) -> dict[str, Json]:
        """Entry ``chains`` of a run's manifest."""
        rows = [
            (chain.id, step, item.name)
            for chain in self.chains
            for step, item in enumerate(chain.steps, start=1)
        ]
        return {
            "rule": RULE,
            "chains": len(self.chains),
            "steps": self.steps,
            "digest": steps_digest(rows),
            "left_out": dict(self.left_out),
        }


def scenes_of(benchmark: Benchmark, items: Iterable[BenchmarkItem]) -> dict[str, str]:
    """Return each item's scene (image content without marks) by name; skips items without image.

    Raises:
        ReleaseError: the recipes of the release cannot be read.
    """
    by_image = read_scenes(benchmark.root)
    scenes = {}
    for item in items:
        if item.image is not None:
            bytes_or_path = benchmark.image_digests[item.image] or item.image
            alone = f"{item.dataset}\0{item.unit}\0{bytes_or_path}"
            scenes[item.name] = by_image.get(item.image, alone)
    return scenes


def make_chains(items: Sequence[BenchmarkItem], scenes: Mapping[str, str]) -> ChainSet:
    """Build the chains of a set of items.

    Args:
        items: the items.
        scenes: scene of each item, from ``scenes_of``.
    """
    left_out: Counter[str] = Counter()
    groups: dict[str, list[BenchmarkItem]] = {}
    for item in items:
        if item.name in scenes:
            groups.setdefault(scenes[item.name], []).append(item)
        else:
            left_out["no-image"] += 1
    chains = [chain for group in groups.values() if (chain := _chain(group, left_out))]
    return ChainSet(chains=tuple(chains), left_out=dict(sorted(left_out.items())))


def gives_away(first: BenchmarkItem, second: BenchmarkItem) -> bool:
    """Whether two items ask the same, or one names, shows or presupposes the other's answer."""
    return _ask_alike(first, second) or _tells(first, second) or _tells(second, first)


def steps_digest(rows: Iterable[tuple[str, int, str]]) -> str:
    """Return a digest of the steps of some chains: chain, position and item name of each."""
    lines = sorted(f"{chain} {step} {name}" for chain, step, name in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def task_place(task: Task) -> tuple[int, int]:
    """Return the position of a task in a chain: its level, then its order among the tasks."""
    return list(Level).index(task.level), list(Task).index(task)


def _chain(group: Sequence[BenchmarkItem], left_out: Counter[str]) -> QuestionChain | None:
    """Return the chain of the items on one image, if there is one."""
    sequence = sorted(group, key=lambda item: hashlib.sha256(item.name.encode()).digest())
    left_out["same-task"] += len(sequence[MOST_ITEMS:])
    apart = _apart(sequence[:MOST_ITEMS])
    left_out["gives-away"] += len(sequence[:MOST_ITEMS]) - len(apart)
    by_task: dict[Task, BenchmarkItem] = {}
    for item in apart:
        by_task.setdefault(item.task, item)
    left_out["same-task"] += len(apart) - len(by_task)
    if len({task.level for task in by_task}) < 2:
        left_out["alone"] += len(by_task)
        _drop_zeros(left_out)
        return None
    _drop_zeros(left_out)
    steps = tuple(by_task[task] for task in sorted(by_task, key=task_place))
    digest = hashlib.sha256("\n".join(item.name for item in steps).encode()).hexdigest()
    return QuestionChain(id=f"chain-{digest[:16]}", steps=steps)


def _apart(sequence: Sequence[BenchmarkItem]) -> list[BenchmarkItem]:
    """Select items that do not give each other away, in the order of the draw.

    While some do, the one with the most conflicts is removed; on a tie the one whose level, then
    whose task, has the most other items, then the lowest, then the last.
    """
    partners: dict[str, set[str]] = {item.name: set() for item in sequence}
    for place, first in enumerate(sequence):
        for second in sequence[place + 1 :]:
            if first.task != second.task and gives_away(first, second):
                partners[first.name].add(second.name)
                partners[second.name].add(first.name)
    remaining = list(sequence)
    while any(partners.values()):
        levels = Counter(item.task.level for item in remaining)
        tasks = Counter(item.task for item in remaining)
        worst = max(
            range(len(remaining)),
            key=lambda place: (
                len(partners[remaining[place].name]),
                levels[remaining[place].task.level],
                tasks[remaining[place].task],
                [-rank for rank in task_place(remaining[place].task)],
                place,
            ),
        )
        gone = remaining.pop(worst).name
        del partners[gone]
        for others in partners.values():
            others.discard(gone)
    return remaining


def _ask_alike(first: BenchmarkItem, second: BenchmarkItem) -> bool:
    """Whether two items are on the same field, or both on a grade or number.

    Items of the published cube do not state their field.
    """
    cube = cube_tasks()
    stated = first.task not in cube or second.task not in cube
    same = first.original_task is not None and first.original_task == second.original_task
    return (stated and same) or (_is_graded(first) and _is_graded(second))


def _is_graded(item: BenchmarkItem) -> bool:
    return isinstance(item.target, NumberTarget) or _asks_grade(item)


def _asks_grade(item: BenchmarkItem) -> bool:
    """Whether an item asks how abnormal something is: a fact that an image shows only once."""
    return any(kind.abnormal and not kind.several for kind in _kinds(item))


def _kinds(item: BenchmarkItem) -> Iterator[FactKind]:
    """Return the kinds of facts that an item's task asks about, as far as known here."""
    kinds = map(FactKind.by_name, item.task.declaration.kinds)
    return (kind for kind in kinds if kind is not None)


def _tells(teller: BenchmarkItem, other: BenchmarkItem) -> bool:
    """Whether an item shows or presupposes what another asks for, or names its key."""
    return _shows_place(teller, other) or _supposes(teller, other) or _names(teller, other)


def _shows_place(teller: BenchmarkItem, other: BenchmarkItem) -> bool:
    """Whether the image of an item may have marks on what another asks for."""
    asks_for_it = isinstance(other.target, PointTarget | BoxTarget) or _asks_whether(other)
    return asks_for_it and teller.image != other.image


def _supposes(teller: BenchmarkItem, other: BenchmarkItem) -> bool:
    """Whether an item presupposes what another grades, asks yes or no about, or may deny."""
    kinds = tuple(_kinds(teller))
    if _asks_whether(other) and any(kind.abnormal for kind in kinds):
        return True
    told_by_protocol = any(_ABSTENTION.match(text) for _, text in other.options)
    if told_by_protocol and _PROTOCOL in teller.task.declaration.kinds:
        return True
    level = teller.task.level
    locates = any(level in above.rests_on for above in Level)
    names_finding = any(kind.abnormal and kind.several for kind in kinds)
    may_deny = any(_DENIAL.match(text) for _, text in other.options)
    return locates and names_finding and (may_deny or _asks_grade(other))


def _asks_whether(item: BenchmarkItem) -> bool:
    return {text.casefold() for _, text in item.options} >= _YES_OR_NO


def _names(teller: BenchmarkItem, other: BenchmarkItem) -> bool:
    """Whether the words of an item name the key of another."""
    names = _key_names(other)
    if not names:
        return False
    if _holds(teller.question, names):
        return True
    texts = [text for _, text in teller.options]
    key = dict(teller.options).get(teller.key, "")
    return bool(key) and (_holds(key, names) or all(_holds(text, names) for text in texts))


def _holds(text: str, names: Iterable[tuple[str, ...]]) -> bool:
    """Whether a text contains all the phrases of one of the names."""
    plain = _plain(text)
    return any(all(phrase in plain for phrase in name) for name in names)


def _key_names(item: BenchmarkItem) -> list[tuple[str, ...]]:
    """Return the names of an item's key, each as phrases; empty for a mere label."""
    if item.target is not None:
        return []
    key = dict(item.options)[item.key]
    if _LABEL.fullmatch(key) or key.casefold() in _EMPTY:
        return []
    inside = re.findall(r"\(([^()]+)\)", key)
    texts = [key, re.sub(r"\([^()]*\)", " ", key), *inside]
    if item.task.declaration.axis == Modality.axis:
        texts += [item.modality.image, *item.modality.words]
    names: list[tuple[str, ...]] = [(_plain(text),) for text in texts if _plain(text).strip()]
    others = {word for letter, text in item.options if letter != item.key for word in _words(text)}
    telling = [word for word in _words(key) if word not in others and len(word) >= _SHORTEST]
    if telling:
        names.append(tuple(f" {word} " for word in telling))
    return names


def _words(text: str) -> list[str]:
    return _plain(text).split()


@lru_cache(maxsize=1 << 14)
def _plain(text: str) -> str:
    """Return the words of a text, singular and lower case, each surrounded by spaces."""
    words = re.findall(r"\w+", text.casefold())
    single = (w[:-1] if len(w) > _SHORTEST and w[-1] == "s" and w[-2] != "s" else w for w in words)
    return f" {' '.join(single)} "


def _drop_zeros(counts: Counter[str]) -> None:
    for name in [name for name, count in counts.items() if not count]:
        del counts[name]

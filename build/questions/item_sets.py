"""Sets: items of a batch with one question and one list of options, and a different key each.

The items of a block share their options, and their keys are drawn at random (``key_draws``). Items
that also have the same wording are dealt into sets, with at most as many items as options. A model
that answers the question without looking at the image gives the same answer to all items of a set,
and is right for one of them.

Items of one patient are combined first, then those of one source, then the rest, each in random
order. Every item is in at most one set; an item for which no item with another key is left is in
none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import heappop, heappush
from itertools import chain
from operator import itemgetter

from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import Sample
from medrcube.ontologies.distractor_selection import seeded_tiebreak

__all__ = ["BuiltSet", "deal_sets", "is_set"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltSet:
    """One set.

    Attributes:
        id: ``block`` and a digest of the ids of its items.
        items: two or more, in the order of their ids.
    """

    id: str
    items: tuple[ChoiceItem, ...]


def deal_sets(
    items: Iterable[ChoiceItem], samples: Mapping[str, Sample], seed: int
) -> tuple[BuiltSet, ...]:
    """Return the sets of a batch, in the order of their first items.

    Args:
        items: the whole batch, before any items are held back.
        samples: images by id.
        seed: breaks ties.
    """
    cells: dict[tuple[str, ...], list[ChoiceItem]] = {}
    for item in items:
        if item.block:
            texts = sorted(option.text for option in item.options)
            cell = (item.task, item.block, item.question, *texts)
            cells.setdefault(cell, []).append(item)
    dealt: list[BuiltSet] = []
    for members in cells.values():
        leftover = sorted(members, key=lambda item: seeded_tiebreak(seed, "set", item.id))
        for nearness in (_patient, _source, _anything):
            near: dict[str, list[ChoiceItem]] = {}
            for item in leftover:
                near.setdefault(nearness(samples[item.sample]), []).append(item)
            leftover = []
            for group in near.values():
                dealt.extend(_deal(group, leftover))
    return tuple(sorted(dealt, key=lambda item_set: [item.id for item in item_set.items]))


def is_set(items: Sequence[ChoiceItem]) -> bool:
    """Whether items have one question, one list of options, and pairwise different keys."""
    wordings = {(item.question, *sorted(_texts(item))) for item in items}
    return len(wordings) == 1 and len({_key(item) for item in items}) == len(items)


def _deal(items: Sequence[ChoiceItem], leftover: list[ChoiceItem]) -> Iterator[BuiltSet]:
    """Yield sets of these items, the largest first; append the other items to ``leftover``."""
    by_key: dict[str, _ItemQueue] = {}
    for item in items:
        by_key.setdefault(_key(item), _ItemQueue()).add(item)
    while by_key:
        members: list[ChoiceItem] = []
        for key in list(by_key):
            member = by_key[key].take_beside(members)
            if member is not None:
                members.append(member)
            if not by_key[key]:
                del by_key[key]
        if len(members) < 2:
            leftover.extend(members)
            leftover.extend(item for rest in by_key.values() for item in rest.all())
            return
        members.sort(key=lambda item: item.id)
        digest = sha256("\x1f".join(item.id for item in members).encode()).hexdigest()
        yield BuiltSet(id=f"block-{digest[:16]}", items=tuple(members))


class _ItemQueue:
    """Ordered queue of the items with one key, indexed by image for fast access to another one."""

    def __init__(self) -> None:
        self._images: dict[str, deque[tuple[int, ChoiceItem]]] = {}
        self._heads: list[tuple[int, str]] = []
        self._added = 0

    def __bool__(self) -> bool:
        return bool(self._heads)

    def add(self, item: ChoiceItem) -> None:
        queue = self._images.setdefault(item.sample, deque())
        if not queue:
            heappush(self._heads, (self._added, item.sample))
        queue.append((self._added, item))
        self._added += 1

    def take_beside(self, members: Sequence[ChoiceItem]) -> ChoiceItem | None:
        """Remove and return the first item whose image differs from those of ``members``."""
        images = {member.sample for member in members}
        passed = []
        item = None
        while self._heads and item is None:
            place, image = heappop(self._heads)
            if image in images:
                passed.append((place, image))
                continue
            queue = self._images[image]
            item = queue.popleft()[1]
            if queue:
                passed.append((queue[0][0], image))
        for head in passed:
            heappush(self._heads, head)
        return item

    def all(self) -> list[ChoiceItem]:
        """Return the remaining items, in order."""
        return [item for _, item in sorted(chain(*self._images.values()), key=itemgetter(0))]


def _key(item: ChoiceItem) -> str:
    return item.options[item.key].text


def _texts(item: ChoiceItem) -> list[str]:
    return [option.text for option in item.options]


def _patient(sample: Sample) -> str:
    kind, name = ("patient", sample.patient) if sample.patient else ("case", sample.case)
    return f"{sample.source} {kind} {name}"


def _source(sample: Sample) -> str:
    return sample.source


def _anything(_sample: Sample) -> str:
    return ""

"""What is left out so that nobody can answer without the picture.

A reader who sees only the question and its options can do no better than know, for every question
and set of options, which of them is right most often. What such a reader would gain over chance is
counted exactly, so the bound holds for any rule, learnt or not, that does without the picture; the
options alone tell less. Numbered boxes are counted by their options: their numbers are drawn by
lot, and nearly every such question is one of its kind. A task may
give away no more than a check of the finished batch allows; beyond that, questions are left out,
and counted. Blocks (see ``blocks``) give nothing away, so most of a batch is never touched.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from medrcube.build.questions.items import Item
from medrcube.ontologies.distractors import tie
from medrcube.ontologies.words import normalise

GIVEN_AWAY = 2.0
"""Standard errors of its chance score that a task may give away to the best reader of its text."""

_NONE = 1e-9
"""A gain that is none but for rounding."""

BALANCE = "balance"
"""Reason under which left-out questions are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """Items that stay, in the order they came, and ``task: balance`` -> number left out."""

    items: tuple[Item, ...]
    dropped: Counter[str]


def balance(items: Sequence[Item], seed: int) -> Balanced:
    """Leave out as few items as bring every task within ``GIVEN_AWAY``.

    The last item of a source in a cell of the cube (anatomy, modality, task) always stays, so a
    small batch may give away more; the audit says so. The same set of items gives the same
    result in any order.
    """
    tasks: dict[str, list[Item]] = {}
    for item in items:
        tasks.setdefault(item.task, []).append(item)
    out: dict[str, str] = {}
    for task, members in tasks.items():
        out |= dict.fromkeys(_surplus(members, seed), task)
    return Balanced(
        items=tuple(item for item in items if item.id not in out),
        dropped=Counter(f"{task}: {BALANCE}" for task in out.values()),
    )


class _Pile:
    """The items with one text: question and set of options; by key, in an order drawn by lot."""

    def __init__(self, question: str, names: tuple[str, ...]) -> None:
        self.text = (question, *names)
        self.names = names
        self.keys: dict[str, list[Item]] = {}
        self.count = 0

    def add(self, key: str, item: Item) -> None:
        self.keys.setdefault(key, []).append(item)
        self.count += 1

    def gain(self) -> float:
        if not self.count:
            return 0.0
        return max(map(len, self.keys.values())) - self.count / len(self.names)

    def top(self) -> list[str]:
        """The most frequent keys: all of them must shrink before the gain does."""
        most = max(map(len, self.keys.values()))
        return [key for key, items in sorted(self.keys.items()) if len(items) == most]

    def shrink(self, left: Counter[tuple[str, str, str]]) -> list[Item]:
        """Take one item of every most frequent key; none where one of them has none to spare.

        ``left`` counts the items of each cell of the cube and is kept up to date.
        """
        taken: list[Item] = []
        for key in self.top():
            spare = next((it for it in reversed(self.keys[key]) if left[_voxel(it)] > 1), None)
            if spare is None:
                left.update(map(_voxel, taken))
                return []
            left[_voxel(spare)] -= 1
            taken.append(spare)
        for item in taken:
            self.keys[_key(item)].remove(item)
        self.count -= len(taken)
        return taken


class _Due:
    """How often each label is the key of the items that show it, against how often it should."""

    def __init__(self, piles: Iterable[_Pile]) -> None:
        self._keyed: Counter[str] = Counter()
        self._due: dict[str, float] = {}
        for pile in piles:
            for key, items in pile.keys.items():
                self.count(pile, key, len(items))

    def count(self, pile: _Pile, key: str, items: int) -> None:
        """Add items of a pile; a negative number takes them away."""
        self._keyed[key] += items
        for name in pile.names:
            self._due[name] = self._due.get(name, 0.0) + items / len(pile.names)

    def excess(self, pile: _Pile) -> float:
        """How far the most frequent key of a pile is over its due, in standard errors or so."""
        return max(
            (self._keyed[key] - self._due[key]) / math.sqrt(self._due[key]) for key in pile.top()
        )


def _surplus(items: Sequence[Item], seed: int) -> Iterator[str]:
    """Ids to leave out of one task, one by one, from the label that is most over its due."""
    left = Counter(map(_voxel, items))
    piles = _piles(items, seed)
    due = _Due(piles)
    gain = sum(pile.gain() for pile in piles)
    spread = math.fsum((1 - 1 / len(item.options)) / len(item.options) for item in items)
    piles = [pile for pile in piles if pile.gain() > _NONE]
    while piles and gain > GIVEN_AWAY * math.sqrt(spread):
        pile = max(piles, key=lambda one: (due.excess(one), one.gain(), one.text))
        before = pile.gain()
        taken = pile.shrink(left)
        for item in taken:
            due.count(pile, _key(item), -1)
            spread -= (1 - 1 / len(pile.names)) / len(pile.names)
            yield item.id
        gain += pile.gain() - before
        if not taken or pile.gain() <= _NONE:
            piles.remove(pile)


def _piles(items: Iterable[Item], seed: int) -> list[_Pile]:
    piles: dict[tuple[str, ...], _Pile] = {}
    for item in sorted(items, key=lambda item: (tie(seed, item.id), item.id)):
        names = tuple(sorted(normalise(option.text) for option in item.options))
        question = item.question if item.options[item.key].concept else ""
        piles.setdefault((question, *names), _Pile(question, names)).add(_key(item), item)
    return list(piles.values())


def _key(item: Item) -> str:
    return normalise(item.options[item.key].text)


def _voxel(item: Item) -> tuple[str, str, str]:
    return (item.source, item.anatomy, item.modality)

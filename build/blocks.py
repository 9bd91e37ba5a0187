"""Blocks: sets of options that are shown once with each of their members as the key.

A block of n questions shows the same n options, each of them right in one question. Within a
block nothing that is a function of the options tells the key: no label prior, no longest option,
no place on a scale, no rule that a reader might learn. That is what no balance of single labels
can promise (models answer from options alone, arXiv 2402.12483), so as many questions of a batch
as possible are asked in blocks; smaller blocks follow where no larger one can be made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from medrcube.build.ready import Against, Ready
from medrcube.ontologies.difficulty import Difficulty, distance
from medrcube.ontologies.distractors import lots
from medrcube.ontologies.safety import Rules, clash


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One question of a block and the labels of its wrong options."""

    ready: Ready
    wrong: tuple[str, ...]


@dataclass(slots=True)
class _Stack:
    """The questions with one answer, by what may stand against it."""

    waiting: dict[int, deque[Ready]] = field(default_factory=dict)
    pools: dict[int, Against] = field(default_factory=dict)
    count: int = 0

    def add(self, ready: Ready, against: Against) -> None:
        self.pools[against.number] = against
        self.waiting.setdefault(against.number, deque()).append(ready)
        self.count += 1

    def take(self, against: Against) -> Ready:
        found = self.waiting[against.number].popleft()
        if not self.waiting[against.number]:
            del self.waiting[against.number]
        self.count -= 1
        return found

    def open(self) -> list[Against]:
        """Pools with questions that wait, the fullest first."""
        order = sorted(self.waiting, key=lambda number: (-len(self.waiting[number]), number))
        return [self.pools[number] for number in order]


class Shelf:
    """The questions of one cell, from which blocks are taken.

    Args:
        ready: questions whose options come from one group, or from label tables of one task.
        rules: tables, for what may stand beside what.
        options: most options of a block.
        seed: breaks ties.
        wanted: difficulty that is preferred; none takes labels as balance asks.
    """

    def __init__(
        self,
        ready: Iterable[Ready],
        rules: Rules,
        *,
        options: int,
        seed: str,
        wanted: Difficulty | None = None,
    ) -> None:
        self._rules = rules
        self._options = options
        self._wanted = wanted
        self._seed = seed
        self._made = 0
        self._stacks: dict[str, _Stack] = {}
        self._stuck: set[tuple[str, int]] = set()
        self._beside: dict[tuple[str, str], bool] = {}
        self.put_back(ready)

    def put_back(self, ready: Iterable[Ready]) -> None:
        """Add questions, or give back those of a block that cannot be made."""
        for one in ready:
            if one.against is not None:
                self._stacks.setdefault(one.answer, _Stack()).add(one, one.against)
        self._stuck.clear()

    def take(self) -> tuple[Member, ...]:
        """The next block; empty when no two of the questions left can share their options."""
        lot = lots(f"{self._seed}|{self._made}")
        for size in range(self._options, 1, -1):
            anchors = [name for name in self._stacks if (name, size) not in self._stuck]
            for anchor in sorted(anchors, key=lambda name: (-self._count(name), lot(name), name)):
                found = self._block(anchor, size)
                if found:
                    self._made += 1
                    return self._filled(found)
                self._stuck.add((anchor, size))
        return ()

    def rest(self) -> tuple[Ready, ...]:
        """Questions that stand in no block, by lot."""
        left = [
            ready
            for stack in self._stacks.values()
            for waiting in stack.waiting.values()
            for ready in waiting
        ]
        return tuple(sorted(left, key=lambda ready: ready.lot))

    def _count(self, name: str) -> int:
        stack = self._stacks.get(name)
        return stack.count if stack else 0

    def _block(self, anchor: str, size: int) -> dict[str, Against]:
        """Names of a block, each with the pool of the question that asks it; or nothing."""
        for pool in self._stacks[anchor].open():
            names = [name for name in self._ranked(pool) if self._count(name)]
            for start, first in enumerate(names[: len(names) - size + 2]):
                block = {anchor: pool}
                for name in (first, *names[start + 1 :]):
                    self._join(block, name, pairs=size > 2)
                    if len(block) == size:
                        return block
        return {}

    def _ranked(self, pool: Against) -> list[str]:
        """Candidates of a key: trust, the wanted difficulty, then those that wait most."""
        lot = lots(f"{self._seed}|{self._made}|{pool.number}")

        def rank(name: str) -> tuple[int, int, int, int]:
            one = pool.pool.allowed[pool.labels[name]]
            level = distance(one.difficulty, self._wanted) if self._wanted else 0
            return (one.trust, level, -self._count(name), lot(name))

        return sorted(pool.labels, key=rank)

    def _join(self, block: dict[str, Against], name: str, *, pairs: bool) -> None:
        """Add a name when a question with that answer fits all that the block has, and it them."""
        for other, pool in block.items():
            if name not in pool.labels or (pairs and not self._fits(other, name, pool)):
                return
        for pool in self._stacks[name].open():
            if all(other in pool.labels for other in block):
                block[name] = pool
                return

    def _fits(self, name_a: str, name_b: str, pool: Against) -> bool:
        """Whether two names may stand together as wrong options of a third."""
        pair = (name_a, name_b) if name_a < name_b else (name_b, name_a)
        known = self._beside.get(pair)
        if known is None:
            # The pool is that of ``name_a``, which is its key.
            labels = (pool.request.key, pool.labels[name_b])
            known = self._beside[pair] = not clash(*labels, pool.request, self._rules)
        return known

    def _filled(self, block: dict[str, Against]) -> tuple[Member, ...]:
        return tuple(
            Member(
                ready=self._stacks[name].take(pool),
                wrong=tuple(pool.labels[other] for other in block if other != name),
            )
            for name, pool in block.items()
        )


def shelves(
    ready: Sequence[Ready],
    rules: Rules,
    *,
    options: int,
    seed: int,
    wanted: Difficulty | None = None,
) -> Iterator[Shelf]:
    """One shelf for each exclusive group, and for the label tables of each task."""
    cells: dict[tuple[str, str], list[Ready]] = {}
    for one in ready:
        if one.against is not None:
            cells.setdefault((one.query.task.value, one.query.group or ""), []).append(one)
    for cell, members in sorted(cells.items()):
        place = "|".join((str(seed), *cell))
        yield Shelf(members, rules, options=options, seed=place, wanted=wanted)

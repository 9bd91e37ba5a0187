"""Key draws: a seeded random key for each question of an option set.

A block in which each of n options is right exactly once reveals nothing by its options, but someone
who knows the other keys of the block knows the last one. Blocks therefore only determine which sets
of options the questions of a block group can have, and how often; the key of each place is drawn at
random from the set, with replacement, and a question with that answer takes the place. Given the
options alone, each of them is right with the same probability, and the keys of the other places
reveal next to nothing about it.

If all questions with a label are used up, its place stays empty: where questions are few this costs
some of them, and the other keys reveal a little again. ``docs/explanation/option-sets.md`` has the
figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import heapify, heappop, heappush, heapreplace

from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.build.questions.option_blocks import BlockMember
from medrcube.ontologies.distractor_selection import seeded_tiebreak

__all__ = ["QuestionGroup", "draw_keys"]

_Turn = tuple[int, int, str, str]
_Queue = tuple[Mapping[str, str], list[tuple[_Turn, EligibleQuestion]]]

_REDRAWS = 100
"""Redraws of one set until enough keys differ: a draw fails with a probability below one half, so a
set is left as it is once in 2 ** 100 times.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionGroup:
    """Questions that share a set of options and are written together.

    Attributes:
        block: id of the block group and the option set, shared by all its questions.
        members: the questions, each with the other labels of the set as wrong options.
    """

    block: str
    members: tuple[BlockMember, ...]


def draw_keys(
    blocks: Iterable[Sequence[BlockMember]], spare: Iterable[EligibleQuestion], *, seed: str
) -> Iterator[QuestionGroup]:
    """Fill the places of all blocks of one group with questions whose answers are drawn at random.

    Every label of a set is the key of some question if there are at least two places for each
    label; otherwise at least two labels are.

    Args:
        blocks: sets of options with a question for each of their labels.
        spare: questions of the group that are in no block.
        seed: decides the draws, together with the labels of a set.
    """
    planned: dict[tuple[str, ...], list[Sequence[BlockMember]]] = {}
    for block in blocks:
        names = tuple(sorted(member.ready.answer for member in block))
        planned.setdefault(names, []).append(block)
    spare_pool = _QuestionPool(spare)
    for names, members in sorted(planned.items(), key=lambda entry: (-len(entry[0]), entry[0])):
        own = _QuestionPool(member.ready for block in members for member in block)
        yield from _fill(names, len(members), own, spare_pool, seed)
        spare_pool.add(own.rest())


def _fill(
    names: tuple[str, ...], count: int, own: _QuestionPool, spare_pool: _QuestionPool, seed: str
) -> Iterator[QuestionGroup]:
    """Yield one group of questions for each block that was planned with these names."""
    block = sha256("\x1f".join((seed, *names)).encode()).hexdigest()[:12]
    keys = _keys(names, count * len(names), f"{seed}|{block}")
    for start in range(0, len(keys), len(names)):
        drawn_members = [
            own.take(key, names) or spare_pool.take(key, names)
            for key in keys[start : start + len(names)]
        ]
        members = tuple(member for member in drawn_members if member is not None)
        if members:
            yield QuestionGroup(block=block, members=members)


def _keys(names: tuple[str, ...], places: int, seed: str) -> list[str]:
    """Return a label for each place, drawn uniformly and redrawn until enough of them differ."""
    least = len(names) if places >= 2 * len(names) else 2
    keys: list[str] = []
    for attempt in range(_REDRAWS):
        digests = (seeded_tiebreak(seed, attempt, place) for place in range(places))
        keys = [names[int(digest[:12], 16) % len(names)] for digest in digests]
        if len(set(keys)) >= least:
            break
    return keys


class _QuestionPool:
    """Questions by answer and by safe wrong options, served in turn.

    The cells of the cube take turns, and in each of them the sources, so that none is missed by
    chance; then the question with the fewest safe options comes first.
    """

    def __init__(self, ready: Iterable[EligibleQuestion]) -> None:
        self._places: Counter[tuple[str, str, str, str]] = Counter()
        self._kinds: dict[str, dict[int, _Queue]] = {}
        self._fitting: dict[tuple[str, tuple[str, ...]], list[tuple[_Turn, _Queue]]] = {}
        self.add(ready)

    def add(self, ready: Iterable[EligibleQuestion]) -> None:
        self._fitting.clear()
        for entry in sorted(ready, key=lambda question: (question.lot, question.identity)):
            if entry.compatible is None:
                continue
            sample, labels = entry.query.sample, entry.compatible.labels
            place = (entry.answer, sample.anatomy, sample.modality, sample.source)
            turn = (self._places[place], len(labels), entry.lot, entry.identity)
            self._places[place] += 1
            kinds = self._kinds.setdefault(entry.answer, {})
            heappush(kinds.setdefault(entry.compatible.number, (labels, []))[1], (turn, entry))

    def take(self, key: str, names: tuple[str, ...]) -> BlockMember | None:
        """Remove and return the next question with this key for which the others are safe."""
        others = tuple(name for name in names if name != key)
        heads = self._fitting.get((key, others))
        if heads is None:
            heads = self._fitting[key, others] = self._heads(key, others)
        while heads:
            turn, (labels, queue) = heads[0]
            if not queue:
                heappop(heads)
            elif queue[0][0] != turn:
                heapreplace(heads, (queue[0][0], (labels, queue)))
            else:
                return BlockMember(
                    ready=heappop(queue)[1], wrong=tuple(labels[name] for name in others)
                )
        return None

    def _heads(self, key: str, others: Sequence[str]) -> list[tuple[_Turn, _Queue]]:
        """Return a heap of the queues for which the others are safe, by turn; turns only grow."""
        heads = [
            (queue[0][0], (labels, queue))
            for labels, queue in self._kinds.get(key, {}).values()
            if queue and all(name in labels for name in others)
        ]
        heapify(heads)
        return heads

    def rest(self) -> Iterator[EligibleQuestion]:
        """Yield the questions that were not taken."""
        for kinds in self._kinds.values():
            for _, queue in kinds.values():
                for _, question in queue:
                    yield question

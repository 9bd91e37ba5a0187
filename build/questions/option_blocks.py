"""Option blocks: option sets in which each member is the key of one question.

A block of n questions shows the same n options, each of them right in one question: no option is
never the key, and each is safe in every question of the set. Which of them is right where is then
drawn at random (``key_draws``), since the last key of a block follows from the others. As many
questions as possible are planned in large blocks; smaller ones follow where no larger one is
possible.
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.ontologies.difficulty import Difficulty, level_distance
from medrcube.ontologies.distractor_safety import DistractorRequest, SafetyRules, option_conflict
from medrcube.ontologies.distractor_selection import seeded_order

__all__ = ["BlockBuilder", "BlockMember", "block_builders"]

TRIES = 64
"""Most questions with one answer that are tried as the first of a block before a smaller block is
built: a bound on the search if hardly any two questions allow the same names.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockMember:
    """One question of a block and the labels of its wrong options."""

    ready: EligibleQuestion
    wrong: tuple[str, ...]


class BlockBuilder:
    """The questions of one cell, from which blocks are taken.

    Args:
        ready: questions whose options come from one group, or from label tables of one task.
        rules: tables that decide which options may be shown together.
        options: most options of a block.
        seed: breaks ties.
        difficulty: preferred difficulty; without one, the labels with most waiting questions come
            first.
    """

    def __init__(
        self,
        ready: Iterable[EligibleQuestion],
        rules: SafetyRules,
        *,
        options: int,
        seed: str,
        difficulty: Difficulty | None = None,
    ) -> None:
        self._rules = rules
        self._options = options
        self._difficulty = difficulty
        self._seed = seed
        self._count = 0
        self._bits: dict[str, int] = {}
        self._stacks: dict[str, _AnswerStack] = {}
        self._stuck: set[tuple[str, int]] = set()
        self._beside: dict[tuple[str, str], bool] = {}
        self.put_back(ready)

    def put_back(self, ready: Iterable[EligibleQuestion]) -> None:
        """Add questions, or return those of a block that cannot be written."""
        for question in ready:
            if question.compatible is not None:
                mask = self._mask(question.compatible.labels)
                self._mask((question.answer,))
                stack = _AnswerStack(question.compatible.request)
                self._stacks.setdefault(question.answer, stack).add(mask, question)
                self._stuck.clear()

    def take(self) -> tuple[BlockMember, ...]:
        """Remove and return the next block; empty if the remaining questions allow none."""
        lot = seeded_order(f"{self._seed}|{self._count}")
        for size in range(self._options, 1, -1):
            anchors = [
                name
                for name, stack in self._stacks.items()
                if stack.count and (name, size) not in self._stuck
            ]
            for anchor in sorted(
                anchors, key=lambda anchor: (-self._stacks[anchor].count, lot(anchor), anchor)
            ):
                block = self._block(anchor, size)
                if block:
                    self._count += 1
                    return self._filled(block)
                self._stuck.add((anchor, size))
        return ()

    def rest(self) -> tuple[EligibleQuestion, ...]:
        """Return the questions that are in no block, in random order."""
        questions = [question for stack in self._stacks.values() for question in stack.all()]
        return tuple(sorted(questions, key=lambda question: (question.lot, question.identity)))

    def _mask(self, names: Iterable[str]) -> int:
        """Encode names as bits of one integer."""
        mask = 0
        for name in names:
            mask |= self._bits.setdefault(name, 1 << len(self._bits))
        return mask

    def _block(self, anchor: str, size: int) -> dict[str, int]:
        """Return the names of a block, each with the mask of its question; empty if none."""
        there = self._mask(name for name, stack in self._stacks.items() if stack.count)
        tries = 0
        for mask in self._stacks[anchor].masks:
            if (mask & there).bit_count() < size - 1:
                continue
            names = self._ranked(self._stacks[anchor].first(mask))
            for start, first in enumerate(names[: len(names) - size + 2]):
                block = {anchor: mask}
                for name in (first, *names[start + 1 :]):
                    self._join(block, name, pairs=size > 2)
                    if len(block) == size:
                        return block
            tries += 1
            if tries == TRIES:
                break
        return {}

    def _ranked(self, question: EligibleQuestion) -> list[str]:
        """Rank the candidates of a key: by trust, preferred difficulty, then waiting questions."""
        if question.compatible is None:
            return []
        compatible, lot = question.compatible, seeded_order(f"{self._seed}|{self._count}")

        def rank(name: str) -> tuple[int, int, int, int]:
            wrong = compatible.pool.allowed[compatible.labels[name]]
            level = level_distance(wrong.difficulty, self._difficulty) if self._difficulty else 0
            return (wrong.trust, level, -self._stacks[name].count, lot(name))

        waiting = (name for name in compatible.labels if name in self._stacks)
        return sorted((name for name in waiting if self._stacks[name].count), key=rank)

    def _join(self, block: dict[str, int], name: str, *, pairs: bool) -> None:
        """Add a name if a question with that answer is compatible with the whole block."""
        bit, needed = self._bits[name], 0
        for other, mask in block.items():
            if not mask & bit or (pairs and not self._fits(other, name)):
                return
            needed |= self._bits[other]
        for mask in self._stacks[name].masks:
            if mask & needed == needed:
                block[name] = mask
                return

    def _fits(self, name_a: str, name_b: str) -> bool:
        """Whether two names may be shown together as wrong options of a third."""
        pair = (name_a, name_b) if name_a < name_b else (name_b, name_a)
        compatible = self._beside.get(pair)
        if compatible is None:
            a, b = (self._stacks[name].request for name in pair)
            compatible = self._beside[pair] = not option_conflict(a.key, b.key, a, self._rules)
        return compatible

    def _filled(self, block: dict[str, int]) -> tuple[BlockMember, ...]:
        members = []
        for name, mask in block.items():
            question = self._stacks[name].take(mask)
            labels = question.compatible.labels if question.compatible is not None else {}
            wrong = tuple(labels[other] for other in block if other != name)
            members.append(BlockMember(ready=question, wrong=wrong))
        return tuple(members)


class _AnswerStack:
    """The questions with one answer, by the names that are safe wrong options.

    ``masks`` are sorted by number of names, fewest first, so that a block is filled with the
    questions that have the fewest alternatives. ``request`` is that of any of the questions: all
    have the same answer and group.
    """

    def __init__(self, request: DistractorRequest) -> None:
        self.request = request
        self.masks: list[int] = []
        self.count = 0
        self._waiting: dict[int, deque[EligibleQuestion]] = {}

    def add(self, mask: int, question: EligibleQuestion) -> None:
        if mask not in self._waiting:
            self._waiting[mask] = deque()
            insort(self.masks, mask, key=lambda known_mask: (known_mask.bit_count(), known_mask))
        self._waiting[mask].append(question)
        self.count += 1

    def first(self, mask: int) -> EligibleQuestion:
        return self._waiting[mask][0]

    def take(self, mask: int) -> EligibleQuestion:
        question = self._waiting[mask].popleft()
        if not self._waiting[mask]:
            del self._waiting[mask]
            self.masks.remove(mask)
        self.count -= 1
        return question

    def all(self) -> Iterator[EligibleQuestion]:
        for waiting in self._waiting.values():
            yield from waiting


def block_builders(
    ready: Sequence[EligibleQuestion],
    rules: SafetyRules,
    *,
    options: int,
    seed: int,
    difficulty: Difficulty | None = None,
) -> Iterator[tuple[str, BlockBuilder]]:
    """Yield one named builder for each exclusive group, and for the label tables of each task.

    Questions whose wording distinguishes their images ("mammogram", "CT image") share no builder:
    some of their options could never be right with that wording.
    """
    groups: dict[str, list[EligibleQuestion]] = {}
    for question in ready:
        if question.compatible is not None:
            groups.setdefault(question.block_group, []).append(question)
    for name, members in sorted(groups.items()):
        yield (
            name,
            BlockBuilder(
                members, rules, options=options, seed=f"{seed}|{name}", difficulty=difficulty
            ),
        )

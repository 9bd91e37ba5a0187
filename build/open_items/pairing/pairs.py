"""Pairs: two open questions of one stratum with different roles, matched at random.

Two questions of one patient are matched first, then those of two patients. A patient is in at most
one pair of a task and concept. For a task with the audit ``pair-split``, among random candidates
the partner is chosen whose image is most similar in size, brightness and file size, and best
compensates the differences of earlier pairs of the source; no pair is made that would let these
cues distinguish its members.

A question considers only a limited number of partners, of different images, so that matching n
questions takes n log n steps, whatever patients and images they have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product

from medrcube.build.open_items.chance.blind_chance import unit_of
from medrcube.build.open_items.pairing.image_cues import CueBalance
from medrcube.build.open_items.pairing.waiting import Waiting
from medrcube.build.open_items.question import OpenQuestion
from medrcube.forms.option import OptionTarget
from medrcube.ontologies.distractor_selection import seeded_tiebreak

__all__ = ["Pair", "deal_pairs"]

Pair = tuple[OpenQuestion, OpenQuestion]

BALANCED = "pair-split"
"""Audit of whether size, brightness or file size distinguish the members of a pair."""

_CANDIDATES = 64
"""Random candidate partners that are compared."""


def deal_pairs(
    questions: Sequence[OpenQuestion], words: Mapping[int, tuple[str, ...]], seed: int
) -> list[Pair]:
    """Match questions into pairs, in a fixed order.

    Args:
        questions: of one task.
        words: number of a question -> values of its wording, which both members share.
        seed: decides the random order.
    """
    cells: dict[tuple[object, ...], list[OpenQuestion]] = {}
    for number, question in enumerate(questions):
        target, sample = question.target, question.sample
        options: tuple[str, ...] = ()
        if isinstance(target, OptionTarget):
            options = tuple(sorted(text for _, text in target.options))
        cell: tuple[object, ...] = (
            *(question.concept, question.stratum, words[number]),
            *(sample.anatomy, sample.modality, options),
        )
        cells.setdefault(cell, []).append(question)
    dealt: list[Pair] = []
    used_units: set[tuple[str, str]] = set()
    judged = any(BALANCED in question.task.declaration.audits for question in questions)
    balance = CueBalance(question.sample for question in questions) if judged else None
    lots = {cell: (_cell_lot(own, cell[-1], seed), repr(cell)) for cell, own in cells.items()}
    for cell in sorted(cells, key=lots.__getitem__):
        dealt.extend(_deal(cells[cell], used_units, seed, balance))
    return dealt


def _deal(
    questions: Sequence[OpenQuestion],
    used_units: set[tuple[str, str]],
    seed: int,
    balance: CueBalance | None,
) -> Iterator[Pair]:
    lots = sorted(questions, key=lambda question: _lot(question, seed))
    by_unit: dict[str, list[OpenQuestion]] = {}
    for question in lots:
        if (question.concept, unit_of(question)) not in used_units:
            by_unit.setdefault(unit_of(question), []).append(question)
    single: list[OpenQuestion] = []
    for own in by_unit.values():
        pair = _best_pair(_within(own), balance)
        if pair is None:
            single.append(own[0])
        else:
            yield _keep(pair, used_units, balance)
    waiting = {role: Waiting(alike) for role, alike in _by_role(single).items()}
    while len(waiting) > 1:
        # The two roles with most questions, so that as few as possible are left over.
        larger_role, smaller_role = sorted(waiting, key=lambda role: (-len(waiting[role]), role))[
            :2
        ]
        (waiting_question,) = waiting[larger_role].first(1)
        waiting[larger_role].take(waiting_question)
        partners = waiting[smaller_role].first(_CANDIDATES + 1)  # one image may be its own
        pair = _best_pair(((waiting_question, partner) for partner in partners), balance)
        if pair is not None:
            waiting[smaller_role].take(pair[1])
            yield _keep(pair, used_units, balance)
        waiting = {role: rest for role, rest in waiting.items() if rest}


def _within(questions: Sequence[OpenQuestion]) -> Iterator[Pair]:
    """Yield pairs within one patient: of each role, the first random question of some images."""
    most = math.isqrt(_CANDIDATES)
    few = [Waiting(alike).first(most) for _, alike in sorted(_by_role(questions).items())]
    for first, second in combinations(few, 2):
        yield from product(first, second)


def _by_role(questions: Iterable[OpenQuestion]) -> dict[str, list[OpenQuestion]]:
    by_role: dict[str, list[OpenQuestion]] = {}
    for question in questions:
        by_role.setdefault(question.role, []).append(question)
    return by_role


def _keep(pair: Pair, used_units: set[tuple[str, str]], balance: CueBalance | None) -> Pair:
    used_units.update((question.concept, unit_of(question)) for question in pair)
    first, second = _in_order(pair)
    if balance is not None:
        balance.add(first.sample, second.sample)
    return first, second


def _best_pair(pairs: Iterable[Pair], balance: CueBalance | None) -> Pair | None:
    """Return the first valid pair, or the most balanced of some; ``None`` if there is none."""
    fitting = (pair for pair in pairs if _fit(*pair))
    if balance is None:
        return next(fitting, None)
    tried = list(islice(fitting, _CANDIDATES))
    ordered = (_in_order(pair) for pair in tried)
    costs = [balance.cost(first.sample, second.sample) for first, second in ordered]
    least = min(costs, default=math.inf)
    return tried[costs.index(least)] if math.isfinite(least) else None


def _in_order(pair: Pair) -> Pair:
    """Order the members by role, so that a cue difference has the same sign in every pair."""
    first, second = sorted(pair, key=lambda question: (question.role, question.sample.id))
    return first, second


def _fit(first: OpenQuestion, second: OpenQuestion) -> bool:
    """Whether two questions show different images and have different answers."""
    if (
        first.sample.id == second.sample.id
        or first.sample.pixel_sha256 == second.sample.pixel_sha256
    ):
        return False
    keys = {
        dict(question.target.options)[question.target.key]
        for question in (first, second)
        if isinstance(question.target, OptionTarget)
    }
    return len(keys) != 1


def _cell_lot(questions: Sequence[OpenQuestion], options: object, seed: int) -> str:
    """Return the random rank of a cell among those of its patient.

    Cells differ, for example, in their options. In a fixed order, the first options would be used
    whenever they contain the answer, and the others would then reveal it.
    """
    first = min(question.sample.id for question in questions)
    return seeded_tiebreak(seed, "cell", questions[0].concept, first, repr(options))


def _lot(question: OpenQuestion, seed: int) -> str:
    sample = question.sample
    return seeded_tiebreak(seed, "pair", question.task, question.concept, sample.id, question.role)

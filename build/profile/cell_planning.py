"""Cell planning: selects questions that fit a profile, writes items, replans losses.

Plans precede options, and the rules on items and batches still decide: a question may break an
item-writing rule, and keys are drawn at random, so more questions are asked than planned, then
trimmed to the plan. Losses are replanned, a few times, without the questions that failed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from medrcube.build.profile.margin_fit import GroupAnswer as ShelfKey
from medrcube.build.profile.margin_fit import Supply, fit_margins
from medrcube.build.profile.profile import NOT_IN_CUBE, Profile
from medrcube.build.questions.eligibility import EligibleQuestion
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.questions.sampling.quotas import (
    QUOTA,
    AnswerCell,
    Key,
    answer_cell_of,
    key_of,
    patient_of,
    select_cells,
)
from medrcube.ontologies.distractor_selection import seeded_tiebreak
from medrcube.taxonomy import Anatomy, Modality, Task, Voxel

__all__ = ["ItemBatch", "ProfilePlan", "Trim", "plan_items", "supply_of"]

ROUNDS = 4
"""Total number of plans; most losses of the first are made up by the second."""

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemBatch:
    """Outcome of the selected questions.

    Attributes:
        trimmed_items: items as composed and trimmed to the plan.
        valid_items: items that satisfy the rules on a batch.
        failed: questions for which no wording gives an item.
        lost: ``task: reason`` -> number of questions that failed.
        dropped: the same for the other questions that are not among the kept.
    """

    trimmed_items: Sequence[ChoiceItem]
    valid_items: Sequence[ChoiceItem]
    failed: frozenset[str]
    lost: Counter[str]
    dropped: Counter[str]


Trim = Callable[[Sequence[ChoiceItem]], Sequence[ChoiceItem]]
"""Removes items that exceed a plan or quota."""

Make = Callable[[Sequence[EligibleQuestion], Trim], ItemBatch]
"""Turns selected questions into items, trimmed before the rules on a batch are applied."""

SPARE = 2
"""Questions asked for each planned one; see ``build.questions.key_draws``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePlan:
    """Result of planning for a profile.

    Attributes:
        items: the items.
        dropped: ``task: reason`` -> number of questions without an item.
        available: supply of questions.
        usable: supply without the questions that turned out to fail.
        planned: number of items in each cell of the first plan.
        answered: the questions of the items.
        holders: key -> sources that have questions with it.
    """

    items: tuple[ChoiceItem, ...]
    dropped: Counter[str]
    available: Supply
    usable: Supply
    planned: Mapping[Voxel, int]
    answered: tuple[EligibleQuestion, ...]
    holders: Mapping[Key, frozenset[str]]


def plan_items(profile: Profile, ready: Sequence[EligibleQuestion], make: Make) -> ProfilePlan:
    """Make items of the questions that come nearest to a profile.

    No margin is ever exceeded, so the plan with the most items is the nearest. The same set of
    questions gives the same result in any order.

    Args:
        profile: the margins.
        ready: all questions that may be asked.
        make: turns selected questions into items.
    """
    inside = [question for question in ready if profile.holds(answer_cell_of(question).cell)]
    foreign = Counter(question.query.task.value for question in ready)
    foreign -= Counter(question.query.task.value for question in inside)
    ready = inside
    rounds = list(_rounds(profile, ready, make))
    best = max(rounds, key=lambda planning_round: len(planning_round.valid_items))
    quota = Counter(question.query.task.value for question in ready)
    quota -= Counter(item.task for item in best.valid_items)
    for reason, count in best.lost.items():
        quota[reason.partition(": ")[0]] -= count
    return ProfilePlan(
        items=tuple(best.valid_items),
        dropped=best.lost
        + Counter({f"{task}: {QUOTA}": n for task, n in quota.items()})
        + Counter({f"{task}: {NOT_IN_CUBE}": n for task, n in foreign.items()}),
        available=rounds[0].stock,
        usable=supply_of(rounds[-1].open_questions, profile.per_patient),
        planned=rounds[0].planned,
        answered=tuple(best.answered),
        holders=_holders(ready),
    )


def _holders(ready: Iterable[EligibleQuestion]) -> dict[Key, frozenset[str]]:
    holders: dict[Key, set[str]] = {}
    for question in ready:
        holders.setdefault(key_of(question), set()).add(question.query.sample.source)
    return {key: frozenset(sources) for key, sources in holders.items()}


def supply_of(ready: Iterable[EligibleQuestion], per_patient: int) -> Supply:
    """Return the supply, counting no patient more often than allowed in a cell."""
    cells: Counter[tuple[Voxel, str]] = Counter()
    lots: Counter[tuple[AnswerCell, str]] = Counter()
    names: dict[ShelfKey, set[str]] = {}
    counted: set[tuple[ShelfKey, int]] = set()
    for question in ready:
        patient, lot = patient_of(question), answer_cell_of(question)
        cells[lot.cell, patient] += 1
        lots[lot, patient] += 1
        key = (lot.block_group, lot.answer)
        if question.compatible is not None and (key, question.compatible.number) not in counted:
            counted.add((key, question.compatible.number))
            names.setdefault(key, set()).update(question.compatible.labels)
    return Supply(
        cells=_bounded(cells, per_patient),
        lots=_bounded(lots, per_patient),
        names={key: frozenset(answers) for key, answers in names.items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlanningRound:
    """One plan and its outcome.

    Attributes:
        stock: supply of questions.
        planned: the plan.
        valid_items: items made.
        answered: their questions.
        lost: ``task: reason`` -> number of questions lost so far.
        open_questions: questions that may still be asked.
    """

    stock: Supply
    planned: Mapping[Voxel, int]
    valid_items: Sequence[ChoiceItem]
    answered: Sequence[EligibleQuestion]
    lost: Counter[str]
    open_questions: Sequence[EligibleQuestion]


def _rounds(
    profile: Profile, ready: Sequence[EligibleQuestion], make: Make
) -> Iterator[_PlanningRound]:
    failed: Counter[str] = Counter()
    wide = profile.times(SPARE)
    for _ in range(ROUNDS):
        stock = supply_of(ready, profile.per_patient)
        table = fit_margins(profile, stock)
        more = fit_margins(wide, stock)
        questions = select_cells(
            ready,
            more.cells,
            more.lots,
            per_patient=profile.per_patient,
            sources_per_key=profile.sources_per_key,
        )
        batch = make(questions, partial(_trim, profile))
        failed = failed + batch.lost
        kept_ids = set(map(_item_question_id, batch.valid_items))
        answered = [question for question in questions if _question_id(question) in kept_ids]
        remaining = _without_lost(ready, questions, batch)
        yield _PlanningRound(
            stock=stock,
            planned=table.cells,
            valid_items=batch.valid_items,
            answered=answered,
            lost=failed + batch.dropped,
            open_questions=remaining,
        )
        if len(remaining) == len(ready):
            return
        ready = remaining


def _trim(profile: Profile, items: Sequence[ChoiceItem]) -> Sequence[ChoiceItem]:
    """Return as many items of each cell as the profile plans for these, chosen at random."""
    cells = Counter(map(_cell, items))
    stock = Supply(cells=cells, lots={AnswerCell(cell): count for cell, count in cells.items()})
    room = dict(fit_margins(profile, stock).cells)
    within_plan = []
    for item in _in_turn(items, profile.sources_per_key):
        if room.get(_cell(item), 0) > 0:
            room[_cell(item)] -= 1
            within_plan.append(item)
    return within_plan


def _in_turn(items: Sequence[ChoiceItem], sources_per_key: int) -> list[ChoiceItem]:
    """Random order, but first the items that give a key a source that it still needs."""
    by_lot = sorted(items, key=lambda item: seeded_tiebreak("trim", *_item_question_id(item)))
    if sources_per_key == 1:
        return by_lot
    sources_of: dict[tuple[str, str, str], set[str]] = {}
    first: list[ChoiceItem] = []
    rest: list[ChoiceItem] = []
    for item in by_lot:
        sources = sources_of.setdefault((item.task, item.group, item.concept), set())
        needed = len(sources) < sources_per_key and item.source not in sources
        (first if needed else rest).append(item)
        if needed:
            sources.add(item.source)
    return [*first, *rest]


def _cell(item: ChoiceItem) -> Voxel:
    return Voxel(Anatomy(item.anatomy), Modality(item.modality), Task(item.task))


def _without_lost(
    ready: Sequence[EligibleQuestion], questions: Sequence[EligibleQuestion], batch: ItemBatch
) -> Sequence[EligibleQuestion]:
    """Remove failed questions, and in every lot cut by the rules all questions not kept."""
    written_ids, kept_ids = (
        set(map(_item_question_id, batch.trimmed_items)),
        set(map(_item_question_id, batch.valid_items)),
    )
    surplus = written_ids - kept_ids
    cut = {answer_cell_of(question) for question in questions if _question_id(question) in surplus}
    return [
        question
        for question in ready
        if question.identity not in batch.failed
        and (answer_cell_of(question) not in cut or _question_id(question) in kept_ids)
    ]


def _question_id(question: EligibleQuestion) -> tuple[str, str, str, str]:
    query = question.query
    return (query.task.value, query.sample.id, query.field, query.key)


def _item_question_id(item: ChoiceItem) -> tuple[str, str, str, str]:
    return (item.task, item.sample, item.field, item.concept)


def _bounded(counts: Counter[tuple[K, str]], per_patient: int) -> dict[K, int]:
    bounded: Counter[K] = Counter()
    for (key, _), count in counts.items():
        bounded[key] += min(count, per_patient)
    return dict(bounded)

"""Expected items of a source at full size, from the counts of its card.

A card counts the images of each answer (``[[count]]``; a constant without one applies to all
images). Placeholders decide which answers may be asked about and their distractors
(``answerable``), and ``set_capacity`` how many items result. What the card does not count stays
unknown. ``docs/reference/sources.md`` states what a build may still lose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from medrcube.build.profile.answerable import AnswerableFact, answerable_facts
from medrcube.build.profile.set_capacity import scarcest_answer, set_capacity
from medrcube.build.questions.eligibility import EligibleQuestion, is_constant_answer
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.counts import AnswerCount
from medrcube.taxonomy import Task, cube_tasks

__all__ = [
    "TWO_OPTION_SHARE",
    "AnswerCounts",
    "ExpectedItems",
    "expected_items",
    "expected_together",
    "has_constant_answer",
    "two_option_room",
]

OPTIONS = 4
"""Most options of an item."""

TWO_OPTION_SHARE = 0.2
"""Largest share of two-option items in a task; the default of workspaces."""

NUMBERS, PAIRS = "numbers", "pairs"
"""Groups of questions whose options are numbers: three or more, and two."""


@dataclass(slots=True, kw_only=True)
class AnswerCounts:
    """Questions of one block group by answer, and the safe distractors of each."""

    counts: Counter[str] = field(default_factory=Counter)
    beside: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, answer: str, count: int, names: Iterable[str]) -> None:
        """Count questions with an answer."""
        self.counts[answer] += count
        self.beside[answer] = self.beside.get(answer, frozenset()) | frozenset(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedItems:
    """Expected items of one source for one task.

    Attributes:
        items: number of items with three or more options.
        two: number of items with two options.
        shared: number of questions with the only answer of the source; they become items in
            combination with sources that have other answers.
        limits: answers for which more images would add most, as ``answer (pictures)``.
        unknown: fields whose images the card does not count.
        nothing: why a fact that the task asks about yields nothing, as (field or answer, reason).
        keys: answers that may be asked about, including those of unknown number.
        block_groups: the questions themselves.
    """

    items: int = 0
    two: int = 0
    shared: int = 0
    limits: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    nothing: tuple[tuple[str, str], ...] = ()
    keys: frozenset[str] = frozenset()
    block_groups: Mapping[str, AnswerCounts] = field(default_factory=dict)


def expected_items(card: Card) -> Mapping[Task, ExpectedItems]:
    """Expected items of every task of a card, at the default settings of a workspace."""
    pictures = {(count.field, count.shown): count for count in card.counts}
    tallies = {task: _Tally() for task in card.tasks}
    for fact in answerable_facts(card):
        for question in fact.prepared.ready:
            _tally(tallies[question.query.task], card, pictures, fact, question)
        for reason in fact.prepared.dropped:
            task_name, _, why = reason.partition(": ")
            tallies[Task(task_name)].reasons.setdefault(fact.field, Counter())[why] += 1
    return {task: _expected(task, tallies[task]) for task in card.tasks}


def two_option_room(more: int, two: int) -> int:
    """Return the number of two-option items allowed in addition to those with more options."""
    return min(two, int(more * TWO_OPTION_SHARE / (1 - TWO_OPTION_SHARE)))


def expected_together(
    expectations: Mapping[str, Mapping[Task, ExpectedItems]],
) -> dict[tuple[str, Task], float]:
    """Return what each source adds to each task when all are combined.

    Sources with one answer each provide keys for each other, and two-option items are limited to
    their share of the task.
    """
    yields: dict[tuple[str, Task], float] = {}
    for task in cube_tasks():
        own = {name: tasks[task] for name, tasks in expectations.items() if task in tasks}
        for name, items in _together(task, own).items():
            yields[name, task] = items
    return yields


def _together(task: Task, own: Mapping[str, ExpectedItems]) -> dict[str, float]:
    """Return what each source adds to one task when all are combined."""
    shared: dict[str, AnswerCounts] = {}
    for expectation in own.values():
        for block_group, answers, answer in _constant_answers(task, expectation):
            group = shared.setdefault(block_group, AnswerCounts())
            group.add(answer, answers.counts[answer], answers.beside[answer])
    filled = {
        name: set_capacity(answers.counts, answers.beside, OPTIONS)
        for name, answers in shared.items()
    }
    more = sum(expectation.items for expectation in own.values())
    more += sum(capacity.more for capacity in filled.values())
    two = sum(expectation.two for expectation in own.values())
    two += sum(capacity.two for capacity in filled.values())
    pair_share = two_option_room(more, two) / two if two else 0.0
    yields: dict[str, float] = {}
    for name, expectation in own.items():
        yields[name] = expectation.items + expectation.two * pair_share
        for block_group, answers, answer in _constant_answers(task, expectation):
            there = filled[block_group]
            items = there.keys[answer] + there.pairs[answer] * pair_share
            yields[name] += items * answers.counts[answer] / shared[block_group].counts[answer]
    return yields


def _constant_answers(
    task: Task, expectation: ExpectedItems
) -> Iterator[tuple[str, AnswerCounts, str]]:
    """Yield the answers of a source with one answer by its nature, with block group and counts."""
    for block_group, answers in expectation.block_groups.items():
        if has_constant_answer(task, answers):
            for answer in answers.counts:
                yield block_group, answers, answer


def has_constant_answer(task: Task, answers: AnswerCounts) -> bool:
    """Whether a source has one answer to a task by its nature, so that sources are compared."""
    return len(+answers.counts) == 1 and is_constant_answer(task, answers.counts)


@dataclass(slots=True, kw_only=True)
class _Tally:
    """Contribution of the facts of a card to one task.

    Attributes:
        block_groups: counted questions.
        unknown: fields whose images the card does not count, in order.
        reasons: how often a field is not asked about, by reason.
        asked_fields: fields that are asked about.
        keys: answers that may be asked about.
    """

    block_groups: dict[str, AnswerCounts] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    reasons: dict[str, Counter[str]] = field(default_factory=dict)
    asked_fields: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)


def _tally(
    tally: _Tally,
    card: Card,
    pictures: Mapping[tuple[str, str], AnswerCount],
    fact: AnswerableFact,
    question: EligibleQuestion,
) -> None:
    """Count the images of one question, or record that the card does not count them."""
    name, key = question.query.field, question.query.key
    tally.asked_fields.add(name)
    row = pictures.get((fact.field or name, fact.artefact))
    count: int | None = None
    if not fact.concept:
        # A fact about every image is asked about all images, or those that the card counts.
        count = card.images if row is None else row.pictures.get(key, 0)
    elif row is not None and (row.beside or not fact.assumed):
        count = row.pictures.get(fact.concept, 0)
    if count != 0:
        tally.keys.add(question.answer)
    if count is not None:
        names = _names(question)
        if fact.concept and row is not None and row.beside:
            names = (_name(other) for other in row.beside.get(fact.concept, ()))
        _answers(tally.block_groups, question).add(_name(key), count, names)
        return
    concepts = {counted for counted, _ in pictures}
    boxed = any(artefact == "boxes" for _, artefact in pictures)
    if fact.assumed or name not in concepts or (fact.artefact == "boxes" and not boxed):
        tally.unknown[name] = None


def _expected(task: Task, tally: _Tally) -> ExpectedItems:
    block_groups = tally.block_groups
    more = two = shared = 0
    limits: list[str] = []
    alone: list[tuple[str, str]] = []
    for block_group, answers in block_groups.items():
        there = sum(answers.counts.values())
        if block_group == NUMBERS:
            more += there
        elif block_group == PAIRS:
            two += there
        elif has_constant_answer(task, answers):
            shared += there
        else:
            filled = set_capacity(answers.counts, answers.beside, OPTIONS)
            more, two = more + filled.more, two + filled.two
            scarce = scarcest_answer(answers.counts, answers.beside, OPTIONS)
            if scarce is not None:
                limits.append(f"{scarce} ({answers.counts[scarce]:,})")
            if there and not filled.items:
                alone.append(_alone(list(+answers.counts)))
    return ExpectedItems(
        items=more,
        two=two,
        shared=shared,
        limits=tuple(limits),
        unknown=tuple(tally.unknown),
        nothing=(*_nothing(tally), *alone),
        keys=frozenset(tally.keys),
        block_groups=block_groups,
    )


def _alone(answers: list[str]) -> tuple[str, str]:
    """Return the answers if no two of them can form a set, and why."""
    if len(answers) == 1:
        return (answers[0], "no other answer in the source")
    answer_names = ", ".join(answers[:2]) + (
        f", {len(answers) - 2} more" if len(answers) > 2 else ""
    )
    return (answer_names, "none may stand against another")


def _answers(block_groups: dict[str, AnswerCounts], question: EligibleQuestion) -> AnswerCounts:
    numbers = PAIRS if question.query.sample.choices == 2 else NUMBERS
    return block_groups.setdefault(
        numbers if question.compatible is None else question.block_group, AnswerCounts()
    )


def _name(concept: str) -> str:
    return load_terms()[concept].name


def _names(question: EligibleQuestion) -> Iterator[str]:
    if question.compatible is not None:
        for label in question.compatible.labels.values():
            yield _name(label)


def _nothing(tally: _Tally) -> Iterator[tuple[str, str]]:
    """Yield the fields that are not asked about, and the most frequent reason."""
    for name, why in tally.reasons.items():
        if name not in tally.asked_fields:
            yield name, min(why, key=lambda cause: (-why[cause], cause))

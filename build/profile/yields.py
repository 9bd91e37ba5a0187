"""Expected items of a source at full size, from the counts of its card.

A card counts the images of each answer (``[[count]]``; a constant is asked of all where it has
none). Placeholders decide which of them may be asked and against what (``answerable``), and
``set_capacity`` how many items that makes. What the card does not count stays unknown.
``docs/reference/sources.md`` says what a build may still lose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from medrcube.build.profile.answerable import answerable_facts
from medrcube.build.profile.set_capacity import scarcest_answer, set_capacity
from medrcube.build.questions.eligibility import EligibleQuestion, is_constant_answer
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
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
"""Largest share of the items of a task that have two options, as workspaces have it by default."""

NUMBERS, PAIRS = "numbers", "pairs"
"""Shelves of questions whose options are numbers: three or more, and two."""


@dataclass(slots=True, kw_only=True)
class AnswerCounts:
    """Questions of one block group by answer, and what may stand against each."""

    counts: Counter[str] = field(default_factory=Counter)
    beside: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, answer: str, count: int, names: Iterable[str]) -> None:
        """Count questions with an answer."""
        self.counts[answer] += count
        self.beside[answer] = self.beside.get(answer, frozenset()) | frozenset(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedItems:
    """What one source gives to one task.

    Attributes:
        items: items with three options or more.
        two: items with two options.
        shared: questions with the one answer that the source has; they become items beside
            sources with other answers.
        limits: what more images would add most to, as ``answer (pictures)``.
        unknown: fields whose images the card does not count.
        nothing: why what the task asks about gives nothing, as (field or answer, reason).
        keys: answers that may be asked about, those of unknown number included.
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
    named = {name for name, _ in pictures}
    boxed = {name for name, shown in pictures if shown == "boxes"}
    block_groups: dict[Task, dict[str, AnswerCounts]] = {task: {} for task in card.tasks}
    unknown: dict[Task, dict[str, None]] = {task: {} for task in card.tasks}
    reasons: dict[tuple[Task, str], Counter[str]] = {}
    asked: set[tuple[Task, str]] = set()
    keys: dict[Task, set[str]] = {task: set() for task in card.tasks}
    for fact in answerable_facts(card):
        count: int | None = None
        count_row = None
        if fact.concept:
            count_row = pictures.get((fact.field, fact.shown))
            if count_row is not None and (count_row.beside or not fact.assumed):
                count = count_row.pictures.get(fact.concept, 0)
        for question in fact.prepared.ready:
            task, name = question.query.task, question.query.field
            asked.add((task, name))
            if not fact.concept:
                counted = pictures.get((name, fact.shown))
                # What holds of every image is asked of all, or of those that the card counts.
                count = (
                    card.images if counted is None else counted.pictures.get(question.query.key, 0)
                )
            keys[task].update(() if count == 0 else (question.answer,))
            if count is not None:
                names = _names(question)
                if count_row is not None and count_row.beside:
                    names = (_name(other) for other in count_row.beside.get(fact.concept, ()))
                _answers(block_groups[task], question).add(_name(question.query.key), count, names)
            elif fact.assumed or name not in named or (fact.shown == "boxes" and not boxed):
                unknown[task][name] = None
        for reason in fact.prepared.dropped:
            task_name, _, why = reason.partition(": ")
            reasons.setdefault((Task(task_name), fact.field), Counter())[why] += 1
    return {
        task: replace(
            _expected(
                task, block_groups[task], tuple(unknown[task]), _nothing(task, reasons, asked)
            ),
            keys=frozenset(keys[task]),
        )
        for task in card.tasks
    }


def two_option_room(more: int, two: int) -> int:
    """Items with two options that may stand beside those with more."""
    return min(two, int(more * TWO_OPTION_SHARE / (1 - TWO_OPTION_SHARE)))


def expected_together(
    expectations: Mapping[str, Mapping[Task, ExpectedItems]],
) -> dict[tuple[str, Task], float]:
    """What each source adds to each task when all stand side by side.

    Sources with one answer each are keys beside the others, and items with two options are kept
    up to their share of the task.
    """
    given: dict[tuple[str, Task], float] = {}
    for task in cube_tasks():
        own = {name: tasks[task] for name, tasks in expectations.items() if task in tasks}
        shared: dict[str, AnswerCounts] = {}
        for expectation in own.values():
            for block_group, answers in expectation.block_groups.items():
                if has_constant_answer(task, answers):
                    for answer, count in answers.counts.items():
                        beside = answers.beside[answer]
                        shared.setdefault(block_group, AnswerCounts()).add(answer, count, beside)
        filled = {
            name: set_capacity(answers.counts, answers.beside, OPTIONS)
            for name, answers in shared.items()
        }
        more = sum(expectation.items for expectation in own.values())
        more += sum(capacity.more for capacity in filled.values())
        two = sum(expectation.two for expectation in own.values())
        two += sum(capacity.two for capacity in filled.values())
        pair_share = two_option_room(more, two) / two if two else 0.0
        for name, expectation in own.items():
            given[name, task] = expectation.items + expectation.two * pair_share
            for block_group, answers in expectation.block_groups.items():
                if has_constant_answer(task, answers):
                    for answer, count in answers.counts.items():
                        there = filled[block_group]
                        items = there.keys[answer] + there.pairs[answer] * pair_share
                        given[name, task] += items * count / shared[block_group].counts[answer]
    return given


def has_constant_answer(task: Task, answers: AnswerCounts) -> bool:
    """Whether a source has one answer to a task by its nature, so that sources are compared."""
    return len(+answers.counts) == 1 and is_constant_answer(task, answers.counts)


def _expected(
    task: Task,
    block_groups: Mapping[str, AnswerCounts],
    unknown: tuple[str, ...],
    nothing: tuple[tuple[str, str], ...],
) -> ExpectedItems:
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
        unknown=unknown,
        nothing=(*nothing, *alone),
        block_groups=block_groups,
    )


def _alone(answers: list[str]) -> tuple[str, str]:
    """Answers of which no two make a set, and why."""
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


def _nothing(
    task: Task, reasons: Mapping[tuple[Task, str], Counter[str]], asked: set[tuple[Task, str]]
) -> tuple[tuple[str, str], ...]:
    rows = []
    for (of, name), why in reasons.items():
        if of is task and (of, name) not in asked:
            rows.append((name, min(why, key=lambda cause: (-why[cause], cause))))
    return tuple(rows)

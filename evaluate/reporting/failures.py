"""Report section on failures: image, options, replies and the rule that matched.

Filters work without a script: each card has classes, and the style sheet hides the cards that do
not match the chosen outcome, task and run.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.outcomes import AnswerOutcome, Result
from medrcube.evaluate.reporting.markup.embedded_images import ImageEmbedder
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.taxonomy import Task

__all__ = [
    "MOST",
    "SHOWN_OUTCOMES",
    "FailedItem",
    "FailureSection",
    "failure_section",
    "filter_rules",
]

MOST = 200
"""Maximum number of questions shown."""

SHOWN_OUTCOMES = (
    AnswerOutcome.WRONG,
    AnswerOutcome.UNPARSED,
    AnswerOutcome.REFUSED,
    AnswerOutcome.CUT,
)
"""Outcomes counted as failures: there is a reply, and it is not correct."""

_TEXT = 4800
_SHORTEST = 200
_LONGEST = 1600


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedItem:
    """A question that at least one run did not answer correctly.

    Attributes:
        item: the question.
        replies: (run number, result) of every run that asked it.
        picture: number of its image on the page, or ``None``.
        why_no_picture: reason for no image, in words.
        marks: CSS classes for the filters.
    """

    item: BenchmarkItem
    replies: Sequence[tuple[int, Result]]
    picture: int | None
    why_no_picture: str
    marks: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSection:
    """Values of the section.

    Attributes:
        items: the cards, by task.
        total: number of questions that failed in at least one run.
        counts: number of cards by outcome.
        tasks: number of cards by task.
        by_run: number of cards in which each run failed.
        pictures: the distinct images, or ``None`` without a release.
        longest_reply: maximum number of characters shown of a reply.
    """

    items: Sequence[FailedItem]
    total: int
    counts: Mapping[AnswerOutcome, int]
    tasks: Mapping[Task, int]
    by_run: Sequence[int]
    pictures: ImageEmbedder | None
    longest_reply: int


def failure_section(runs: Sequence[ScoredRun], release: Benchmark | None) -> FailureSection:
    """Return a section of at most ``MOST`` failures, balanced over outcomes and tasks.

    Runs on a different benchmark from the first run's are left out, since their questions differ.
    """
    comparable = [(n, run) for n, run in enumerate(runs) if run.benchmark == runs[0].benchmark]
    answers: dict[str, list[tuple[int, Result]]] = {}
    for number, run in comparable:
        for result in run.results:
            answers.setdefault(result.item.name, []).append((number, result))
    failed = [
        replies_of_item
        for replies_of_item in answers.values()
        if _worst(replies_of_item) is not None
    ]
    sample = sorted(_draw_order(failed)[:MOST], key=_place)
    gallery = ImageEmbedder(release=release) if release else None
    cards = [_card(replies, gallery) for replies in sample]
    return FailureSection(
        items=cards,
        total=len(failed),
        counts=Counter(
            outcome for card in cards for outcome in {r.outcome for _, r in card.replies}
        ),
        tasks=Counter(card.item.task for card in cards),
        by_run=[
            sum(_is_shown(r) for card in cards for n, r in card.replies if n == number)
            for number in range(len(runs))
        ],
        pictures=gallery,
        longest_reply=max(_SHORTEST, min(_LONGEST, _TEXT // len(comparable))),
    )


def filter_rules(runs: int) -> list[str]:
    """Return CSS selectors of the cards to hide, for each filter choice.

    A model and an outcome chosen together select that outcome of that model.
    """
    outcomes = [outcome.value for outcome in SHOWN_OUTCOMES]
    rules = [
        f".browse:has(#task-{task.abbreviation}:checked) .card:not(.{_task_mark(task)})"
        for task in Task
    ]
    rules += [f".browse:has(#outcome-{o}:checked) .card:not(.any-{o})" for o in outcomes]
    for run in range(runs if runs > 1 else 0):
        selector = f".browse:has(#run-{run}:checked)"
        rules.append(f"{selector} .card:not(.run{run}-any)")
        rules += [
            f"{selector}:has(#outcome-{o}:checked) .card:not(.run{run}-{o})" for o in outcomes
        ]
    return rules


def _task_mark(task: Task) -> str:
    """Return the CSS class of a task."""
    return f"t-{task.abbreviation}"


def _card(replies: Sequence[tuple[int, Result]], gallery: ImageEmbedder | None) -> FailedItem:
    item = replies[0][1].item
    picture, why = None, ""
    if gallery is not None:
        picture, why = gallery.take(replies[0][1])
    failed = [(number, result.outcome) for number, result in replies if _is_shown(result)]
    marks = [_task_mark(item.task)]
    marks += sorted({f"any-{outcome}" for _, outcome in failed})
    marks += [f"run{number}-any run{number}-{outcome}" for number, outcome in failed]
    return FailedItem(
        item=item, replies=replies, picture=picture, why_no_picture=why, marks=" ".join(marks)
    )


def _draw_order(
    failed: Iterable[Sequence[tuple[int, Result]]],
) -> list[Sequence[tuple[int, Result]]]:
    """Order failures alternating over outcomes and tasks, pseudo-random within."""
    queues: dict[tuple[AnswerOutcome | None, Task], list[Sequence[tuple[int, Result]]]] = {}
    for replies in sorted(failed, key=_lot):
        kind = (_worst(replies), replies[0][1].item.task)
        queues.setdefault(kind, []).append(replies)
    turns = chain.from_iterable(zip_longest(*queues.values()))
    return [replies for replies in turns if replies is not None]


def _worst(replies: Sequence[tuple[int, Result]]) -> AnswerOutcome | None:
    """Return the rarest failure outcome among the replies."""
    outcomes = {result.outcome for _, result in replies}
    return next((outcome for outcome in reversed(SHOWN_OUTCOMES) if outcome in outcomes), None)


def _is_shown(result: Result) -> bool:
    return result.outcome in SHOWN_OUTCOMES


def _lot(replies: Sequence[tuple[int, Result]]) -> bytes:
    return hashlib.sha256(replies[0][1].item.name.encode("utf-8", "backslashreplace")).digest()


def _place(replies: Sequence[tuple[int, Result]]) -> tuple[int, str]:
    item = replies[0][1].item
    return list(Task).index(item.task), item.name

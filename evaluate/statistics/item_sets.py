"""Set metrics: items scored together, and how often a model gives all items of a set one answer.

The items of a set have one question and one list of options on different images, and a different
key each. A set is right if all its items are. A model that always gives the same answer has no set
right, however many single items it gets right. MediConfusion (arXiv 2409.15477) and ProbMed (arXiv
2405.20421) score pairs this way.

Chance is that of a guesser who draws each answer uniformly and independently of the others: the
product of one over the number of options. It is not the chance of a guesser who knows that the keys
differ, which no model is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.outcomes import LOST, AnswerOutcome, Result
from medrcube.evaluate.statistics.answer_bias import abstention, yes_no
from medrcube.evaluate.statistics.grouping import grouped
from medrcube.evaluate.statistics.intervals import SMALL, chance_corrected, mean, ratio
from medrcube.evaluate.statistics.set_inference import SetScore, SharedSets
from medrcube.evaluate.statistics.units import unit_kinds, unit_of

__all__ = ["AnsweredSet", "SetGroups", "group_sets", "paired_set_metrics", "set_metrics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredSet:
    """A set with a reply to each of its items.

    Attributes:
        id: its id.
        results: one result per item.
    """

    id: str
    results: tuple[Result, ...]

    @property
    def is_right(self) -> bool:
        """Whether all items are right."""
        return all(result.outcome is AnswerOutcome.CORRECT for result in self.results)

    @property
    def is_confused(self) -> bool:
        """Whether all items got the same answer, by its text: letters are drawn for each item."""
        texts = {result.choice for result in self.results}
        return len(texts) == 1 and None not in texts

    @property
    def units(self) -> frozenset[str]:
        """Patients, cases or images of its items."""
        return frozenset(map(unit_of, self.results))

    @property
    def chance(self) -> float:
        """Probability that independent uniform guesses are all right.

        Not the product of the items' own chances: the best constant answer gets no set right.
        """
        return math.prod(1 / len(result.item.options) for result in self.results)

    @property
    def chance_of_confusion(self) -> float:
        """Probability that independent uniform guesses are all the same."""
        return len(self.results[0].item.options) * self.chance


@dataclass(frozen=True, slots=True, kw_only=True)
class SetGroups:
    """Sets of a run.

    Attributes:
        answered: sets with a reply to every item.
        incomplete: ids of sets with items that were not released, not asked or withdrawn.
        lost: ids of sets with an item without a reply.
    """

    answered: tuple[AnsweredSet, ...]
    incomplete: frozenset[str]
    lost: frozenset[str]


def group_sets(results: Iterable[Result]) -> SetGroups:
    """Group results, one per item, into sets."""
    members: dict[str, list[Result]] = {}
    for result in results:
        if result.item.set:
            members.setdefault(result.item.set, []).append(result)
    incomplete = {name for name, group in members.items() if len(group) < group[0].item.set_size}
    lost = {
        name
        for name, group in members.items()
        if name not in incomplete and any(result.outcome in LOST for result in group)
    }
    return SetGroups(
        answered=tuple(
            AnsweredSet(id=name, results=tuple(group))
            for name, group in members.items()
            if name not in incomplete and name not in lost
        ),
        incomplete=frozenset(incomplete),
        lost=frozenset(lost),
    )


def set_metrics(results: Sequence[Result]) -> dict[str, Any] | None:
    """Return ``sets`` of ``metrics.json``; ``None`` if the release has no sets.

    Args:
        results: one result per item.

    Returns:
        ``global``, a row over all sets, and ``task``, a row for each task that has some;
        ``incomplete`` and ``lost``, numbers of sets that are not scored because some of their items
        are not in the run, or have no reply; ``yes_no`` and ``abstention`` of ``answer_bias``. A
        row has ``n``, ``correct``, ``accuracy`` with ``interval`` or ``interval_reason``,
        ``design_effect``, ``chance`` and ``chance_corrected``; ``confused``, ``confusion`` and
        ``confusion_chance``; ``items`` and ``item_accuracy`` of these sets; ``units`` and
        ``unit_kinds``; ``small``.
    """
    groups = group_sets(results)
    if not (groups.answered or groups.incomplete or groups.lost):
        return None
    tasks = grouped("task", groups.answered, lambda entry: entry.results[0].item)
    return {
        "global": _row(groups.answered),
        "task": {name: _row(sets) for (name,), sets in tasks.items()},
        "incomplete": len(groups.incomplete),
        "lost": len(groups.lost),
        "yes_no": yes_no([result for entry in groups.answered for result in entry.results]),
        "abstention": abstention([entry.results for entry in groups.answered]),
    }


def paired_set_metrics(pairs: Sequence[tuple[AnsweredSet, AnsweredSet]]) -> dict[str, Any]:
    """Return the metrics of sets that both sides answered.

    Returns:
        ``n``; ``units``; set accuracies ``first`` and ``second``; ``difference`` with its 95 %
        ``interval``, or ``None`` with ``interval_reason``; ``only_first`` and ``only_second``;
        ``mcnemar_p``, see ``SharedSets.mcnemar``; ``small``.
    """
    n = len(pairs)
    first, second = sum(a.is_right for a, _ in pairs), sum(b.is_right for _, b in pairs)
    only_first = sum(a.is_right and not b.is_right for a, b in pairs)
    scores = SharedSets(SetScore(a.units, int(a.is_right) - int(b.is_right)) for a, b in pairs)
    interval = scores.difference_interval()
    return {
        "n": n,
        "units": scores.units,
        "first": ratio(first, n),
        "second": ratio(second, n),
        "difference": ratio(first - second, n),
        "interval": None if interval is None else list(interval),
        "interval_reason": None if interval else scores.why_no_interval() or _NEVER,
        "only_first": only_first,
        "only_second": only_first + second - first,
        "mcnemar_p": scores.mcnemar() if n else None,
        "small": n < SMALL,
    }


def _row(sets: Sequence[AnsweredSet]) -> dict[str, Any]:
    n, correct = len(sets), sum(entry.is_right for entry in sets)
    confused = sum(entry.is_confused for entry in sets)
    results = [result for entry in sets for result in entry.results]
    right = sum(result.outcome is AnswerOutcome.CORRECT for result in results)
    scores = SharedSets(SetScore(entry.units, int(entry.is_right)) for entry in sets)
    interval, accuracy = scores.share_interval(), ratio(correct, n)
    by_chance = mean(entry.chance for entry in sets)
    return {
        "n": n,
        "correct": correct,
        "accuracy": accuracy,
        "interval": None if interval is None else list(interval),
        "interval_reason": scores.why_no_interval(),
        "units": scores.units,
        "unit_kinds": unit_kinds(results),
        "design_effect": scores.design_effect(),
        "chance": by_chance,
        "chance_corrected": chance_corrected(accuracy, by_chance),
        "confused": confused,
        "confusion": ratio(confused, n),
        "confusion_chance": mean(entry.chance_of_confusion for entry in sets),
        "items": len(results),
        "item_accuracy": ratio(right, len(results)),
        "small": n < SMALL,
    }


_NEVER = "the sides differ on too few sets"

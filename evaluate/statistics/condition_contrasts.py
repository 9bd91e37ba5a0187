"""Contrasts between conditions: image gain, option position, repetition.

The first epoch is used, except to compare epochs. A pair without a reply on either side (failed,
missing-image, not-asked) is left out and counted; a reply without a letter is an incorrect answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.outcomes import LOST, AnswerOutcome, Result
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.statistics.clustered_inference import share_interval, tallies
from medrcube.evaluate.statistics.grouping import COLUMNS, grouped
from medrcube.evaluate.statistics.intervals import SMALL, mean, ratio
from medrcube.evaluate.statistics.metrics import task_metrics
from medrcube.evaluate.statistics.paired_tests import AnswerPair, adjust, paired_metrics
from medrcube.evaluate.statistics.units import unit_kinds, unit_of
from medrcube.release_format.rows import LETTERS

__all__ = ["RotationSet", "condition_contrasts", "epochs", "other_conditions", "position_metrics"]

_Member = TypeVar("_Member")


def condition_contrasts(results: Sequence[Result]) -> dict[str, Any]:
    """Return the contrasts of the conditions that are present.

    Args:
        results: every presentation, as returned by ``read_results``.

    Returns:
        Some of ``image_gain`` (full against blind), ``image_swap`` (full against the image of
        another item), ``reworded`` (full against the same fact in another edition), ``degraded``
        (full against the same image degraded) and ``position`` (circular). Each has ``global``;
        ``task``, by name; ``voxels``, a list; and ``left_out``. Rows of the first four are those of
        ``paired_tests.paired_metrics``, where ``first`` is full, with ``answered`` for the pairs in
        which both replies give a letter, and ``mcnemar_p_holm`` within tasks and within cells;
        rows of ``position`` are those of ``position_metrics``. If full was not asked, the unrotated
        form of circular takes its place.
    """
    now = [result for result in results if result.question.presentation.epoch == 0]
    full = _by_item(now, Condition.FULL) or _by_item(now, Condition.CIRCULAR)
    rows: dict[str, Any] = {}
    for name, condition in _PAIRED.items():
        other = _by_item(now, condition)
        if full and other:
            rows[name] = _paired(full, other)
    circles = _rotation_sets(now)
    if circles:
        rows["position"] = _position(circles)
    return rows


def other_conditions(results: Sequence[Result]) -> dict[str, Any]:
    """Return ``task_metrics`` of each condition, over all rotations, first epoch.

    Chain steps that were not reached are left out: they are not answers.
    """
    by_condition = {}
    for condition in Condition:
        members = [
            result
            for result in results
            if (presentation := result.question.presentation).condition is condition
            and presentation.epoch == 0
            and result.outcome is not AnswerOutcome.NOT_REACHED
        ]
        if members:
            by_condition[condition.value] = task_metrics(members)
    return by_condition


def epochs(results: Sequence[Result]) -> dict[str, Any] | None:
    """Return the consistency of a run over epochs; ``None`` if each question was asked once.

    Args:
        results: every presentation; those of the first condition, unrotated, are compared.

    Returns:
        ``epochs``; ``accuracy`` of each epoch, excluding lost replies, and their
        ``mean_accuracy``; ``items`` answered in every epoch and ``left_out``, the others;
        ``flip_rate``, the share of those items whose chosen option, or lack of one, is not the same
        in all epochs, with its ``interval``; ``outcome_flip_rate``, the share that is right in only
        some epochs.
    """
    presentations = [result.question.presentation for result in results]
    count = 1 + max((presentation.epoch for presentation in presentations), default=0)
    if count == 1:
        return None
    condition = min(
        (presentation.condition for presentation in presentations), key=list(Condition).index
    )
    by_item: dict[str, list[Result]] = {}
    for result in results:
        presentation = result.question.presentation
        if presentation.condition is condition and presentation.turn == 0:
            by_item.setdefault(presentation.item.name, []).append(result)
    whole = [
        group
        for group in by_item.values()
        if len(group) == count and not any(result.outcome in LOST for result in group)
    ]
    flips = [(group[0], len({result.choice for result in group}) > 1) for group in whole]
    accuracies = [
        _accuracy([r for group in by_item.values() for r in group if _epoch(r) == number])
        for number in range(count)
    ]
    return {
        "epochs": count,
        "accuracy": accuracies,
        "mean_accuracy": mean(value for value in accuracies if value is not None),
        "items": len(whole),
        "left_out": len(by_item) - len(whole),
        "flip_rate": ratio(sum(flipped for _, flipped in flips), len(flips)),
        "interval": _rate_interval(flips),
        "outcome_flip_rate": ratio(
            sum(len({r.outcome is AnswerOutcome.CORRECT for r in group}) > 1 for group in whole),
            len(whole),
        ),
    }


@dataclass(frozen=True, slots=True)
class RotationSet:
    """Results of all rotations of one item, in order, each with a reply."""

    turns: tuple[Result, ...]

    @property
    def item(self) -> BenchmarkItem:
        """The unrotated item."""
        return self.turns[0].item

    @property
    def consistent(self) -> bool:
        """Whether the same option text was chosen in every rotation."""
        return self.turns[0].choice is not None and len({r.choice for r in self.turns}) == 1

    @property
    def all_right(self) -> bool:
        """Whether every rotation is answered correctly."""
        return all(result.outcome is AnswerOutcome.CORRECT for result in self.turns)


def position_metrics(circles: Sequence[RotationSet]) -> dict[str, Any]:
    """Return whether choices follow the option text or the letter.

    Returns:
        ``n`` items, ``units`` and ``unit_kinds``; ``consistency``, the share for which the same
        option text is chosen in every rotation; ``accuracy_all_turns``, right in every rotation
        (CircularEval of MMBench, arXiv 2307.06281); each with its interval and, as ``chance_...``,
        the expectation for a guesser; ``accuracy_first_turn`` and ``mean_accuracy`` over rotations;
        ``letters``, for each the ``share`` of the replies that choose it and the ``chance`` for a
        model that looks only at texts; ``letter_bias``, half the sum of their absolute differences,
        0 to 1; ``small``.
    """
    n = len(circles)
    counts = [len(circle.turns) for circle in circles]
    steady = [(circle.turns[0], circle.consistent) for circle in circles]
    right = [(circle.turns[0], circle.all_right) for circle in circles]
    letters = _letters([result for circle in circles for result in circle.turns])
    return {
        "n": n,
        "units": len({unit_of(circle.turns[0]) for circle in circles}),
        "unit_kinds": unit_kinds(circle.turns[0] for circle in circles),
        "consistency": ratio(sum(value for _, value in steady), n),
        "consistency_interval": _rate_interval(steady),
        "chance_consistency": mean((1 / count) ** (count - 1) for count in counts),
        "accuracy_all_turns": ratio(sum(value for _, value in right), n),
        "accuracy_all_turns_interval": _rate_interval(right),
        "chance_all_turns": mean((1 / count) ** count for count in counts),
        "accuracy_first_turn": _accuracy([circle.turns[0] for circle in circles]),
        "mean_accuracy": mean(_accuracy(circle.turns) or 0.0 for circle in circles),
        "letters": letters,
        "letter_bias": (
            sum(abs(row["share"] - row["chance"]) for row in letters.values()) / 2
            if letters
            else None
        ),
        "small": n < SMALL,
    }


_PAIRED = {
    "image_gain": Condition.BLIND,
    "image_swap": Condition.IMAGE_SWAP,
    "reworded": Condition.REWORDED,
    "degraded": Condition.DEGRADED,
}


def _paired(full: Mapping[str, Result], other: Mapping[str, Result]) -> dict[str, Any]:
    both = [(full[name], other[name]) for name in full if name in other]
    pairs = [(a, b) for a, b in both if a.outcome not in LOST and b.outcome not in LOST]
    rows = _cut(pairs, lambda pair: pair[0].item, _pair_row)
    adjust(rows["task"].values())
    adjust(rows["voxels"])
    lost, not_asked = len(both) - len(pairs), len(full.keys() ^ other.keys())
    return {**rows, "left_out": {"lost": lost, "not_asked": not_asked}}


def _pair_row(pairs: Sequence[tuple[Result, Result]]) -> dict[str, Any]:
    answered = [(a, b) for a, b in pairs if a.answer is not None and b.answer is not None]
    return {
        **paired_metrics([_pair(a, b) for a, b in pairs]),
        "unit_kinds": unit_kinds(first for first, _ in pairs),
        "answered": paired_metrics([_pair(a, b) for a, b in answered]),
    }


def _pair(first: Result, second: Result) -> AnswerPair:
    right = AnswerOutcome.CORRECT
    return AnswerPair(unit_of(first), first.outcome is right, second.outcome is right)


def _position(circles: Mapping[str, Sequence[Result]]) -> dict[str, Any]:
    whole = [
        RotationSet(tuple(turns))
        for turns in circles.values()
        if len(turns) == len(turns[0].item.options)
        and not any(result.outcome in LOST for result in turns)
    ]
    rows = _cut(whole, lambda circle: circle.item, position_metrics)
    return {**rows, "left_out": {"lost": len(circles) - len(whole), "not_asked": 0}}


def _letters(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    answered = [result for result in results if result.answer is not None]
    letter_counts = Counter(result.answer for result in answered)
    expected: Counter[str] = Counter()
    for result in answered:
        for letter, _ in result.item.options:
            expected[letter] += 1 / len(result.item.options)  # type: ignore[assignment]
    return {
        letter: {
            "share": letter_counts[letter] / len(answered),
            "chance": expected[letter] / len(answered),
        }
        for letter in LETTERS
        if expected[letter]
    }


def _cut(
    members: Sequence[_Member],
    item_of: Callable[[_Member], BenchmarkItem],
    row: Callable[[Sequence[_Member]], dict[str, Any]],
) -> dict[str, Any]:
    tasks = grouped("task", members, item_of)
    voxels = grouped("voxel", members, item_of)
    return {
        "global": row(members),
        "task": {name: row(group) for (name,), group in tasks.items()},
        "voxels": [
            {**dict(zip(COLUMNS["voxel"], key, strict=True)), **row(group)}
            for key, group in voxels.items()
        ],
    }


def _rate_interval(members: Sequence[tuple[Result, bool]]) -> list[float] | None:
    interval = share_interval(tallies((unit_of(result), int(value)) for result, value in members))
    return None if interval is None else list(interval)


def _by_item(results: Sequence[Result], condition: Condition) -> dict[str, Result]:
    return {
        result.item.name: result
        for result in results
        if (presentation := result.question.presentation).condition is condition
        and presentation.turn == 0
    }


def _rotation_sets(results: Sequence[Result]) -> dict[str, list[Result]]:
    circles: dict[str, list[Result]] = {}
    for result in results:
        if result.question.presentation.condition is Condition.CIRCULAR and result.item.options:
            circles.setdefault(result.item.name, []).append(result)
    return {
        name: sorted(turns, key=lambda result: result.question.presentation.turn)
        for name, turns in circles.items()
    }


def _accuracy(results: Sequence[Result]) -> float | None:
    replied = [result for result in results if result.outcome not in LOST]
    return ratio(sum(result.outcome is AnswerOutcome.CORRECT for result in replied), len(replied))


def _epoch(result: Result) -> int:
    return result.question.presentation.epoch

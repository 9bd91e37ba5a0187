"""Credibility: whether correct diagnoses rest on perception; upstream's measure and its gaps.

Every question of a high tier (diagnosis, abnormality, severity) is paired with every other
question on the same image:

    A both right      B only the low question right
    C both wrong      D only the high question right

``luck_rate`` D / (A + D), ``shortcut_probability`` D / (C + D), ``rationality`` 1 - luck rate, as
in upstream's ``shortcut_analysis.py`` (F1mc/MedRCube at 33d0ac9), where "low" is every other task.
Three things differ here: undefined values stay ``None`` (upstream prints 0.0, and 1.0 for
rationality); only replies that give a letter count (upstream counts all others as wrong); and an id
belongs to its dataset (upstream lets equal ids overwrite one another).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from medrcube.evaluate.outcomes import AnswerOutcome, Result
from medrcube.evaluate.statistics.bootstrap import (
    FEWEST_CLUSTERS,
    divide_or_nan,
    percentile_interval,
    resampled,
)
from medrcube.evaluate.statistics.intervals import SMALL, chance_corrected
from medrcube.evaluate.statistics.pair_columns import COLUMNS, CrossPair, PairColumns
from medrcube.evaluate.statistics.units import picture_of, unit_of
from medrcube.taxonomy import Level, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "CrossPair",
    "UpstreamCredibility",
    "Weighting",
    "credibility",
    "cross_pairs",
    "pair_metrics",
    "upstream_credibility",
]

Weighting = Literal["pair", "image"]

_NOT_SHOWN = frozenset({AnswerOutcome.MISSING_IMAGE, AnswerOutcome.NOT_ASKED})
_ANSWERED = frozenset({AnswerOutcome.CORRECT, AnswerOutcome.WRONG})


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamCredibility:
    """Values of upstream's script for a run, with undefined values as ``None``."""

    groups: tuple[int, int, int, int]
    luck_rate: float | None
    shortcut_probability: float | None
    rationality: float | None


def credibility(results: Sequence[Result]) -> dict[str, Any]:
    """Return the credibility of one run.

    Args:
        results: one per item, as returned by ``main_results``.

    Returns:
        ``items_left_out``, by outcome, items that would be in a pair but give no letter;
        ``view_counted`` and ``view_ignored``, the two readings of upstream's list of ignored
        tasks, which names "View Identification" while the release says "View Recognition": its
        script therefore counts it, although its authors may not have meant to. Each reading has
        ``pairs`` and ``images``, the rows of ``pair_metrics`` for either weighting, and
        ``by_level``, rows for the tier of the other question. ``by_task_pair`` is a list of rows
        with ``high`` and ``low``.
    """
    pairs, left_out = cross_pairs(results)
    tasks = list(Task)
    columns = PairColumns.of(pairs, tasks)
    published = [task.declaration.published_credibility for task in tasks]
    readings = {"view_counted": columns, "view_ignored": _of_low_tasks(columns, published)}
    return {
        "items_left_out": left_out,
        **{name: _reading(members, tasks) for name, members in readings.items()},
        "by_task_pair": [
            {"high": tasks[high].value, "low": tasks[low].value, **_row(group)}
            for high, low, group in _task_pairs(columns)
        ],
    }


def upstream_credibility(
    results: Sequence[Result], *, ignore_view: bool = False
) -> UpstreamCredibility:
    """Return the groups and values that upstream's script computes from the run's ``results.json``.

    A reply without a letter is wrong, items without an image or not asked are absent, and the last
    of several items with the same id counts for all of them.

    Args:
        results: one per item.
        ignore_view: exclude View Recognition, as the script's list seems to intend.
    """
    loaded = [result for result in results if result.outcome not in _NOT_SHOWN]
    right = {result.item.id: result.outcome is AnswerOutcome.CORRECT for result in loaded}
    counts: Counter[tuple[bool, bool]] = Counter()
    for highs, lows in _by_path(loaded):
        for high in highs:
            for low in lows:
                if low.item.task.declaration.published_credibility or not ignore_view:
                    counts[right[low.item.id], right[high.item.id]] += 1
    a, b = counts[True, True], counts[True, False]
    c, d = counts[False, False], counts[False, True]
    luck = _over(d, a + d)
    return UpstreamCredibility(
        groups=(a, b, c, d),
        luck_rate=luck,
        shortcut_probability=_over(d, c + d),
        rationality=None if luck is None else 1 - luck,
    )


def cross_pairs(results: Sequence[Result]) -> tuple[list[CrossPair], dict[str, int]]:
    """Return all pairs in which both replies give a letter.

    Returns:
        The pairs; and how many items that share an image with one of the other kind were left
        out, by outcome.
    """
    pairs: list[CrossPair] = []
    left_out: Counter[str] = Counter()
    for highs, lows in _by_path(results):
        if highs and lows:
            for result in (*highs, *lows):
                if result.outcome not in _ANSWERED:
                    left_out[result.outcome.value] += 1
            others = [
                (low.item.task, low.outcome is AnswerOutcome.CORRECT, low.item.chance)
                for low in lows
                if low.outcome in _ANSWERED
            ]
            pairs += [
                CrossPair(
                    picture=picture_of(high),
                    unit=unit_of(high),
                    high_task=high.item.task,
                    low_task=low_task,
                    high=high.outcome is AnswerOutcome.CORRECT,
                    low=low,
                    high_chance=high.item.chance,
                    low_chance=low_chance,
                )
                for high in highs
                if high.outcome in _ANSWERED
                for low_task, low, low_chance in others
            ]
    return pairs, dict(sorted(left_out.items()))


def pair_metrics(pairs: Sequence[CrossPair], weighting: Weighting = "pair") -> dict[str, Any]:
    """Return the metrics of a group of pairs.

    Args:
        pairs: the pairs.
        weighting: ``pair`` counts every pair alike, as upstream does, so that an image with five
            low questions counts five times; ``image`` counts every image once.

    Returns:
        ``pairs``, ``images``, ``units`` and the ``groups`` A to D, unweighted; ``small`` for few
        images;
        and for each of ``luck_rate``, ``shortcut_probability``, ``rationality``, ``grounding``
        an object with ``value``, ``interval`` (bootstrap of units), and for the first three
        ``chance`` and ``chance_corrected``: 0 at a guesser's value and 1 at the maximum, except
        for the luck rate, where it is the share of a guesser's luck.

        ``grounding`` is A / (A + B) - D / (C + D): by how much a right low answer raises the
        probability of a right high one. It is 0 if the two are independent, whatever the
        accuracies; ``independent_shortcut`` is what the shortcut probability would then be,
        (A + D) / all, so that independence alone makes it rise with accuracy.

        ``chance`` of the shortcut probability is the mean, over pairs with a wrong low answer,
        of the probability that a guesser has the high question right, 1 / options. ``chance`` of
        rationality is the mean, over pairs with a right high answer, of the probability that a
        guesser has the low one right; that of the luck rate is 1 less that. Both hold the other
        question's answer fixed, so they are exact expectations whatever the model knows.
    """
    return _row(PairColumns.of(pairs, list(Task)), weighting)


def _row(pairs: PairColumns, weighting: Weighting = "pair") -> dict[str, Any]:
    rows = pairs.sums_by_unit(by_image=weighting == "image")
    totals: list[float] = [sum(column) for column in rows.T.tolist()]
    draws = resampled(rows.tolist()) if len(rows) >= FEWEST_CLUSTERS else None
    groups, images = pairs.group_counts(), pairs.images()
    a, b, c, d = totals[:4]
    by_luck = _over(totals[_GUESSED_LOW], a + d)
    chances = {
        "luck_rate": None if by_luck is None else 1 - by_luck,
        "shortcut_probability": _over(totals[_GUESSED_HIGH], c + d),
        "rationality": by_luck,
    }
    values = {
        name: {
            "value": (value := _value(terms, totals)),
            "interval": _interval(terms, draws, len(rows)),
            **(_against(name, value, chances[name]) if name in chances else {}),
        }
        for name, terms in _VALUES.items()
    }
    return {
        "pairs": len(pairs),
        "images": images,
        "units": len(rows),
        "groups": dict(zip("ABCD", groups, strict=True)),
        "small": images < SMALL,
        **values,
        "independent_shortcut": _over(a + d, a + b + c + d),
    }


_A, _B, _C, _D, _GUESSED_HIGH, _GUESSED_LOW = range(COLUMNS)
_Terms = tuple[tuple[int, int, tuple[int, ...]], ...]
_VALUES: Mapping[str, _Terms] = {
    "luck_rate": ((1, _D, (_A, _D)),),
    "shortcut_probability": ((1, _D, (_C, _D)),),
    "rationality": ((1, _A, (_A, _D)),),
    "grounding": ((1, _A, (_A, _B)), (-1, _D, (_C, _D))),
}
"""Each value as a sum of ratios: sign, column in the numerator, columns in the denominator."""


def _reading(pairs: PairColumns, tasks: Sequence[Task]) -> dict[str, Any]:
    levels = [
        (level, _of_low_tasks(pairs, [task.level == level for task in tasks]))
        for level in Level
        if not level.rests_on
    ]
    return {
        "by_pair": _row(pairs),
        "by_image": _row(pairs, "image"),
        "by_level": {level.value: _row(group) for level, group in levels if len(group)},
    }


def _of_low_tasks(pairs: PairColumns, mask: Sequence[bool]) -> PairColumns:
    """Return the pairs whose other question has one of the chosen tasks."""
    import numpy as np  # noqa: PLC0415 - an import that only scoring pays

    return pairs.take(np.array(mask, dtype=bool)[pairs.low_tasks])


def _task_pairs(pairs: PairColumns) -> Iterator[tuple[int, int, PairColumns]]:
    """Yield the indices of both tasks, and their pairs, in the order of the tasks."""
    for high, low in sorted(
        set(zip(pairs.high_tasks.tolist(), pairs.low_tasks.tolist(), strict=True))
    ):
        yield high, low, pairs.take((pairs.high_tasks == high) & (pairs.low_tasks == low))


def _by_path(results: Sequence[Result]) -> Iterable[tuple[list[Result], list[Result]]]:
    """Return high and other results of each image file, by path as upstream does."""
    images: dict[str, tuple[list[Result], list[Result]]] = {}
    is_low = {task: not task.level.rests_on for task in {result.item.task for result in results}}
    for result in results:
        if result.item.image is not None:
            kinds = images.setdefault(result.item.image, ([], []))
            kinds[is_low[result.item.task]].append(result)
    return images.values()


def _value(terms: _Terms, sums: Sequence[float]) -> float | None:
    parts = [(sign, _over(sums[top], sum(sums[i] for i in below))) for sign, top, below in terms]
    if any(part is None for _, part in parts):
        return None
    return sum(sign * part for sign, part in parts if part is not None)


def _interval(terms: _Terms, draws: NDArray[np.float64] | None, units: int) -> list[float] | None:
    import numpy as np  # noqa: PLC0415

    if draws is None:
        return None
    values = np.zeros(len(draws))
    for sign, top, below in terms:
        values += sign * divide_or_nan(draws[:, top], draws[:, list(below)].sum(axis=1))
    interval = percentile_interval(values, units)
    return None if interval is None else list(interval)


def _against(name: str, value: float | None, by_chance: float | None) -> dict[str, float | None]:
    if name == "luck_rate":
        # Lower is better: 1 is the luck of a guesser, 0 is none.
        corrected = None if value is None or not by_chance else value / by_chance
    else:
        corrected = chance_corrected(value, by_chance)
    return {"chance": by_chance, "chance_corrected": corrected}


def _over(part: float, whole: float) -> float | None:
    return part / whole if whole else None

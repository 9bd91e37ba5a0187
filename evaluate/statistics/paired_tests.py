"""Paired comparison of two answers to the same questions.

Questions that both sides answer correctly, or both incorrectly, carry no information about the
difference. Pairing drops them, and with them most of the noise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from medrcube.evaluate.statistics.clustered_inference import (
    design_effect,
    difference_interval,
    effective_units,
    sign_test,
    tallies,
    why_no_interval,
)
from medrcube.evaluate.statistics.intervals import SMALL, ratio
from medrcube.evaluate.statistics.power import FEWEST_FOR_POWER, minimum_detectable_effect

__all__ = ["AnswerPair", "adjust", "benjamini_hochberg", "holm", "paired_metrics"]


class AnswerPair(NamedTuple):
    """One question answered twice.

    Attributes:
        unit: its patient, case or image.
        first: whether the first answer is correct.
        second: whether the second answer is correct.
    """

    unit: str
    first: bool
    second: bool


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the adjusted p of each test (Holm, Scand J Stat 1979;6:65-70).

    Controls the family-wise error rate under any dependence of the tests.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Return p adjusted for the false discovery rate.

    Benjamini and Hochberg, J R Stat Soc B 1995;57:289. Controls it for independent or positively
    dependent tests.
    """
    order = sorted(range(len(p_values)), key=lambda i: -p_values[i])
    adjusted, least = [0.0] * len(p_values), 1.0
    for place, index in enumerate(order):
        rank = len(p_values) - place
        least = min(least, p_values[index] * len(p_values) / rank)
        adjusted[index] = least
    return adjusted


def paired_metrics(pairs: Sequence[AnswerPair]) -> dict[str, Any]:
    """Return the metrics of a group of pairs.

    Returns:
        ``n``; ``units``; accuracies ``first`` and ``second``; ``difference``, first minus second;
        its 95 % ``interval`` by the score test of whole units, or ``None`` with
        ``interval_reason``; ``only_first`` and ``only_second``, pairs that only one side has right;
        ``mcnemar_p``, exact, of whole units; ``design_effect``;
        ``minimum_detectable_effect``, also ``None`` for fewer than ``FEWEST_FOR_POWER`` units;
        ``small``.
    """
    n = len(pairs)
    first, second = sum(pair.first for pair in pairs), sum(pair.second for pair in pairs)
    only_first = sum(pair.first and not pair.second for pair in pairs)
    only_second = only_first + second - first
    units = tallies((pair.unit, int(pair.first) - int(pair.second)) for pair in pairs)
    differing = only_first + only_second
    design = design_effect(units, differing)
    interval = difference_interval(units)
    return {
        "n": n,
        "units": len(units),
        "first": ratio(first, n),
        "second": ratio(second, n),
        "difference": ratio(first - second, n),
        "interval": None if interval is None else list(interval),
        "interval_reason": None if interval else why_no_interval(units) or _NEVER,
        "only_first": only_first,
        "only_second": only_second,
        "mcnemar_p": sign_test(units) if n else None,
        "design_effect": design,
        "minimum_detectable_effect": (
            minimum_detectable_effect(n, differing / n, design or 1.0, n / effective_units(units))
            if len(units) >= FEWEST_FOR_POWER
            else None
        ),
        "small": n < SMALL,
    }


def adjust(rows: Iterable[dict[str, Any]]) -> None:
    """Add ``mcnemar_p_holm`` to the rows of one family; ``None`` for small groups, not counted.

    Holm's correction rather than a false discovery rate: the groups share patients, so the
    dependence of their tests is unknown, and each verdict is read individually.
    """
    rows = list(rows)
    tested = [row for row in rows if not row["small"]]
    adjusted = iter(holm([row["mcnemar_p"] for row in tested]))
    for row in rows:
        row["mcnemar_p_holm"] = None if row["small"] else next(adjusted)


_NEVER = "the sides differ on too few units"

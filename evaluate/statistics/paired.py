"""Two answers to the same questions: their difference, and how sure it is.

Questions that both sides get right, or both wrong, say nothing about the difference. Pairing
drops them, and with them most of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

from medrcube.evaluate.statistics.bootstrap import ratio_interval
from medrcube.evaluate.statistics.formulas import SMALL, design_effect, ratio

POWER = 0.8
"""Probability with which the minimum detectable effect would be found."""


class Pair(NamedTuple):
    """One question answered twice.

    Attributes:
        cluster: name of its picture.
        first: whether the first answer is right.
        second: whether the second is.
    """

    cluster: str
    first: bool
    second: bool


def mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p of the exact McNemar test.

    Of the pairs that differ, half should favour each side: twice the smaller binomial tail, at
    most 1 (McNemar, Psychometrika 1947;12:153-157, in its exact form). Takes pairs as
    independent. 1 when no pair differs.

    Raises:
        ValueError: a count is negative.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f"{only_first} and {only_second} pairs; expected no negative number")
    n, few = only_first + only_second, min(only_first, only_second)
    tail, term = 0, 1
    for k in range(few + 1):
        tail += term
        term = term * (n - k) // (k + 1)
    return min(1.0, 2 * tail / (1 << n))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p of each test (Holm, Scand J Stat 1979;6:65-70).

    Below alpha it is significant in a family whose chance of any false alarm is alpha, however
    the tests depend on one another.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p for the false discovery rate (Benjamini and Hochberg, J R Stat Soc B 1995;57:289).

    Holds for independent or positively dependent tests.
    """
    order = sorted(range(len(p_values)), key=lambda i: -p_values[i])
    adjusted, least = [0.0] * len(p_values), 1.0
    for place, index in enumerate(order):
        rank = len(p_values) - place
        least = min(least, p_values[index] * len(p_values) / rank)
        adjusted[index] = least
    return adjusted


def minimum_detectable_effect(
    n: int, discordance: float, design: float = 1.0, *, alpha: float = 0.05, power: float = POWER
) -> float | None:
    """Smallest true difference of accuracies that a paired test would find.

    Solves Connor's sample size (Biometrics 1987;43:207-211) for the difference:
    ``sqrt(n) d = z(1 - alpha / 2) sqrt(q) + z(power) sqrt(q - d^2)`` with the discordance ``q``,
    and with ``n`` divided by the design effect of questions that share pictures.

    Args:
        n: number of pairs.
        discordance: share of pairs in which the two sides differ.
        design: design effect; below 1 counts as 1.
        alpha: two-sided level of the test.
        power: probability of finding it.

    Returns:
        The difference, between 0 and ``discordance``; ``None`` where even a difference in which
        all discordant pairs favour one side would not be found.
    """
    if n == 0 or discordance <= 0:
        return None
    root = math.sqrt(n / max(1.0, design))
    level, sure = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)

    def excess(difference: float) -> float:
        rest = math.sqrt(max(0.0, discordance - difference**2))
        return root * difference - level * math.sqrt(discordance) - sure * rest

    low, high = 0.0, discordance
    if excess(high) < 0:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high


def paired_metrics(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The numbers of one group of pairs.

    Returns:
        ``n``; accuracies ``first`` and ``second``; ``difference``, first less second; its 95 %
        ``interval`` by a bootstrap of pictures, or ``None`` for few pictures; ``only_first`` and
        ``only_second``, pairs that one side alone has right; ``mcnemar_p``, which takes pairs as
        independent; ``clusters``; ``design_effect``; ``minimum_detectable_effect``; ``small``.
    """
    n = len(pairs)
    first, second = sum(pair.first for pair in pairs), sum(pair.second for pair in pairs)
    only_first = sum(pair.first and not pair.second for pair in pairs)
    only_second = only_first + second - first
    rows = _by_cluster(pairs)
    differing = only_first + only_second
    design = design_effect(rows)
    return {
        "n": n,
        "clusters": len(rows),
        "first": ratio(first, n),
        "second": ratio(second, n),
        "difference": ratio(first - second, n),
        "interval": _listed(ratio_interval([(total, size) for total, size, _ in rows])),
        "only_first": only_first,
        "only_second": only_second,
        "mcnemar_p": mcnemar(only_first, only_second) if n else None,
        "design_effect": design,
        "minimum_detectable_effect": (
            minimum_detectable_effect(n, differing / n, design or 1.0) if n else None
        ),
        "small": n < SMALL,
    }


def adjust(rows: Iterable[dict[str, Any]]) -> None:
    """Add ``mcnemar_p_holm`` to the rows of one family; ``None`` for small groups, left out."""
    rows = list(rows)
    tested = [row for row in rows if not row["small"]]
    adjusted = iter(holm([row["mcnemar_p"] for row in tested]))
    for row in rows:
        row["mcnemar_p_holm"] = None if row["small"] else next(adjusted)


def _by_cluster(pairs: Sequence[Pair]) -> list[tuple[int, int, int]]:
    """For each picture: sum of differences, number of pairs, sum of squared differences."""
    sums: dict[str, tuple[int, int, int]] = {}
    for cluster, first, second in pairs:
        total, size, squares = sums.get(cluster, (0, 0, 0))
        change = int(first) - int(second)
        sums[cluster] = (total + change, size + 1, squares + change * change)
    return list(sums.values())


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)

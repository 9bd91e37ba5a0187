"""The few formulas behind every number of a report: pure functions of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Z_95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


SMALL = 10
"""A group of fewer items is marked: its accuracy says little, and no mean of groups counts it."""

EXACT_BELOW = 30
"""Below so many items the exact interval is given, which never falls short of its level."""


class Interval(NamedTuple):
    """Lower and upper bound of a proportion."""

    low: float
    high: float


def wilson(successes: int, n: int, z: float = Z_95) -> Interval:
    """Score interval of a proportion (Wilson, J Am Stat Assoc 1927;22:209-212).

    Holds its level for small ``n`` and near 0 and 1, where the usual interval does not. Takes
    the trials as independent; several questions on one picture are not quite that.

    Raises:
        ValueError: ``successes`` is not between 0 and ``n``, or ``n`` is not positive.
    """
    _check(successes, n)
    p = successes / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == n else (centre + half) / scale
    return Interval(max(0.0, low), min(1.0, high))


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Exact interval of a proportion (Clopper and Pearson, Biometrika 1934;26:404-413).

    Its level is at least ``level`` for every ``n`` and proportion, at the price of width. Solved
    by bisection on binomial tails: meant for small ``n``.

    Raises:
        ValueError: ``successes`` is not between 0 and ``n``, or ``n`` is not positive.
    """
    _check(successes, n)
    tail = (1 - level) / 2
    low = 0.0 if successes == 0 else 1 - _upper(n - successes, n, tail)
    high = 1.0 if successes == n else _upper(successes, n, tail)
    return Interval(low, high)


def proportion_interval(successes: int, n: int) -> tuple[Interval, str]:
    """The 95 % interval that fits ``n``, and its name: ``clopper-pearson`` or ``wilson``.

    Raises:
        ValueError: ``successes`` is not between 0 and ``n``, or ``n`` is not positive.
    """
    if n < EXACT_BELOW:
        return clopper_pearson(successes, n), "clopper-pearson"
    return wilson(successes, n), "wilson"


def design_effect(clusters: Sequence[tuple[float, float, float]]) -> float | None:
    """By how much clusters inflate the variance of a mean (Kish, Survey Sampling, 1965, 8.2).

    Variance of the mean as a ratio of cluster sums, by linearisation, over that of as many
    independent values. 1 for independent values, near the cluster size for equal ones.

    Args:
        clusters: for each its sum of values, number of values and sum of squared values.

    Returns:
        ``None`` for fewer than two clusters, or values that never differ.
    """
    count = len(clusters)
    if count < 2:
        return None
    total, n, squares = (math.fsum(column) for column in zip(*clusters, strict=True))
    centre = total / n
    independent = (squares - n * centre * centre) / (n * (n - 1))
    if independent <= 1e-12 / n:
        return None
    spread = math.fsum((part - centre * size) ** 2 for part, size, _ in clusters)
    return count / (count - 1) * spread / (n * n) / independent


def ratio(part: int, whole: int) -> float | None:
    """``part / whole``; ``None`` where there is no whole: undefined stays undefined."""
    return part / whole if whole else None


def mean(values: Iterable[float]) -> float | None:
    """Plain mean; ``None`` of nothing."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else None


def chance(option_counts: Sequence[int]) -> float | None:
    """Expected accuracy of a uniform guesser: the mean of 1 / (number of options)."""
    return mean(1 / count for count in option_counts)


def chance_corrected(value: float | None, by_chance: float | None) -> float | None:
    """Share of the way from chance to perfection; below 0 where chance does better.

    ``None`` where either is unknown, or chance is perfect.
    """
    if value is None or by_chance is None or by_chance >= 1:
        return None
    return (value - by_chance) / (1 - by_chance)


def _check(successes: int, n: int) -> None:
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes of {n}; expected 0 <= successes <= n, n > 0")


def _upper(successes: int, n: int, tail: float) -> float:
    """Largest proportion under which so few successes have at least the probability ``tail``."""
    ways = [math.comb(n, k) for k in range(successes + 1)]
    low, high = successes / n, 1.0
    for _ in range(60):
        p = (low + high) / 2
        below = math.fsum(way * p**k * (1 - p) ** (n - k) for k, way in enumerate(ways))
        low, high = (p, high) if below > tail else (low, p)
    return high

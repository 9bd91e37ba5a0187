"""The few formulas behind every number of a report: pure functions of counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

Z_95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


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
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes of {n}; expected 0 <= successes <= n, n > 0")
    p = successes / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if successes == 0 else (centre - half) / scale
    high = 1.0 if successes == n else (centre + half) / scale
    return Interval(max(0.0, low), min(1.0, high))


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

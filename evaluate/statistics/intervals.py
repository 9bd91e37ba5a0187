"""Interval and ratio formulas behind every number of a report."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import NamedTuple

__all__ = [
    "SMALL",
    "Z_95",
    "ConfidenceInterval",
    "chance_corrected",
    "mean",
    "one_sided_difference",
    "ratio",
    "t_quantile",
    "wilson",
    "wilson_at",
]

Z_95 = 1.959963984540054
"""97.5 % quantile of the standard normal distribution."""


SMALL = 10
"""Groups with fewer items are marked as small, and excluded from means over groups."""


class ConfidenceInterval(NamedTuple):
    """Lower and upper bound of a proportion."""

    low: float
    high: float


def wilson(successes: int, n: int, z: float = Z_95) -> ConfidenceInterval:
    """Score interval of a proportion (Wilson, J Am Stat Assoc 1927;22:209-212).

    It keeps its coverage for small ``n`` and near 0 and 1, unlike the Wald interval. Assumes
    independent trials, which several answers on one patient are not.

    Raises:
        ValueError: ``successes`` is not between 0 and ``n``, or ``n`` is not positive.
    """
    _check(successes, n)
    return wilson_at(successes / n, n, z)


def wilson_at(share: float, n: float, z: float = Z_95) -> ConfidenceInterval:
    """Wilson's interval of a proportion at an effective sample size, which need not be an integer.

    Args:
        share: the proportion, from 0 to 1.
        n: effective number of trials, above 0.
        z: quantile: of the normal distribution, or of Student's t if ``n`` is estimated.
    """
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if share == 0 else (centre - half) / scale
    high = 1.0 if share == 1 else (centre + half) / scale
    return ConfidenceInterval(max(0.0, low), min(1.0, high))


def one_sided_difference(difference: float, n: float, z: float = Z_95) -> ConfidenceInterval:
    """Score interval of a paired difference if all discordant pairs favour one side.

    Tango's interval (Stat Med 1998;17:891-908), which has a closed form in this case: the estimated
    variance of the difference ``d`` of ``n`` pairs is ``(difference - d) (1 + d)`` up to
    ``difference / (2 - difference)``, and ``d (1 - d)``, as in Wilson's interval, above.

    Args:
        difference: mean difference, from -1 to 1; its amount is the share of discordant pairs.
        n: effective number of pairs, above 0.
        z: quantile: of the normal distribution, or of Student's t if ``n`` is estimated.
    """
    share = abs(difference)
    low, high = wilson_at(share, n, z)
    lower = (n * share - z * z) / (n + z * z)
    if lower <= share / (2 - share):
        low = lower
    return ConfidenceInterval(low, high) if difference > 0 else ConfidenceInterval(-high, -low)


def t_quantile(freedom: float, probability: float = 0.975) -> float:
    """Quantile of Student's t (Abramowitz and Stegun 26.7.5); within 1e-3 from 5 degrees on."""
    z = NormalDist().inv_cdf(probability)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + math.fsum(term / math.pow(freedom, i) for i, term in enumerate(terms, start=1))


def ratio(part: int, whole: int) -> float | None:
    """``part / whole``; ``None`` if ``whole`` is 0."""
    return part / whole if whole else None


def mean(values: Iterable[float]) -> float | None:
    """Arithmetic mean; ``None`` without values."""
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else None


def chance_corrected(value: float | None, by_chance: float | None) -> float | None:
    """Chance-corrected value: 0 at chance, 1 at the maximum; negative below chance.

    ``None`` if either is unknown, or chance is 1.
    """
    if value is None or by_chance is None or by_chance >= 1:
        return None
    return (value - by_chance) / (1 - by_chance)


def _check(successes: int, n: int) -> None:
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"{successes} successes of {n}; expected 0 <= successes <= n, n > 0")

"""Power and minimum detectable effect of a paired comparison.

Comparisons use an exact test, whose power is lower than the usual formula of Connor (Biometrics
1987;43:207-211). So the power is that of the exact test itself, summed over the number of
discordant pairs, at the effective number of independent pairs.
"""

from __future__ import annotations

import math
from importlib import import_module
from statistics import NormalDist

__all__ = ["ALPHA", "FEWEST_FOR_POWER", "POWER", "minimum_detectable_effect", "power"]

POWER = 0.8
"""Power at the minimum detectable effect."""

FEWEST_FOR_POWER = 30
"""Minimum number of units for a power statement; below it the design effect is too uncertain."""

ALPHA = 0.05
"""Significance level of a single test."""

_REACH = 7
"""Standard deviations of the number of discordant pairs to sum over."""


def power(n: float, discordance: float, difference: float, alpha: float = ALPHA) -> float:
    """Return the power of the two-sided exact McNemar test.

    Args:
        n: number of independent pairs; rounded.
        discordance: probability that a pair is discordant, above 0.
        difference: true difference of the accuracies, from 0 to ``discordance``.
        alpha: level of the test.
    """
    import numpy as np  # noqa: PLC0415 - an import that only scoring pays

    bdtr = import_module("scipy.special").bdtr

    pairs = max(1, round(n))
    spread = math.sqrt(pairs * discordance * (1 - discordance))
    low = max(1, math.floor(pairs * discordance - _REACH * spread))
    high = min(pairs, math.ceil(pairs * discordance + _REACH * spread) + 1)
    differ = np.arange(low, high + 1)
    weights = bdtr(differ, pairs, discordance) - bdtr(differ - 1, pairs, discordance)
    # The critical number of wins of the exact test, searched from its normal approximation.
    z = NormalDist().inv_cdf(1 - alpha / 2)
    near = np.floor(differ / 2 - z / 2 * np.sqrt(differ))
    most = np.full(len(differ), -1.0)
    for shift in range(-3, 4):
        tried = np.maximum(near + shift, 0)
        refused = bdtr(tried, differ, 0.5) <= alpha / 2
        most = np.where(refused, np.maximum(most, tried), most)
    winning = (discordance + difference) / (2 * discordance)
    probability = np.where(
        most < 0,
        0.0,
        bdtr(np.maximum(most, 0), differ, 1 - winning) + bdtr(np.maximum(most, 0), differ, winning),
    )
    return float((weights * probability).sum())


def minimum_detectable_effect(
    n: int,
    discordance: float,
    design: float = 1.0,
    crowding: float = 1.0,
    alpha: float = ALPHA,
) -> float | None:
    """Return the smallest true difference of accuracies that is detected with ``POWER``.

    Args:
        n: number of pairs.
        discordance: proportion of discordant pairs.
        design: design effect of the difference; below 1 counts as 1.
        crowding: mean number of pairs in the unit of a pair, including itself. The test uses the
            spread of whole units around 0, which a true difference increases if units are large.
        alpha: significance level of the test; lower for one of many tests.

    Returns:
        The difference, between 0 and ``discordance``; ``None`` if even a difference in which all
        discordant pairs favour one side would not be detected.
    """
    if n == 0 or discordance <= 0:
        return None
    design = max(1.0, design)
    wider = max(0.0, crowding / design - 1) / discordance

    def falls_short(difference: float) -> bool:
        worth = n / design / (1 + wider * difference**2)
        return power(worth, discordance, difference, alpha) < POWER

    low, high = 0.0, discordance
    if falls_short(high):
        return None
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if falls_short(middle) else (low, middle)
    return high

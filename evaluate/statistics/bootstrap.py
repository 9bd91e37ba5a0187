"""Cluster bootstrap: units are resampled whole, since answers on one patient are dependent.

For statistics other than proportions and their differences, such as ratios of pair counts and
correlations; for proportions see ``clustered_inference``. Whole units (patients, else cases, else
images) are drawn with replacement, each with all its questions (Field and Welsh, J R Stat Soc B
2007;69:369-390). Intervals are percentile intervals, expanded for few units (Hesterberg, Am Stat
2015;69:371-386, expanded percentile): plain percentile intervals are too narrow by the factor that
the usual t interval corrects. Percentiles were preferred to BCa because they need no estimate of
skewness from few units, and stay within the range of the data.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING

from medrcube.evaluate.statistics.intervals import ConfidenceInterval, t_quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "FEWEST_CLUSTERS",
    "RESAMPLES",
    "divide_or_nan",
    "expanded_tail",
    "percentile_interval",
    "resampled",
]

RESAMPLES = 2000
"""Number of resamples per interval; its bounds then vary by about a tenth of its width."""

FEWEST_CLUSTERS = 10
"""Smallest number of units for a bootstrap interval."""

_USABLE = 0.95


def resampled(rows: Iterable[Sequence[float]], resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """Return column sums over units drawn with replacement.

    Units with equal rows are exchangeable, so the counts of each *kind* of row are drawn: the same
    distribution at a fraction of the cost. The seed is derived from the rows, so the same counts
    give the same draws, in any order.

    Args:
        rows: sums of each unit, such as (correct answers, questions).
        resamples: number of draws.

    Returns:
        Sums of shape (resamples, columns).
    """
    import numpy as np  # noqa: PLC0415 - an import that only scoring pays

    kinds = sorted(Counter(tuple(map(float, row)) for row in rows).items())
    seed = int.from_bytes(hashlib.sha256(repr(kinds).encode()).digest()[:8])
    counts = np.array([count for _, count in kinds])
    total = int(counts.sum())
    draws = np.random.default_rng(seed).multinomial(total, counts / total, size=resamples)
    return np.asarray(draws @ np.array([kind for kind, _ in kinds]), dtype=np.float64)


def percentile_interval(values: NDArray[np.float64], clusters: int) -> ConfidenceInterval | None:
    """Return the 95 % interval from the values of a statistic in the draws.

    Args:
        values: one value per draw; NaN if the statistic is undefined.
        clusters: number of units.

    Returns:
        ``None`` for fewer than ``FEWEST_CLUSTERS`` units, for a statistic that is undefined in
        more than 5 % of the draws, and for a constant one.
    """
    import numpy as np  # noqa: PLC0415

    usable = values[np.isfinite(values)]
    if clusters < FEWEST_CLUSTERS or len(usable) < _USABLE * len(values):
        return None
    tail = expanded_tail(clusters)
    low, high = np.quantile(usable, [tail, 1 - tail])
    return ConfidenceInterval(float(low), float(high)) if low < high else None


def divide_or_nan(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``top / bottom``; NaN if ``bottom`` is 0."""
    import numpy as np  # noqa: PLC0415

    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom != 0)


def expanded_tail(clusters: int, tail: float = 0.025) -> float:
    """Return the tail probability of the expanded percentile interval, accurate for few units."""
    wide = math.sqrt(clusters / (clusters - 1)) * t_quantile(clusters - 1, 1 - tail)
    return NormalDist().cdf(-wide)

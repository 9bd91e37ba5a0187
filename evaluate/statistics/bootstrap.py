"""Cluster bootstrap: units are resampled whole, since answers on one patient are dependent.

For what is no plain share and no difference of two, such as a ratio of counts of pairs or a
correlation; for those see ``clustered``. Whole units (patients, else cases, else
pictures) are drawn with replacement, as many as there are, each with all its questions (Field and
Welsh, J R Stat Soc B 2007;69:369-390). Intervals are percentiles, widened for few units
(Hesterberg, Am Stat 2015;69:371-386, expanded percentile): the plain ones are too narrow by the
factor that the usual t interval corrects. The percentile form was taken before BCa because
it needs no estimate of skewness from few units, and stays within the range of the data.
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
"""Draws behind each interval; the bounds then vary by about a tenth of their distance."""

FEWEST_CLUSTERS = 10
"""With fewer units no bootstrap interval is given: there is too little to draw from."""

_USABLE = 0.95


def resampled(rows: Iterable[Sequence[float]], resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """Column sums over units drawn with replacement.

    Units with the same row cannot be told apart, so it is drawn how often each *kind* of row
    comes up: the same distribution at a fraction of the work. The seed is made from the rows,
    so the same counts give the same draws, in whatever order they come.

    Args:
        rows: for each unit its sums, such as (right answers, questions).
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
    """95 % interval from the values of a statistic in the draws.

    Args:
        values: one value a draw; not a number where the statistic is undefined.
        clusters: number of units that were drawn.

    Returns:
        ``None`` for fewer than ``FEWEST_CLUSTERS`` units, where the statistic is undefined in
        more than 5 % of the draws, and where it never changes.
    """
    import numpy as np  # noqa: PLC0415

    usable = values[np.isfinite(values)]
    if clusters < FEWEST_CLUSTERS or len(usable) < _USABLE * len(values):
        return None
    tail = expanded_tail(clusters)
    low, high = np.quantile(usable, [tail, 1 - tail])
    return ConfidenceInterval(float(low), float(high)) if low < high else None


def divide_or_nan(top: NDArray[np.float64], bottom: NDArray[np.float64]) -> NDArray[np.float64]:
    """``top / bottom``; not a number where that is 0."""
    import numpy as np  # noqa: PLC0415

    return np.divide(top, bottom, out=np.full_like(top, np.nan), where=bottom != 0)


def expanded_tail(clusters: int, tail: float = 0.025) -> float:
    """Share of the draws to cut off at each end so that few clusters keep their level."""
    wide = math.sqrt(clusters / (clusters - 1)) * t_quantile(clusters - 1, 1 - tail)
    return NormalDist().cdf(-wide)

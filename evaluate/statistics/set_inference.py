"""Intervals and tests for sets of items that share patients.

A set may contain items of several patients, and a patient may have items in several sets, so sets
do not form clusters. Two sets are taken to be dependent if they share a unit (patient, case or
image), and the variance of a mean sums the products over all such pairs (Aronow, Samii and
Assenova, Polit Anal 2015;23:564-577). If every set belongs to one unit, all of this reduces to
``clustered_inference`` with these units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

from medrcube.evaluate.statistics.clustered_inference import FEWEST_UNITS, UnitTally, sign_test
from medrcube.evaluate.statistics.intervals import (
    Z_95,
    ConfidenceInterval,
    one_sided_difference,
    t_quantile,
    wilson_at,
)

__all__ = ["SetScore", "SharedSets"]

_LARGEST_REACH = 0.5
"""Cap on the share of sets that share a unit with one set, in the correction for few sets.

If most sets reach it, no interval is given.
"""


class SetScore(NamedTuple):
    """One set.

    Attributes:
        units: patients, cases or images of its items.
        value: 1 if it is right and 0 if not; for a difference -1, 0 or 1.
    """

    units: frozenset[str]
    value: int


class SharedSets:
    """Sets, and which of them share a unit.

    Args:
        sets: scores in any order.
    """

    def __init__(self, sets: Iterable[SetScore]) -> None:
        scores = list(sets)
        self._values = [entry.value for entry in scores]
        of_unit: dict[str, list[int]] = {}
        for number, entry in enumerate(scores):
            for unit in entry.units:
                of_unit.setdefault(unit, []).append(number)
        self.units = len(of_unit)
        self._near = [_near(entry, of_unit) for entry in scores]
        self._reach = [len(near) for near in self._near]

    @property
    def effective(self) -> float:
        """The equivalent number of unrelated sets: ``n^2`` over the number of pairs."""
        n = len(self._values)
        return n * n / sum(self._reach) if n else 0.0

    def why_no_interval(self) -> str | None:
        """Return why no interval is given, or ``None``."""
        if len(self._values) < FEWEST_UNITS:
            return f"fewer than {FEWEST_UNITS} sets"
        if self.effective < FEWEST_UNITS:
            return f"too many of {len(self._values)} sets share patients"
        return None

    def design_effect(self) -> float | None:
        """Factor by which shared units inflate the variance of the mean; ``None`` if unknown.

        Negative estimates, which cyclically shared units can cause, count as 0.
        """
        n, total = len(self._values), sum(self._values)
        if n < 2:
            return None
        mean = total / n
        independent = sum((value - mean) ** 2 for value in self._values)
        if independent <= 1e-12:
            return None
        rest = [
            (value - mean) / math.sqrt(1 - min(reach / n, _LARGEST_REACH))
            for value, reach in zip(self._values, self._reach, strict=True)
        ]
        return max(0.0, self._products(rest) * (n - 1) / (n * independent))

    def share_interval(self) -> ConfidenceInterval | None:
        """Return the 95 % interval of the share of right sets, as ``share_interval`` for items."""
        if self.why_no_interval() is not None:
            return None
        n, design = len(self._values), self.design_effect()
        effective = self.effective if design is None else n / max(1.0, design)
        return wilson_at(sum(self._values) / n, effective, self._quantile())

    def difference_interval(self) -> ConfidenceInterval | None:
        """Return the 95 % interval of a mean of differences; ``None`` too if sides never differ.

        As in ``clustered_inference.difference_interval`` it is Tango's if the estimated variance at
        the mean is 0, such as when all sets favour one side.
        """
        if self.why_no_interval() is not None or not any(self._values):
            return None
        n, total, t2 = len(self._values), sum(self._values), self._quantile() ** 2
        pairs, variance = sum(self._reach), self._variance()
        weighted = sum(v * reach for v, reach in zip(self._values, self._reach, strict=True))
        # n^2 (total / n - d)^2 <= t^2 sum of products of (value - d), solved for d.
        a, b, c = n * n - t2 * pairs, n * total - t2 * weighted, total * total - t2 * variance
        if a <= 0:
            return None
        if n * n * variance - 2 * n * total * weighted + total * total * pairs <= 0:
            return one_sided_difference(total / n, self.effective, math.sqrt(t2))
        root = math.sqrt(max(0.0, b * b - a * c))
        return ConfidenceInterval(max(-1.0, (b - root) / a), min(1.0, (b + root) / a))

    def mcnemar(self) -> float:
        """Two-sided p of no difference.

        The exact McNemar test over sets; if some sets share units, at least the p of the score test
        whose variance accounts for them. 1 if no set differs.
        """
        total = sum(self._values)
        exact = sign_test(UnitTally(value, 1) for value in self._values)
        if total == 0 or sum(self._reach) == len(self._values):
            return exact
        score = abs(total) / math.sqrt(self._variance())
        # The t quantile stands in for its distribution: a score is as extreme as one of the normal
        # distribution at the same multiple of the 5 % bound.
        tail = NormalDist().cdf(-score * Z_95 / self._quantile())
        return max(exact, min(1.0, 2 * tail))

    def _variance(self) -> float:
        """Variance of the sum under a mean of 0; at least that without shared units."""
        alone = sum(value * value for value in self._values)
        return max(float(alone), self._products(self._values))

    def _products(self, values: Sequence[float]) -> float:
        return math.fsum(
            value * sum(values[other] for other in near)
            for value, near in zip(values, self._near, strict=True)
        )

    def _quantile(self) -> float:
        """As in ``clustered_inference``: the products between sets are the uncertain part."""
        n, products = len(self._values), sum(self._reach) - len(self._values)
        return t_quantile(n * n / products) if products else Z_95


def _near(entry: SetScore, of_unit: Mapping[str, Sequence[int]]) -> list[int]:
    """Return the indices of the sets that share a unit with one, including itself."""
    return sorted({number for unit in entry.units for number in of_unit[unit]})

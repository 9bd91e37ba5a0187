"""Intervals and tests for clustered answers (several per patient).

A proportion has Wilson's interval at the effective sample size: the number of answers over the
design effect (Kish, Survey Sampling, 1965, 8.2), with the CR2 variance (Bell and McCaffrey, Surv
Methodol 2002;28:169-181) and Student's t for the uncertainty of the design effect. Dean and Pagano
(J Surv Stat Methodol 2015;3:484-503) compare such intervals. A difference has the interval of a
cluster score test, and an exact test that flips the signs of whole units.
``docs/explanation/statistics.md`` describes the simulation by which these were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from medrcube.evaluate.statistics.intervals import (
    Z_95,
    ConfidenceInterval,
    one_sided_difference,
    t_quantile,
    wilson_at,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "FEWEST_UNITS",
    "UnitTally",
    "design_effect",
    "difference_interval",
    "effective_units",
    "share_interval",
    "sign_test",
    "tallies",
    "why_no_interval",
]

FEWEST_UNITS = 5
"""Minimum number of units for an interval: below it, simulated intervals are too wide or wrong."""


class UnitTally(NamedTuple):
    """Answers of one unit.

    Attributes:
        total: sum of the values of its answers, such as the number of correct ones.
        size: number of its answers.
    """

    total: int
    size: int


def tallies(members: Iterable[tuple[str, int]]) -> list[UnitTally]:
    """Return tallies of (unit, value) answers by unit, in order of first appearance."""
    totals: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for unit, value in members:
        totals[unit] = totals.get(unit, 0) + value
        sizes[unit] = sizes.get(unit, 0) + 1
    return [UnitTally(total, sizes[unit]) for unit, total in totals.items()]


def effective_units(units: Sequence[UnitTally]) -> float:
    """Return the equivalent number of equal-sized units: ``n^2 / sum(size^2)``; 0 without units."""
    n = sum(unit.size for unit in units)
    return n * n / sum(unit.size**2 for unit in units) if units else 0.0


def why_no_interval(units: Sequence[UnitTally]) -> str | None:
    """Return why no interval is given, or ``None``."""
    if len(units) < FEWEST_UNITS:
        return f"fewer than {FEWEST_UNITS} units"
    if effective_units(units) < FEWEST_UNITS:
        return f"the largest of {len(units)} units dominates the others"
    return None


def design_effect(units: Sequence[UnitTally], squares: int | None = None) -> float | None:
    """Return the factor by which clustering inflates the variance of a mean; 1 without clustering.

    Args:
        units: tally of each unit.
        squares: sum of the squared values; by default that of values 0 and 1.

    Returns:
        ``None`` for fewer than two units, and if all answers are equal.
    """
    if len(units) < 2:
        return None
    n, total = sum(unit.size for unit in units), sum(unit.total for unit in units)
    mean = total / n
    independent = ((total if squares is None else squares) - n * mean * mean) / (n * (n - 1))
    if independent <= 1e-12 / n:
        return None
    spread = math.fsum((unit.total - mean * unit.size) ** 2 / (1 - unit.size / n) for unit in units)
    return spread / (n * n) / independent


def share_interval(units: Sequence[UnitTally]) -> ConfidenceInterval | None:
    """Return the 95 % interval of a proportion; ``None`` if ``why_no_interval`` gives a reason.

    A design effect below 1 counts as 1. If all answers are equal the design effect is unknown, and
    the effective sample size is the number of effective units (``effective_units``).
    """
    if why_no_interval(units) is not None:
        return None
    n, right = sum(unit.size for unit in units), sum(unit.total for unit in units)
    design = design_effect(units)
    effective = effective_units(units) if design is None else n / max(1.0, design)
    return wilson_at(right / n, effective, _quantile(units))


def difference_interval(units: Sequence[UnitTally]) -> ConfidenceInterval | None:
    """Return the 95 % interval of a mean of differences that are -1, 0 or 1.

    It contains the means that the cluster score test does not reject. If the mean is the same in
    every unit, the variance that this test estimates is 0 at that mean, and no other mean would be
    included: the interval is then Tango's at the number of effective units. ``None`` if
    ``why_no_interval`` gives a reason, and if the two sides never differ.
    """
    if why_no_interval(units) is not None or not any(unit.total for unit in units):
        return None
    n, t2 = sum(unit.size for unit in units), _quantile(units) ** 2
    total = sum(unit.total for unit in units)
    squares = sum(unit.total**2 for unit in units)
    products = sum(unit.total * unit.size for unit in units)
    # n^2 (total / n - d)^2 <= t^2 sum (total_g - d size_g)^2, solved for d.
    a = n * n - t2 * sum(unit.size**2 for unit in units)
    b, c = n * total - t2 * products, total * total - t2 * squares
    if a <= 0:
        return None
    if all(unit.total * n == total * unit.size for unit in units):
        return one_sided_difference(total / n, effective_units(units), math.sqrt(t2))
    root = math.sqrt(max(0.0, b * b - a * c))
    return ConfidenceInterval(max(-1.0, (b - root) / a), min(1.0, (b + root) / a))


def sign_test(units: Iterable[UnitTally]) -> float:
    """Two-sided p of no difference: the exact test that flips the signs of whole units at random.

    With one differing answer per unit it is the exact McNemar test. It is exact if the two sides
    are exchangeable within each unit, whatever the dependence within units. 1 if no unit differs.
    """
    totals = [unit.total for unit in units if unit.total]
    observed = abs(sum(totals))
    if observed == 0:
        return 1.0
    moves = Counter(map(abs, totals))
    weights = _signed_sums(tuple(sorted(moves.items())))
    reach = (len(weights) - 1) // 2
    return min(1.0, 2 * float(weights[reach + observed :].sum()))


@lru_cache(maxsize=256)
def _signed_sums(moves: tuple[tuple[int, int], ...]) -> NDArray[np.float64]:
    """Return the distribution of signed sums of (length, count) steps, from smallest to largest.

    Sums whose probability is below the smallest float are left out at both ends, so that the cost
    grows in proportion to the number of steps: their sum spreads with its root, and so do the
    binomial terms of one length.
    """
    import numpy as np  # noqa: PLC0415 - an import that only scoring pays

    distribution = np.ones(1)
    for length, count in reversed(moves):
        shares = list(filter(None, _halves(count)))
        wide = np.zeros(len(distribution) + 2 * length * (len(shares) - 1))
        for k, share in enumerate(shares):
            place = 2 * length * k
            wide[place : place + len(distribution)] += share * distribution
        unreached = int(np.flatnonzero(wide)[0])
        distribution = wide[unreached : len(wide) - unreached]
    return distribution


def _halves(count: int) -> list[float]:
    """Return the binomial probabilities of ``count`` fair coin flips."""
    ways, all_ways = [0.0] * (count + 1), 1 << count
    term = math.comb(count, count // 2)
    for k in range(count // 2, -1, -1):
        share = term / all_ways
        if not share:
            break  # Below the smallest float, and so are those further from the middle.
        ways[k] = ways[count - k] = share
        term = term * k // (count - k + 1)
    return ways


def _quantile(units: Sequence[UnitTally]) -> float:
    """Return the 97.5 % quantile of Student's t, or of the normal distribution without clustering.

    The uncertain part of the variance consists of the products within units, of which there are
    ``sum(size (size - 1))``; their mean has ``n^2`` over that number of degrees of freedom
    (Satterthwaite, Biometrics Bull 1946;2:110-114).
    """
    n = sum(unit.size for unit in units)
    products = sum(unit.size * (unit.size - 1) for unit in units)
    return t_quantile(n * n / products) if products else Z_95

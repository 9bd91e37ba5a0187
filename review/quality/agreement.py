"""Inter-rater agreement: a panel of coefficients, never a single one.

If most items are good, kappa and alpha fall to 0 although reviewers hardly ever disagree, and AC1
stays near 1 although they never agree on which items are bad (BMC Med Res Methodol 2013, 13:61).
They are informative only side by side and together with the rating table.

All intervals are 95 % intervals:

- raw agreement, shares, and functions of them (Brennan-Prediger, specific agreement): Wilson score.
  With more than two ratings per item it is conservative, because the mean over the pairs of an item
  varies no more than a binary outcome;
- AC1: Gwet's variance (Br J Math Stat Psychol 2008, 61:29, eq. 14; with missing ratings as in his
  Handbook, 4th ed., ch. 5) and Student's t;
- kappa and alpha: bootstrap percentiles over items, with a fixed seed. If nobody ever disagrees,
  every resample yields 1, so no interval is reported.

Only categories that were used at least once are counted: an unused one would raise AC1 and
Brennan-Prediger and leave the other coefficients unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from medrcube.evaluate.statistics.intervals import t_quantile, wilson_at
from medrcube.review.quality.rating_counts import (
    Floats,
    LabelCounts,
    RatingTable,
    pairs_table,
    rating_table,
)

__all__ = [
    "NOT_TWO_RATERS",
    "NOT_USED",
    "NO_PAIRS",
    "NO_VARIATION",
    "TOO_FEW",
    "IntervalEstimate",
    "RatingTable",
    "agreement_panel",
    "brennan_prediger",
    "cohen_kappa",
    "defect_bound",
    "fleiss_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "pairs_table",
    "rating_table",
    "raw_agreement",
    "share_estimate",
    "specific_agreement",
]

NO_PAIRS = "no_pairs"
NO_VARIATION = "no_variation"
NOT_TWO_RATERS = "not_two_raters"
NOT_USED = "not_used"
TOO_FEW = "too_few"

_RESAMPLES = 2000
_SEED = 20_130_429
_LEAST_DEFINED = 0.9
"""Minimum share of bootstrap resamples in which a coefficient must be defined."""
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalEstimate:
    """One coefficient with its interval.

    Attributes:
        name: name of the coefficient, such as ``gwet_ac1``.
        value: estimate; ``None`` if undefined.
        low: lower end of the 95 % interval; ``None`` if there is none.
        high: upper end.
        items: number of items with two or more ratings; for a share, its denominator.
        reason: why there is no value or no interval: ``no_pairs`` (no item has two ratings),
            ``no_variation`` (all ratings are equal), ``not_two_raters``, ``not_used`` (nobody
            chose that category), ``too_few`` (no disagreement, or too few items for an interval).
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    items: int = 0
    reason: str = ""


def agreement_panel(table: RatingTable, critical: str) -> dict[str, IntervalEstimate]:
    """Compute all coefficients, by name; ``critical`` is the category for specific agreement."""
    estimates = (
        raw_agreement(table),
        cohen_kappa(table),
        fleiss_kappa(table),
        krippendorff_alpha(table),
        brennan_prediger(table),
        gwet_ac1(table),
        specific_agreement(table, critical),
    )
    return {estimate.name: estimate for estimate in estimates}


def raw_agreement(table: RatingTable) -> IntervalEstimate:
    """Raw agreement: share of equal pairs of ratings, averaged over items."""
    counts = table.counts
    if not counts.paired:
        return IntervalEstimate(name="raw", value=None, reason=NO_PAIRS)
    value = float(_observed_agreement(counts, counts.weights[None, :])[0])
    low, high = _share_interval(value, counts.paired)
    return IntervalEstimate(name="raw", value=value, low=low, high=high, items=counts.paired)


def cohen_kappa(table: RatingTable) -> IntervalEstimate:
    """Cohen's kappa: chance from the marginals of two raters (Educ Psychol Meas 1960, 20:37)."""
    columns = (table.values >= 0).any(axis=0)
    if columns.sum() != 2:
        reason = NO_PAIRS if columns.sum() < 2 else NOT_TWO_RATERS
        return IntervalEstimate(name="cohen", value=None, reason=reason)
    pair = table.values[:, columns]
    pair = pair[(pair >= 0).all(axis=1)].astype(np.intp)
    if not len(pair):
        return IntervalEstimate(name="cohen", value=None, reason=NO_PAIRS)
    size = len(table.labels)
    cells = np.bincount(pair[:, 0] * size + pair[:, 1], minlength=size * size)

    def kappa(weights: Floats) -> Floats:
        share = weights.reshape(-1, size, size) / len(pair)
        agreed = np.einsum("bii->b", share)
        chance = (share.sum(axis=2) * share.sum(axis=1)).sum(axis=1)
        return _chance_corrected(agreed, chance)

    return _bootstrapped("cohen", kappa, cells.astype(np.float64), len(pair))


def fleiss_kappa(table: RatingTable) -> IntervalEstimate:
    """Fleiss' kappa: chance from the pooled marginals of all raters (Psychol Bull 1971, 76:378).

    Missing ratings are handled by Gwet's extension: every item has the same weight.
    """
    counts = table.counts
    if not counts.paired:
        return IntervalEstimate(name="fleiss", value=None, reason=NO_PAIRS)

    def kappa(weights: Floats) -> Floats:
        chance = (_label_shares(counts, weights) ** 2).sum(axis=1)
        return _chance_corrected(_observed_agreement(counts, weights), chance)

    return _bootstrapped("fleiss", kappa, counts.weights, counts.paired)


def krippendorff_alpha(table: RatingTable) -> IntervalEstimate:
    """Nominal Krippendorff's alpha: 1 - observed / expected disagreement (Content Analysis)."""
    counts = table.counts.with_pairs()
    if not counts.paired:
        return IntervalEstimate(name="alpha", value=None, reason=NO_PAIRS)
    differing = counts.ratings - (counts.by_label**2).sum(axis=1) / counts.ratings
    differing *= counts.ratings / (counts.ratings - 1)

    def one_minus(weights: Floats) -> Floats:
        totals = weights @ counts.by_label
        every = totals.sum(axis=1)
        observed = weights @ differing / every
        expected = (every**2 - (totals**2).sum(axis=1)) / (every * (every - 1))
        return _quotient(expected - observed, expected)

    return _bootstrapped("alpha", one_minus, counts.weights, counts.paired)


def brennan_prediger(table: RatingTable) -> IntervalEstimate:
    """Brennan-Prediger kappa: chance is 1 / number of categories."""
    counts, agreed = table.counts, raw_agreement(table)
    if agreed.value is None or counts.used < 2:
        reason = NO_PAIRS if agreed.value is None else NO_VARIATION
        return IntervalEstimate(
            name="brennan_prediger", value=None, items=counts.paired, reason=reason
        )
    chance = 1 / counts.used
    value, low, high = (
        (share - chance) / (1 - chance)
        for share in (agreed.value, agreed.low, agreed.high)
        if share is not None
    )
    return IntervalEstimate(
        name="brennan_prediger", value=value, low=low, high=high, items=counts.paired
    )


def gwet_ac1(table: RatingTable) -> IntervalEstimate:
    """Gwet's AC1: chance from the difficulty of the categories, not from their frequency.

    If nobody ever disagrees, the variance is 0, which is not informative for few items; the lower
    end is then derived from that of the raw agreement, with the observed chance.
    """
    counts = table.counts
    if not counts.paired or counts.used < 2:
        reason = NO_VARIATION if counts.paired else NO_PAIRS
        return IntervalEstimate(name="ac1", value=None, items=counts.paired, reason=reason)
    weights = counts.weights[None, :]
    use = _label_shares(counts, weights)[0]
    chance = float((use * (1 - use)).sum() / (counts.used - 1))
    agreed = float(_observed_agreement(counts, weights)[0])
    value = (agreed - chance) / (1 - chance)
    if counts.items < 2:
        return IntervalEstimate(name="ac1", value=value, items=counts.paired, reason=TOO_FEW)
    if agreed == 1:
        least = (_share_interval(1.0, counts.paired)[0] - chance) / (1 - chance)
        return IntervalEstimate(name="ac1", value=value, low=least, high=1.0, items=counts.paired)
    paired = counts.ratings > 1
    scale = counts.items / counts.paired
    each = scale * paired * (counts.agreeing - chance) / (1 - chance)
    expected = (counts.shares * (1 - use)).sum(axis=1) / (counts.used - 1)
    linear = each - 2 * (1 - value) * (expected - chance) / (1 - chance)
    variance = (counts.weights * (linear - value) ** 2).sum() / (counts.items * (counts.items - 1))
    half = _student(counts.items - 1) * math.sqrt(variance)
    return IntervalEstimate(
        name="ac1",
        value=value,
        low=max(-1.0, value - half),
        high=min(1.0, value + half),
        items=counts.paired,
    )


def specific_agreement(table: RatingTable, label: str) -> IntervalEstimate:
    """Specific agreement: probability that another rater chooses ``label`` if one does.

    2a / (2a + b + c) for two raters. From Fleiss, Statistical Methods for Rates and Proportions,
    ch. 18; every rating has the same weight, however many raters saw the item. ``items`` are those
    to which at least one rater gave the label. The interval is transformed from that of the share
    of these with two such ratings; exact for two raters.
    """
    counts, name = table.counts.with_pairs(), f"specific_{label}"
    if not counts.paired:
        return IntervalEstimate(name=name, value=None, reason=NO_PAIRS)
    label_counts = counts.by_label[:, table.labels.index(label)] if label in table.labels else 0.0
    every = float((counts.weights * label_counts).sum())
    if not every:
        return IntervalEstimate(name=name, value=None, reason=NOT_USED)
    both = counts.weights * label_counts * (label_counts - 1) / (counts.ratings - 1)
    value, items = float(both.sum()) / every, int((counts.weights * (label_counts > 0)).sum())
    low, high = (2 * end / (1 + end) for end in _share_interval(value / (2 - value), items))
    return IntervalEstimate(name=name, value=value, low=low, high=high, items=items)


def share_estimate(name: str, count: int, total: int) -> IntervalEstimate:
    """Return a share of a total with its Wilson interval; no value if the total is 0."""
    if not total:
        return IntervalEstimate(name=name, value=None, reason=NO_PAIRS)
    low, high = _share_interval(count / total, total)
    return IntervalEstimate(name=name, value=count / total, low=low, high=high, items=total)


def defect_bound(audited: int) -> float:
    """Upper 95 % bound of the defect rate after an audit that found none (rule of three, 3 / n).

    Raises:
        ValueError: no item was audited.
    """
    if audited < 1:
        raise ValueError(f"{audited} audited items, expected 1 or more")
    return min(1.0, 3 / audited)


def _observed_agreement(counts: LabelCounts, weights: Floats) -> Floats:
    several = counts.ratings > 1
    return _quotient(weights @ (several * counts.agreeing), weights @ several.astype(np.float64))


def _label_shares(counts: LabelCounts, weights: Floats) -> Floats:
    shares: Floats = weights @ counts.shares / weights.sum(axis=1, keepdims=True)
    return shares


def _chance_corrected(agreed: Floats, chance: Floats) -> Floats:
    return _quotient(agreed - chance, 1 - chance)


def _quotient(above: Floats, below: Floats) -> Floats:
    """Divide elementwise; NaN where the denominator is 0."""
    quotient = np.full_like(above, np.nan, dtype=np.float64)
    np.divide(above, below, out=quotient, where=np.abs(below) > _NOTHING)
    return quotient


def _bootstrapped(
    name: str, statistic: Callable[[Floats], Floats], weights: Floats, items: int
) -> IntervalEstimate:
    value = float(statistic(weights[None, :])[0])
    if math.isnan(value):
        return IntervalEstimate(name=name, value=None, items=items, reason=NO_VARIATION)
    total = int(weights.sum())
    resamples = np.random.default_rng(_SEED).multinomial(total, weights / total, size=_RESAMPLES)
    values = statistic(resamples.astype(np.float64))
    values = values[~np.isnan(values)]
    if len(values) < _LEAST_DEFINED * _RESAMPLES or np.ptp(values) < _NOTHING:
        return IntervalEstimate(name=name, value=value, items=items, reason=TOO_FEW)
    low, high = np.percentile(values, (2.5, 97.5))
    return IntervalEstimate(name=name, value=value, low=float(low), high=float(high), items=items)


def _share_interval(value: float, total: int) -> tuple[float, float]:
    """Wilson 95 % interval of a share, which is clipped because rounding may exceed 0 or 1."""
    return wilson_at(min(max(value, 0.0), 1.0), total)


def _student(freedom: int) -> float:
    """97.5 % quantile of Student's t to 3e-4; tabulated below 5 degrees of freedom."""
    exact = {1: 12.7062, 2: 4.3027, 3: 3.1824, 4: 2.7764}
    return exact.get(freedom) or t_quantile(freedom)

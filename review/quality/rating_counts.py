"""Rating table and label counts: the input of all agreement coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "LabelCounts", "RatingTable", "pairs_table", "rating_table"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """Label counts, with items of equal counts merged.

    Attributes:
        by_label: (patterns, labels), number of raters who chose the label.
        weights: (patterns,), number of items with that pattern.
    """

    by_label: Floats
    weights: Floats

    @classmethod
    def of(cls, values: NDArray[np.int8], labels: int) -> LabelCounts:
        """Count the labels of every rated item."""
        counted = np.zeros((len(values), labels))
        for at in range(labels):
            counted[:, at] = (values == at).sum(axis=1)
        counted = counted[counted.sum(axis=1) > 0]
        rows, weights = np.unique(counted, axis=0, return_counts=True)
        return cls(by_label=rows.astype(np.float64), weights=weights.astype(np.float64))

    def with_pairs(self) -> LabelCounts:
        """Return only the items with two or more ratings."""
        several = self.ratings > 1
        return LabelCounts(by_label=self.by_label[several], weights=self.weights[several])

    @property
    def ratings(self) -> Floats:
        """Number of ratings per item."""
        total: Floats = self.by_label.sum(axis=1)
        return total

    @property
    def items(self) -> int:
        """Number of rated items."""
        return int(self.weights.sum())

    @property
    def paired(self) -> int:
        """Number of items with two or more ratings."""
        return int(self.weights[self.ratings > 1].sum())

    @property
    def used(self) -> int:
        """Number of labels that were used at least once."""
        return int((self.by_label.sum(axis=0) > 0).sum())

    @property
    def shares(self) -> Floats:
        """Share of each label among the ratings of each item."""
        return self.by_label / self.ratings[:, None]

    @property
    def agreeing(self) -> Floats:
        """Share of equal pairs of ratings per item; 0 if there is no pair."""
        equal: Floats = (self.by_label * (self.by_label - 1)).sum(axis=1)
        return equal / np.maximum(self.ratings * (self.ratings - 1), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTable:
    """Ratings of all items by all raters.

    Attributes:
        values: (items, raters), index of the label, or -1 if the rater has not rated the item.
        labels: the categories.
        counts: label counts, derived from the other two.
    """

    values: NDArray[np.int8]
    labels: tuple[str, ...]
    counts: LabelCounts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", LabelCounts.of(self.values, len(self.labels)))


def rating_table(rows: Sequence[Sequence[str | None]], labels: Sequence[str] = ()) -> RatingTable:
    """Build a rating table: one row per item, one column per rater, ``None`` if not rated.

    Args:
        rows: rows of equal length.
        labels: order of the labels; any others follow in alphabetical order.
    """
    used = {value for row in rows for value in row if value is not None}
    names = (*labels, *sorted(used - set(labels)))
    places: dict[str | None, int] = {None: -1, **{name: at for at, name in enumerate(names)}}
    values = [[places[value] for value in row] for row in rows]
    table = np.array(values, dtype=np.int8).reshape(len(rows), len(rows[0]) if rows else 0)
    return RatingTable(values=table, labels=names)


def pairs_table(table: RatingTable) -> NDArray[np.int64]:
    """Return the (labels, labels) contingency table of pairs of ratings of the same item.

    With two raters, rows are the first rater. With more, the order within a pair is meaningless, so
    all counts are on or above the diagonal.
    """
    size = len(table.labels)
    pairs = np.zeros((size, size), dtype=np.int64)
    rated = table.values[:, (table.values >= 0).any(axis=0)]
    if rated.shape[1] == 2:
        both = rated[(rated >= 0).all(axis=1)]
        np.add.at(pairs, (both[:, 0], both[:, 1]), 1)
        return pairs
    counts = table.counts
    for row in range(size):
        own = counts.by_label[:, row]
        pairs[row, row] = round(float(counts.weights @ (own * (own - 1) / 2)))
        for column in range(row + 1, size):
            pairs[row, column] = round(float(counts.weights @ (own * counts.by_label[:, column])))
    return pairs

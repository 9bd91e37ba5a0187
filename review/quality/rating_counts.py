"""Rating table and label counts, from which every agreement coefficient is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "LabelCounts", "RatingTable", "pairs_table", "rating_table"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """Items that were rated alike, put together.

    Attributes:
        by_label: (kinds of items, labels), how many raters chose the label.
        weights: (kinds of items,), how many items are of that kind.
    """

    by_label: Floats
    weights: Floats

    @classmethod
    def of(cls, values: NDArray[np.int8], labels: int) -> LabelCounts:
        """Count the labels of every item that was rated at all."""
        counted = np.zeros((len(values), labels))
        for at in range(labels):
            counted[:, at] = (values == at).sum(axis=1)
        counted = counted[counted.sum(axis=1) > 0]
        rows, weights = np.unique(counted, axis=0, return_counts=True)
        return cls(by_label=rows.astype(np.float64), weights=weights.astype(np.float64))

    def with_pairs(self) -> LabelCounts:
        """Only the items that have two ratings or more."""
        several = self.ratings > 1
        return LabelCounts(by_label=self.by_label[several], weights=self.weights[several])

    @property
    def ratings(self) -> Floats:
        """Ratings of an item."""
        total: Floats = self.by_label.sum(axis=1)
        return total

    @property
    def items(self) -> int:
        """How many items were rated."""
        return int(self.weights.sum())

    @property
    def paired(self) -> int:
        """How many items have two ratings or more."""
        return int(self.weights[self.ratings > 1].sum())

    @property
    def used(self) -> int:
        """How many labels somebody has chosen."""
        return int((self.by_label.sum(axis=0) > 0).sum())

    @property
    def shares(self) -> Floats:
        """Share of each label among the ratings of an item."""
        return self.by_label / self.ratings[:, None]

    @property
    def agreeing(self) -> Floats:
        """Share of the pairs of an item that are equal; 0 where there is no pair."""
        equal: Floats = (self.by_label * (self.by_label - 1)).sum(axis=1)
        return equal / np.maximum(self.ratings * (self.ratings - 1), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingTable:
    """Who said what of which item.

    Attributes:
        values: (items, raters), index of a label or -1 where a rater has not seen the item.
        labels: the categories.
        counts: the same, by how often each label was chosen; follows from the others.
    """

    values: NDArray[np.int8]
    labels: tuple[str, ...]
    counts: LabelCounts = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", LabelCounts.of(self.values, len(self.labels)))


def rating_table(rows: Sequence[Sequence[str | None]], labels: Sequence[str] = ()) -> RatingTable:
    """A table of labels, one row an item, one column a rater, ``None`` for not rated.

    Args:
        rows: of equal length.
        labels: their order; what is missing here follows in alphabetical order.
    """
    used = {value for row in rows for value in row if value is not None}
    names = (*labels, *sorted(used - set(labels)))
    places: dict[str | None, int] = {None: -1, **{name: at for at, name in enumerate(names)}}
    values = [[places[value] for value in row] for row in rows]
    table = np.array(values, dtype=np.int8).reshape(len(rows), len(rows[0]) if rows else 0)
    return RatingTable(values=table, labels=names)


def pairs_table(table: RatingTable) -> NDArray[np.int64]:
    """(labels, labels): how often one rater said the row and another the column, of one item.

    With two raters the rows are the first one's. With more, who is first means nothing, so
    everything stands on or above the diagonal.
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

"""Set capacity: number of items that the answers of one question group can support.

Items come in sets of n options, each the key equally often, so ``n B`` items need B questions of
each option; with more than n answers, any of those with questions left. With ``c`` questions per
answer that is the largest B for which ``sum(min(c, B)) >= n B``. The remainder fills smaller sets,
down to two options.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["SetCapacity", "scarcest_answer", "set_capacity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCapacity:
    """Yield of a block group.

    Attributes:
        keys: answer -> number of items with three or more options of which it is the key.
        pairs: the same for items with two options.
    """

    keys: Mapping[str, int]
    pairs: Mapping[str, int]

    @property
    def more(self) -> int:
        """Number of items with three or more options."""
        return sum(self.keys.values())

    @property
    def two(self) -> int:
        """Number of items with two options."""
        return sum(self.pairs.values())

    @property
    def items(self) -> int:
        """Number of all items."""
        return self.more + self.two


def set_capacity(
    counts: Mapping[str, int], beside: Mapping[str, frozenset[str]], options: int = 4
) -> SetCapacity:
    """Return the most items of a block group, larger sets first.

    Args:
        counts: answer -> questions with it.
        beside: answer -> answers that are safe distractors; both must allow each other.
        options: most options of an item.
    """
    remaining = {name: count for name, count in counts.items() if count > 0}
    partners = {
        name: [
            other
            for other in remaining
            if other != name and other in beside[name] and name in beside[other]
        ]
        for name in remaining
    }
    # Questions in excess of their partners fit in no set, not even of two.
    remaining = {
        name: min(count, sum(remaining[partner] for partner in partners[name]))
        for name, count in remaining.items()
    }
    reach = 1 + max(map(len, partners.values()), default=0)
    keys = dict.fromkeys(counts, 0)
    pairs = dict.fromkeys(counts, 0)
    for size in range(min(options, reach), 1, -1):
        into = keys if size > 2 else pairs
        for name, share in _questions_per_answer(remaining, size).items():
            remaining[name] -= share
            into[name] += share
    return SetCapacity(keys=keys, pairs=pairs)


def scarcest_answer(
    counts: Mapping[str, int], beside: Mapping[str, frozenset[str]], options: int = 4
) -> str | None:
    """Return the answer for which a tenth more questions adds most items, or ``None``."""
    base = set_capacity(counts, beside, options).items
    gains = {
        name: set_capacity(
            {**counts, name: count + max(options, count // 10)}, beside, options
        ).items
        - base
        for name, count in sorted(counts.items())
    }
    best = max(gains, key=lambda name: (gains[name], -counts[name]), default=None)
    return best if best is not None and gains[best] > max(options, counts[best] // 10) else None


def _questions_per_answer(counts: Mapping[str, int], size: int) -> dict[str, int]:
    """Return the questions of each answer in sets of one size; they sum to a multiple of it."""
    low, high = 0, sum(counts.values()) // size
    while low < high:
        sets = (low + high + 1) // 2
        if sum(min(count, sets) for count in counts.values()) >= size * sets:
            low = sets
        else:
            high = sets - 1
    shares = {name: min(count, low) for name, count in counts.items()}
    surplus = sum(shares.values()) - size * low
    for name in sorted(shares, key=lambda answer: (counts[answer], answer)):
        cut = min(surplus, shares[name])
        shares[name] -= cut
        surplus -= cut
    return shares

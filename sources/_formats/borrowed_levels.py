"""Slice levels of negative cases, borrowed from positive cases.

A finding determines the level of its slice, whereas a slice without a finding can be taken
anywhere. If it were taken from the middle of the stack, the level would reveal the answer: a slice
away from the middle would always be positive. Each negative slice is therefore taken at the level
of a positive one, so that the levels of both have the same distribution.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256

__all__ = ["borrowed_levels", "drawn_slice", "level_of", "nearest_slice"]

MIDDLE = 0.5
"""Level used if a copy contains no positive slice, so that the level reveals nothing."""


def level_of(at: int, count: int) -> float:
    """Return the level of slice ``at``, from 0 for the first of ``count`` to 1 for the last."""
    return at / (count - 1) if count > 1 else MIDDLE


def nearest_slice(level: float, count: int) -> int:
    """Return the index of the slice of ``count`` nearest to a level."""
    return round(level * (count - 1))


def borrowed_levels(positive: Collection[float], clear: Iterable[str]) -> Mapping[str, float]:
    """Return a level per negative case, distributed like those of the positive cases.

    Args:
        positive: level of each positive case.
        clear: names of the negative cases; their order is irrelevant.
    """
    levels = sorted(positive) or [MIDDLE]
    names = sorted(set(clear), key=lambda name: sha256(name.encode()).digest())
    return {
        name: levels[(2 * k + 1) * len(levels) // (2 * len(names))] for k, name in enumerate(names)
    }


def drawn_slice(name: str, count: int, levels: Sequence[float]) -> int:
    """Return the slice of a negative stack, at a level from the card's distribution.

    Use this if the labels of all stacks were counted: then missing files in a copy do not change
    the slices of other cases.

    Args:
        name: name of the stack, which determines the level.
        count: number of its slices.
        levels: quantiles of the levels of positive slices.
    """
    digest = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return nearest_slice(levels[digest % len(levels)], count)

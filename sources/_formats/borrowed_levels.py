"""Levels of slices that show nothing, borrowed from those that show something.

A finding lies where it lies, at any level; a slice without it can be taken anywhere. Taken from
the middle of each stack, its level would tell the answer: whoever sees a slice away from the
middle knows that something is there. So each slice without a finding is taken at the level of one
with it, and the levels of both are spread alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256

__all__ = ["borrowed_levels", "drawn_slice", "level_of", "nearest_slice"]

MIDDLE = 0.5
"""Level of a slice where a copy shows the finding nowhere: then nothing tells it."""


def level_of(at: int, count: int) -> float:
    """Level of slice ``at`` of a stack, from 0 for the first of ``count`` to 1 for the last."""
    return at / (count - 1) if count > 1 else MIDDLE


def nearest_slice(level: float, count: int) -> int:
    """Index of the slice of ``count`` that lies next to a level."""
    return round(level * (count - 1))


def borrowed_levels(shown: Collection[float], clear: Iterable[str]) -> Mapping[str, float]:
    """A level for each case without a finding, spread like those of the cases with it.

    Args:
        shown: level of each case that shows the finding.
        clear: names of the cases without it; their order means nothing.
    """
    levels = sorted(shown) or [MIDDLE]
    names = sorted(set(clear), key=lambda name: sha256(name.encode()).digest())
    return {
        name: levels[(2 * k + 1) * len(levels) // (2 * len(names))] for k, name in enumerate(names)
    }


def drawn_slice(name: str, count: int, levels: Sequence[float]) -> int:
    """Slice of a stack without a finding, at one of the levels that the card counted of others.

    Where labels of all stacks were counted, use this: what one copy lacks moves no other slice.

    Args:
        name: of the stack; decides the level.
        count: number of its slices.
        levels: quantiles of the levels at which the finding is shown.
    """
    digest = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return nearest_slice(levels[digest % len(levels)], count)

"""Runs of neighbours in a stack of slices, for adapters that choose one slice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TypeVar

__all__ = ["longest_run", "middle_of_longest_run"]

Item = TypeVar("Item")


def longest_run(items: Iterable[Item], fits: Callable[[Item], bool]) -> list[Item]:
    """Return the longest run of items that fit, the first of equals; empty if none fits."""
    runs = (list(run) for fit, run in groupby(items, fits) if fit)
    return max(runs, key=len, default=[])


def middle_of_longest_run(flags: Sequence[bool]) -> int:
    """Return the middle index of the longest run of true flags, or of all if none is true."""
    run = longest_run(range(len(flags)), flags.__getitem__) or range(len(flags))
    return run[len(run) // 2]

"""Long sequences of names in batches, for steps that need memory for each name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

__all__ = ["name_batches"]

_NAMES = 16_384


def name_batches(names: Iterable[str]) -> Iterator[list[str]]:
    """Yield the names in order, some thousands at a time."""
    remaining = iter(names)
    while batch := list(islice(remaining, _NAMES)):
        yield batch

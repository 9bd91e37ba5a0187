"""Batches of long lists, because the number of parameters of a statement is limited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["batches"]

T = TypeVar("T")


def batches(values: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """Yield lists of at most ``size`` values, in order."""
    values = iter(values)
    while batch := list(islice(values, size)):
        yield batch

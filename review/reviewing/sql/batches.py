"""Batches of long lists: a statement takes a limited number of values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

__all__ = ["batches"]

T = TypeVar("T")


def batches(values: Iterable[T], size: int = 500) -> Iterator[list[T]]:
    """Lists of at most ``size`` values, in their order."""
    values = iter(values)
    while batch := list(islice(values, size)):
        yield batch

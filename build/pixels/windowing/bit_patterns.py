"""Bit patterns of integer data: one table entry for every value of the type."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Array
from medrcube.build.pixels.windowing.order_statistics import row_blocks

__all__ = ["all_values", "bit_patterns", "has_table", "take_entries"]


def take_entries(table: NDArray[np.uint8], patterns: Array) -> NDArray[np.uint8]:
    """Return ``table[patterns]`` in half the time; the table has an entry for every pattern.

    numpy widens indices to 64 bits: this is done in parts that fit in the cache, and without a
    bounds check (``wrap``), since none lies outside.
    """
    picture = np.empty(patterns.shape, np.uint8)
    for source, target in zip(row_blocks(patterns), row_blocks(picture), strict=True):
        np.take(table, source, out=target, mode="wrap")
    return picture


def has_table(dtype: np.dtype[np.generic]) -> bool:
    """Whether a type is small enough for a table of all its values."""
    return dtype.kind in "iu" and dtype.itemsize <= 2


def bit_patterns(values: Array) -> Array:
    """View the values as unsigned integers of the same width, in native byte order."""
    native = values.astype(values.dtype.newbyteorder("="), copy=False)
    return native.view(np.dtype(f"u{native.dtype.itemsize}"))


def all_values(dtype: np.dtype[np.generic]) -> Array:
    """Return every value of an integer type, at the index of its bit pattern."""
    patterns = np.arange(2 ** (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}")
    return patterns.view(dtype.newbyteorder("="))

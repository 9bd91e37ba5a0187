"""Exact order statistics of a volume by radix counting, without a sorted copy.

Values are mapped to unsigned integers with the same order, and counted sixteen bits at a time,
slice by slice, until all bits of the requested value are known. The result is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Array, SliceStack

__all__ = ["row_blocks", "values_at_ranks"]

_DIGIT = 16
_PART = 1 << 17
_SIGN_HALF, _ONES_HALF = 0x8000, 0xFFFF
_NEAR_ZERO = (0x7FFF, 0x8000)
"""Upper halves of the keys next to 0: -0 is among the smallest negative values, and counts as 0."""


def row_blocks(picture: Array, size: int = _PART) -> Iterator[Array]:
    """Yield views of a few rows: numpy makes 64-bit integers of what it counts or looks up.

    Args:
        picture: ``(rows, columns)``, or more axes.
        size: most values of a block of several rows.
    """
    rows = max(1, size * len(picture) // picture.size)
    for first in range(0, len(picture), rows):
        yield picture[first : first + rows]


def values_at_ranks(slices: SliceStack, places: Sequence[int]) -> Array:
    """Return the values at some ranks of the sorted values of all slices.

    Args:
        slices: real numbers without NaN, of any type; more than 64 bits become float64.
        places: ranks, from 0.
    """
    dtype = _key_of(slices[0][:1]).dtype
    keys = [0 for _ in places]
    ranks = list(places)
    for shift in reversed(range(0, 8 * dtype.itemsize, _DIGIT)):
        counts = _counts(slices, keys, shift)
        for number, head in enumerate(list(keys)):
            count = counts[head]
            reached = np.cumsum(count)
            digit = int(np.searchsorted(reached, ranks[number], side="right"))
            ranks[number] -= int(reached[digit] - count[digit])
            keys[number] = keys[number] << _DIGIT | digit
    return _value_of(np.array(keys, dtype), slices.dtype)


def _counts(slices: SliceStack, heads: Sequence[int], shift: int) -> dict[int, NDArray[np.int64]]:
    """Count each digit, separately for each known prefix."""
    counts = {head: np.zeros(1 << _DIGIT, np.int64) for head in heads}
    for k in range(slices.shape[0]):
        for part in row_blocks(slices[k]):
            for head in counts:
                keys = _keys_below(part, head, shift)
                digits = (keys >> shift & ((1 << _DIGIT) - 1)).astype(np.intp)
                counts[head] += np.bincount(digits, minlength=1 << _DIGIT)
    return counts


def _keys_below(part: Array, head: int, shift: int) -> Array:
    """Return the keys that begin with the digits of ``head``, which end above ``shift`` + 16."""
    if part.dtype == np.float32 and shift == 0 and head not in _NEAR_ZERO:
        # Only the few values with this sign, exponent and upper mantissa are mapped to keys.
        upper = head ^ _SIGN_HALF if head & _SIGN_HALF else head ^ _ONES_HALF
        bits = np.ascontiguousarray(part).view(np.uint32)
        return _key_of(part[bits >> _DIGIT == upper])
    keys = _key_of(part).ravel()
    whole = 8 * keys.itemsize - _DIGIT == shift
    return keys if whole else keys[keys >> (shift + _DIGIT) == head]


def _key_of(values: Array) -> Array:
    """Map values to unsigned integers of at least 16 bits with the same order."""
    if values.dtype.kind == "b" or values.dtype.itemsize == 1:
        values = values.astype(np.int16)
    elif values.dtype.itemsize > 8:
        values = values.astype(np.float64)
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    if native.dtype.kind == "f":
        native = native + native.dtype.type(0)  # -0 becomes 0
    bits: Array = native.view(f"u{native.dtype.itemsize}")
    if native.dtype.kind == "u":
        return bits
    top = bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    if native.dtype.kind == "i":
        return np.asarray(bits ^ top)
    negative = native.view(f"i{native.dtype.itemsize}") >> (8 * native.dtype.itemsize - 1)
    return np.asarray(bits ^ (negative.view(bits.dtype) | top))  # all bits, or the sign alone


def _value_of(keys: Array, dtype: np.dtype[Any]) -> Array:
    """Inverse of ``_key_of``."""
    if dtype.kind == "b" or dtype.itemsize == 1:
        dtype = np.dtype(np.int16)
    elif dtype.itemsize > 8:
        dtype = np.dtype(np.float64)
    top = keys.dtype.type(1 << (8 * keys.dtype.itemsize - 1))
    if dtype.kind == "i":
        keys = keys ^ top
    elif dtype.kind == "f":
        keys = np.where(keys & top, keys ^ top, ~keys)
    return keys.view(dtype.newbyteorder("="))

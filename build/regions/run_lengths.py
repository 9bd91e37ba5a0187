"""Run lengths of a mask, as COCO counts them: background first, down the columns from the left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["decode_runs", "encode_runs"]


def encode_runs(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the run lengths of a ``(rows, columns)`` mask; they add up to its number of pixels."""
    flat = mask.ravel(order="F")
    turns = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    runs = np.diff(np.concatenate(([0], turns, [flat.size])))
    first = (0,) if flat.size and flat[0] else ()
    return (*first, *map(int, runs))


def decode_runs(counts: Sequence[int], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Decode runs into a ``(rows, columns)`` mask, for an image of ``size`` (width, height)."""
    width, height = size
    inside = np.arange(len(counts)) % 2 == 1
    return np.repeat(inside, np.asarray(counts, np.int64)).reshape((height, width), order="F")

"""Percentiles of the modality values of a volume, exact for integer data."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, prod

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Volume
from medrcube.build.pixels.windowing.bit_patterns import all_values, bit_patterns, has_table
from medrcube.build.pixels.windowing.order_statistics import row_blocks, values_at_ranks
from medrcube.build.pixels.windowing.transform import modality_values

__all__ = ["percentiles"]


def percentiles(volume: Volume, low: Fraction | int, high: Fraction | int) -> tuple[float, float]:
    """Return the modality values below which ``low`` and ``high`` per cent of the volume lie.

    Each is the smallest value whose cumulative share reaches the percentage; without interpolation,
    integer data give exact numbers everywhere.
    """
    if not has_table(volume.slices.dtype):
        return _float_percentiles(volume, low, high)
    counts = _histogram(volume)
    values = modality_values(volume.greys, all_values(volume.slices.dtype))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order])
    bottom, top = (
        float(values[order[np.searchsorted(reached, _rank(share, int(reached[-1])))]])
        for share in (low, high)
    )
    return bottom, top


def _float_percentiles(
    volume: Volume, low: Fraction | int, high: Fraction | int
) -> tuple[float, float]:
    size = prod(volume.slices.shape)
    places = [_rank(share, size) - 1 for share in (low, high)]
    if volume.greys.slope < 0:
        places = [size - 1 - place for place in places]
    bottom, top = modality_values(volume.greys, values_at_ranks(volume.slices, places)).tolist()
    return bottom, top


def _histogram(volume: Volume) -> NDArray[np.int64]:
    """Count each bit pattern; padding counts only if there is nothing else."""
    dtype = volume.slices.dtype
    counts = np.zeros(2 ** (8 * dtype.itemsize), np.int64)
    for k in range(volume.slices.shape[0]):
        for part in row_blocks(bit_patterns(volume.slices[k])):
            counts += np.bincount(part.ravel(), minlength=len(counts))
    if volume.greys.padding is not None:
        first, last = volume.greys.padding
        values = all_values(dtype)
        unpadded = np.where((values >= first) & (values <= last), 0, counts)
        if unpadded.any():
            return unpadded
    return counts


def _rank(share: Fraction | int, size: int) -> int:
    return max(1, ceil(Fraction(share) * size / 100))

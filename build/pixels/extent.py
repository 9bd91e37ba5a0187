"""Body extent of a volume by Otsu threshold: first and last slice that show tissue."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Volume
from medrcube.build.pixels.windowing.curves import NEAR_OVERFLOW, SMALLER
from medrcube.build.pixels.windowing.order_statistics import values_at_ranks

__all__ = ["body_extent", "slice_at_height"]

_SHARE = 0.05
"""Least area of the body on a slice, as a share of the largest; less is noise or an artefact."""
_BRIGHT = 0.999
_BINS = 1024
_ROWS = 16
"""Rows of a slice processed at a time."""


def body_extent(volume: Volume) -> tuple[int, int]:
    """Return the first and last slice that show the body.

    The body is everything brighter than the threshold of Otsu, "A threshold selection method from
    gray-level histograms", IEEE Trans. Syst. Man Cybern. 9, 1979, over all slices.

    Args:
        volume: in display order, grey; a stack with a single grey value counts as body throughout.
    """
    low, high = _range(volume)
    count = volume.slices.shape[0]
    if not high > low:
        return (0, count - 1)
    counts = np.zeros((count, _BINS), np.int32)
    scale = SMALLER if max(abs(low), abs(high)) > NEAR_OVERFLOW else 1
    ends = (low * scale, high * scale)
    for k in range(count):
        whole = volume.slices[k]
        for row in range(0, len(whole), _ROWS):  # numpy makes eight bytes and more of every voxel
            inside = np.clip(whole[row : row + _ROWS], low, high)
            counts[k] += np.histogram(inside if scale == 1 else inside * scale, _BINS, ends)[0]
    bodies = counts[:, _otsu(counts.sum(axis=0)) :].sum(axis=1)
    slices = np.flatnonzero(bodies >= _SHARE * bodies.max())
    return (int(slices[0]), int(slices[-1]))


def slice_at_height(volume: Volume, height: Fraction) -> int:
    """Return the slice at a relative height of the body, from the first slice that shows it.

    Args:
        volume: in display order.
        height: from 0 to 1; one half is the middle.
    """
    first, last = body_extent(volume)
    return min(first + int(height * (last - first + 1)), last)


def _range(volume: Volume) -> tuple[float, float]:
    """Return the range from the darkest voxel to the bright end, without a few extreme outliers."""
    size = math.prod(volume.slices.shape)
    low, high = values_at_ranks(volume.slices, (0, int((size - 1) * _BRIGHT)))
    return float(low), float(high)


def _otsu(counts: NDArray[np.int64]) -> int:
    """Return the first histogram bin of the brighter class of the Otsu threshold."""
    below = counts.cumsum()[:-1].astype(np.float64)
    above = counts.sum() - below
    sums = (counts * np.arange(len(counts))).cumsum().astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = sums[:-1] / below - (sums[-1] - sums[:-1]) / above
        between = np.nan_to_num(below * above * apart**2)
    return int(between.argmax()) + 1

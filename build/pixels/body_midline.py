"""Midline of a body on an image: the middle between its outermost columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["body_midline"]

_SHARE = 0.1
"""Least extent of a body column, as a share of the largest one; less is a couch, a tube or noise.
"""
_LEAST_WIDTH = 0.3
"""Least width of the body, as a share of the image width; a narrower one is a part of the body with
its own middle.
"""


def body_midline(picture: NDArray[np.uint8]) -> float | None:
    """Return the column of the body's midline, or ``None`` if the image does not show both sides.

    The body is everything brighter than the Otsu threshold (see ``extent``).

    Args:
        picture: ``(rows, columns)`` or ``(rows, columns, 3)``, a cross-section of a body.
    """
    grey = picture if picture.ndim == 2 else picture[..., 1]
    counts = np.bincount(grey.ravel(), minlength=256)
    columns = (grey > _otsu(counts)).sum(axis=0)
    body = np.flatnonzero(columns > _SHARE * columns.max())
    width = grey.shape[1]
    if not body.size or body[0] == 0 or body[-1] == width - 1:
        return None
    if body[-1] + 1 - body[0] < _LEAST_WIDTH * width:
        return None
    return (int(body[0]) + int(body[-1]) + 1) / 2


def _otsu(counts: NDArray[np.int64]) -> int:
    """Return the brightest grey value of the darker class of the Otsu threshold."""
    below = counts.cumsum()[:-1].astype(np.float64)
    sums = (counts * np.arange(256)).cumsum().astype(np.float64)
    above = counts.sum() - below
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = sums[:-1] / below - (sums[-1] - sums[:-1]) / above
    return int(np.nan_to_num(below * above * apart**2).argmax())

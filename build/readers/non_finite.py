"""Non-finite voxels: NaN and infinity are filled with the darkest value, and counted.

Resampling and skull stripping leave them outside the body, so they are shown as background: the
darkest value of the volume. The recipe of an image records their number. Their location is kept,
since within a marked region they are not background.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from medrcube.build.pixels.volume import Array, PixelSemantics
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError

__all__ = ["fill_non_finite"]

MOST = 0.9
"""Largest tolerated share of a volume: a brain fills a fifth of its field of view, so with more
than nine tenths missing, too little would be left to be sure that the file is intact.
"""


def fill_non_finite(
    path: Path, values: Array, greys: PixelSemantics
) -> tuple[Array, PixelSemantics]:
    """Return stored values that are all finite, and their meaning with the number of filled voxels.

    Args:
        path: names the file in errors.
        values: ``(n, rows, columns)``; returned unchanged if nothing has to be filled.
        greys: meaning of the values; with a negative slope the highest value is the darkest.

    Raises:
        ReadError: code ``not-finite`` if more than ``MOST`` of the voxels are not finite.
    """
    if values.dtype.kind != "f":
        return values, greys
    missing = sum(int(part.size - np.count_nonzero(np.isfinite(part))) for part in values)
    if not missing:
        return values, greys
    if missing > MOST * values.size:
        raise ReadError(
            f"{path.name}: {100 * missing / values.size:.1f} % of its {values.size} voxels are NaN "
            f"or infinite; expected at most {100 * MOST:.0f} %: get the file again",
            code="not-finite",
        )
    darkest = np.min if greys.slope >= 0 else np.max
    ends = [darkest(part[np.isfinite(part)]) for part in values if np.isfinite(part).any()]
    whole = np.array(values)
    places = Mask.of(values.shape, ((k, ~np.isfinite(part)) for k, part in enumerate(whole)))
    for part in whole:
        part[~np.isfinite(part)] = darkest(ends)
    return whole, replace(greys, filled=missing, gaps=places)

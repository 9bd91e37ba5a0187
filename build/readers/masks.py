"""Masks on the stored grid of their image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build.readers import raster
from medrcube.build.readers.dispatch import content_of, read
from medrcube.build.volume import Array, stack
from medrcube.errors import ReadError
from medrcube.records import ImageRef, MaskFile

# A JPEG smears a mask of 0 and 255; halfway is the edge that was drawn.
_HALF = 127


def read_mask(mask: MaskFile, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Where a region is marked, ``(n, rows, columns)``; several files are joined.

    Without ``mask.values`` every value above zero counts (above 127 in a JPEG, whose zeros are
    not exact). With them, labels equal to one of them count: labels stored as fractions are rounded,
    and pictures with a palette count by palette index.

    Args:
        mask: files, and the values that mark the region.
        shape: shape of the image's slices; a last axis of colour is ignored.

    Raises:
        ReadError: code ``mask-size`` when a mask has another size than the image, and all
            codes of ``read``.
    """
    joined = np.zeros(shape[:3], np.bool_)
    for path in mask.paths:
        marked = _marked(path, mask)
        if marked.shape != joined.shape:
            raise ReadError(
                f"{path.name}: the mask has {_size(marked.shape)}, its image has "
                f"{_size(joined.shape)}; expected equal sizes: is it the mask of another "
                "edition of the image?",
                code="mask-size",
            )
        joined |= marked
    return joined


def _marked(path: Path, mask: MaskFile) -> NDArray[np.bool_]:
    if mask.values:
        return np.isin(_labels(path, mask), mask.values)
    volume = read(ImageRef(paths=(path,), member=mask.member))
    values = stack(volume.slices)
    if volume.colour:
        values = values.max(axis=-1)
    if content_of(path) == "raster":
        return values > (_HALF if raster.is_lossy(path) else 0)
    return np.asarray(values * volume.greys.slope + volume.greys.intercept > 0)


def _labels(path: Path, mask: MaskFile) -> Array:
    if content_of(path) == "raster":
        return raster.read_labels(path)
    volume = read(ImageRef(paths=(path,), member=mask.member))
    if volume.colour:
        raise ReadError(
            f"{path.name}: is a coloured mask, so a single pixel value selects nothing; "
            "expected grey",
            code="unsupported-format",
        )
    greys = volume.greys
    values = stack(volume.slices)
    if values.dtype.kind in "iu" and (greys.slope, greys.intercept) == (1.0, 0.0):
        return values
    return np.rint(values * greys.slope + greys.intercept)


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[0]} slice(s) of {shape[1]} rows x {shape[2]} columns"

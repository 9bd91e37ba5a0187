"""Masks, label maps, DICOM segmentations and structure sets on the stored grid of their image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build.geometry import carry_mask, same_grid
from medrcube.build.readers import dicom, raster, segmentation, structures
from medrcube.build.readers.dispatch import content_of, read
from medrcube.build.readers.recent import remember
from medrcube.build.volume import Array, Volume, stack
from medrcube.errors import ReadError
from medrcube.records import ImageRef, MaskFile

# A JPEG smears a mask of 0 and 255; halfway is the edge that was drawn.
_HALF = 127


def read_mask(mask: MaskFile, volume: Volume) -> NDArray[np.bool_]:
    """Where a region is marked, ``(n, rows, columns)``; several files are joined.

    Without ``mask.values`` every value above zero counts (above 127 in a JPEG, whose zeros are
    not exact). With them, labels equal to one of them count: labels stored as fractions are
    rounded, and pictures with a palette count by palette index. In a DICOM segmentation the
    values are segment numbers; in an RT structure set ``mask.member`` is the name of the ROI.

    A mask on another grid is carried over through both affines, each voxel from the nearest
    one; without affines only equal sizes fit.

    Args:
        mask: files, and what in them marks the region.
        volume: the image as it was read.

    Raises:
        ReadError: code ``mask-size`` when a mask has another size than the image and does not
            say where it lies; ``mask-place`` when it lies elsewhere in space; and all codes of
            ``read``, ``segmentation.read`` and ``structures.read``.
    """
    joined = np.zeros(volume.slices.shape[:3], np.bool_)
    for path in mask.paths:
        joined |= _placed(path, mask, volume)
    return joined


def _placed(path: Path, mask: MaskFile, volume: Volume) -> NDArray[np.bool_]:
    if content_of(path) == "dicom":
        kind = dicom.modality_of(path)
        if kind == "SEG":
            return segmentation.read(path, mask.values, volume)
        if kind == "RTSTRUCT":
            return structures.read(path, mask.member, volume)
    stored = _stored(path, mask.member, labels=bool(mask.values))
    marked = _marked(path, stored, mask.values)
    if same_grid(stored, volume):
        return marked
    if stored.affine is None or volume.affine is None:
        raise ReadError(
            f"{path.name}: the mask has {_size(stored)}, its image has {_size(volume)}, and not "
            "both say where they lie in space; expected equal sizes: is it the mask of another "
            "edition of the image?",
            code="mask-size",
        )
    if volume.uneven or stored.uneven:
        raise ReadError(
            f"{path.name}: lies on another grid than its image, whose slices have unequal "
            "distances; expected even ones: is the series complete?",
            code="uneven-spacing",
        )
    carried = carry_mask(marked, stored.affine, volume)
    if marked.any() and not carried.any():
        raise ReadError(
            f"{path.name}: marks nothing in its image once both are placed in space; is it the "
            "mask of this image, and are both affines true?",
            code="mask-place",
        )
    return carried


@remember
def _stored(path: Path, member: str | None, *, labels: bool) -> Volume:
    if labels and content_of(path) == "raster":
        return Volume(slices=raster.read_labels(path))
    volume = read(ImageRef(paths=(path,), member=member))
    return replace(volume, slices=stack(volume.slices))


def _marked(path: Path, stored: Volume, values: tuple[int, ...]) -> NDArray[np.bool_]:
    array = stack(stored.slices)
    if values:
        return np.isin(_labels(path, stored, array), values)
    if stored.colour:
        array = array.max(axis=-1)
    if content_of(path) == "raster":
        return array > (_HALF if raster.is_lossy(path) else 0)
    return np.asarray(array * stored.greys.slope + stored.greys.intercept > 0)


def _labels(path: Path, stored: Volume, array: Array) -> Array:
    if stored.colour:
        raise ReadError(
            f"{path.name}: is a coloured mask, so a single pixel value selects nothing; "
            "expected grey",
            code="unsupported-format",
        )
    greys = stored.greys
    if array.dtype.kind in "iu" and (greys.slope, greys.intercept) == (1.0, 0.0):
        return array
    return np.rint(array * greys.slope + greys.intercept)


def _size(volume: Volume) -> str:
    count, rows, columns = volume.slices.shape[:3]
    return f"{count} slice(s) of {rows} rows x {columns} columns"

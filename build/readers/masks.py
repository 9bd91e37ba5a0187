"""Mask reader: label maps, DICOM SEG and RTSTRUCT on the stored grid of their image."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.geometry import (
    Orientation,
    axis_mapping,
    corner_distance_mm,
    resample_mask_to,
    same_grid,
    same_positions,
    turned_affine,
)
from medrcube.build.pixels.volume import Array, PackedSlices, PixelSemantics, Volume
from medrcube.build.readers.detect_format import content_of, module_of, read
from medrcube.build.readers.last_files_cache import cache_last_files
from medrcube.build.regions.polygon_fill import fill_convex
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, MaskFile

__all__ = [
    "check_axes",
    "check_grids",
    "check_stored_alike",
    "describe_values",
    "labels_in",
    "read_mask",
]

# JPEG blurs a mask of 0 and 255; the drawn edge is halfway.
_HALF = 127
_LIST_LIMIT = 20
"""Most values that a message lists; a probability map holds thousands."""
_DICOM_MASKS = ("SEG", "RTSTRUCT")


def read_mask(mask: MaskFile, volume: Volume) -> Mask:
    """Return the mask of a region on the stored grid of its image; several files are joined.

    Several DICOM files on a volume are the slices of one series; any other file covers the grid.
    Without ``mask.values`` every value above zero counts (above 127 in a JPEG, whose zeros are not
    exact). With them, labels equal to one of them count: labels stored as fractions are rounded,
    and images with a palette count by palette index. In a DICOM segmentation the values are segment
    numbers; in an RT structure set ``mask.member`` is the name of the ROI.

    A mask must match the grid of its image: voxel for voxel in size and, if both state it, in
    position. A mask whose axes are stored in another order or direction is reoriented to those of
    the image by both affines, which is lossless. A mask drawn on another image (``mask.drawn_on``)
    matches the grid of that one and is resampled through both affines, nearest neighbour. In files
    that contain the outline of a region (``mask.outlined``) the outline and everything inside it
    count.

    Args:
        mask: files, and the values or member that mark the region.
        volume: the image as it was read.

    Raises:
        ReadError: code ``mask-size`` if a mask differs in size from the image that it was drawn on;
            ``mask-place`` if it lies elsewhere in space; ``uneven-spacing`` and ``no-position`` if
            it cannot be resampled; and all codes of ``read``, ``segmentation.read`` and
            ``structure_set.read``.
    """
    drawings = [mask.paths] if _is_series(mask, volume) else [(path,) for path in mask.paths]
    masks = [_placed(paths, mask, volume) for paths in drawings]
    if len(masks) == 1:
        return masks[0]
    pictures = (
        (k, mask_of_file[k])
        for mask_of_file in masks
        for k in range(mask_of_file.shape[0])
        if mask_of_file.marks(k)
    )
    return Mask.of(volume.slices.shape, pictures)


def _is_series(mask: MaskFile, volume: Volume) -> bool:
    several = len(mask.paths) > 1 and volume.slices.shape[0] > 1
    return several and all(
        content_of(path) == "dicom" and _kind_of(path) not in _DICOM_MASKS for path in mask.paths
    )


def _placed(paths: tuple[Path, ...], mask: MaskFile, volume: Volume) -> Mask:
    path = paths[0]
    kind = _kind_of(path)
    if kind == "SEG":
        return module_of("segmentation").read(path, mask.values, volume)  # type: ignore[no-any-return]
    if kind == "RTSTRUCT":
        return module_of("structures").read(path, mask.member, volume)  # type: ignore[no-any-return]
    mask_volume = _mask_volume(*paths, member=mask.member, labels=bool(mask.values))
    region = _mask_of_values(path, mask_volume, mask.values)
    if mask.outlined:
        region = Mask.of(
            region.shape, ((k, fill_convex(region[k])) for k in range(mask_volume.slices.shape[0]))
        )
    walk = _check_grid(path, mask_volume, mask.drawn_on, volume)
    if mask.drawn_on is not None:
        return _carried(path, region, mask_volume, volume)
    return region if walk == Orientation() else region.turned(walk.axes, walk.flips)


def _kind_of(path: Path) -> str:
    """Return the modality of a DICOM file; empty for others."""
    if content_of(path) != "dicom":
        return ""
    from medrcube.build.readers.dicom.opening import modality_of  # noqa: PLC0415 - slow to load

    return modality_of(path)


def labels_in(mask: MaskFile) -> tuple[float, ...]:
    """Return the values in label-map files, sorted; empty if they are not label maps.

    Raises:
        ReadError: as ``read_mask``.
    """
    return _values_in(mask) if mask.values else ()


def describe_values(mask: MaskFile) -> str:
    """Describe the values in mask files and those that would mark a region, for display.

    Returns:
        The description; empty for DICOM SEG and RTSTRUCT.

    Raises:
        ReadError: as ``read_mask``.
    """
    values = _values_in(mask)
    if not values:
        return ""
    lossy = any(
        content_of(path) == "raster" and module_of("raster").is_lossy(path) for path in mask.paths
    )
    numbers = ", ".join(f"{value:g}" for value in values[:_LIST_LIMIT])
    more = f" and {len(values) - _LIST_LIMIT:,} more" if len(values) > _LIST_LIMIT else ""
    expected = " or ".join(map(str, mask.values)) or f"more than {_HALF if lossy else 0}"
    return f"the mask holds {numbers}{more}; expected {expected}"


def _values_in(mask: MaskFile) -> tuple[float, ...]:
    values: set[float] = set()
    for path in mask.paths:
        if _kind_of(path) in _DICOM_MASKS:  # segment numbers and names, not stored values
            continue
        mask_volume = _mask_volume(path, member=mask.member, labels=bool(mask.values))
        for k in range(mask_volume.slices.shape[0]):
            values.update(np.unique(_labels(mask_volume.greys, mask_volume.slices[k])).tolist())
    return tuple(sorted(values))


def check_grids(mask: MaskFile, volume: Volume) -> None:
    """Reject masks whose grid differs from that of their image, without reading pixels.

    Raises:
        ReadError: as ``read_mask``.
    """
    for path in mask.paths:
        if content_of(path) != "dicom":
            mask_volume = read(ImageRef(paths=(path,), member=mask.member), forward=True)
            _check_grid(path, mask_volume, mask.drawn_on, volume)


def check_axes(mask: MaskFile, volume: Volume) -> None:
    """Reject masks whose axes may differ from those of their image, if affines prove nothing.

    A dummy affine does not reveal whether a mask is reoriented, so both files must state the same
    affine, or neither may state one.

    Raises:
        ReadError: code ``mask-place``, and all codes of ``read``.
    """
    for path in mask.paths:
        if content_of(path) not in {"nifti", "metaimage", "nrrd"}:
            continue
        mask_volume = read(ImageRef(paths=(path,), member=mask.member), forward=True)
        check_stored_alike(path.name, mask_volume, volume, "its image")


def check_stored_alike(
    name: str, first: Volume, second: Volume, whose: str = "the image beside it"
) -> None:
    """Reject two volumes of one body whose dummy affines differ.

    Raises:
        ReadError: code ``mask-place``.
    """
    shapes = first.slices.shape[:3], second.slices.shape[:3]
    if sorted(shapes[0]) != sorted(shapes[1]) or (first.affine is None and second.affine is None):
        return  # sizes differ in any orientation, so they belong to different volumes
    if first.affine is None or second.affine is None:
        difference = "only one of the two states its position in space"
    elif shapes[0] != shapes[1]:
        difference = f"their axes have {shapes[0]} and {shapes[1]} voxels"
    elif same_positions(first.affine, second.affine, shapes[0]):
        return
    else:
        apart = corner_distance_mm(first.affine, second.affine, shapes[0])
        difference = f"their affines place corners up to {apart:.1f} mm apart"
    raise ReadError(
        f"{name}: may be rotated or mirrored relative to {whose}: {difference}; expected equal "
        "affines, since affines of this source do not prove the direction: get both files from "
        "the release",
        code="mask-place",
    )


def _check_grid(
    path: Path, mask_volume: Volume, drawn_on: Path | None, volume: Volume
) -> Orientation:
    """Return the reorientation of the axes of a mask to those of its image."""
    if drawn_on is None:
        image, whose = volume, "its image"
    else:
        image, whose = read(ImageRef(paths=(drawn_on,)), forward=True), drawn_on.name
    if same_grid(mask_volume, image):
        return Orientation()
    if mask_volume.affine is not None and image.affine is not None:
        walk = axis_mapping(mask_volume.affine, image.affine)
        if walk is not None and _fits(walk, mask_volume, image):
            return walk
    sizes = mask_volume.slices.shape[:3], image.slices.shape[:3]
    if sizes[0] != sizes[1] or mask_volume.affine is None or image.affine is None:
        raise ReadError(
            f"{path.name}: the mask has {_size(mask_volume)}, {whose} has {_size(image)}; expected "
            "equal sizes: is it the mask of another edition of the image?",
            code="mask-size",
        )
    apart = corner_distance_mm(mask_volume.affine, image.affine, sizes[0])
    raise ReadError(
        f"{path.name}: the mask and {whose} have equal sizes, but their affines place a corner "
        f"{apart:.1f} mm apart; expected less than half a voxel: is it the "
        "mask of this image, and are both affines correct?",
        code="mask-place",
    )


def _fits(walk: Orientation, mask_volume: Volume, image: Volume) -> bool:
    shape = tuple(mask_volume.slices.shape[axis] for axis in walk.axes)
    if shape != image.slices.shape[:3] or mask_volume.affine is None or image.affine is None:
        return False
    turned = turned_affine(mask_volume.affine, walk, mask_volume.slices.shape)
    return same_positions(turned, image.affine, shape)


def _carried(path: Path, region: Mask, mask_volume: Volume, volume: Volume) -> Mask:
    if mask_volume.affine is None or volume.affine is None:
        raise ReadError(
            f"{path.name}: was drawn on another image, and not both state their position in space",
            code="no-position",
        )
    if volume.uneven or mask_volume.uneven:
        raise ReadError(
            f"{path.name}: was drawn on another image, and one of the two has unevenly spaced "
            "slices; expected even spacing: is the series complete?",
            code="uneven-spacing",
        )
    carried = resample_mask_to(region, mask_volume.affine, volume)
    if region.any() and not carried.any():
        raise ReadError(
            f"{path.name}: does not overlap its image once both are placed in space; is it the "
            "mask of this image, and are both affines correct?",
            code="mask-place",
        )
    return carried


@cache_last_files
def _mask_volume(path: Path, *further: Path, member: str | None, labels: bool) -> Volume:
    if labels and content_of(path) == "raster":
        return Volume(slices=PackedSlices(module_of("raster").read_labels(path)))
    volume = read(ImageRef(paths=(path, *further), member=member), forward=True)
    if volume.greys.filled:
        raise ReadError(
            f"{path.name}: {volume.greys.filled} voxels of the mask are NaN or infinite, so "
            "whether a region is there is unknown; get the file again",
            code="not-finite",
        )
    return replace(volume, slices=PackedSlices(volume.slices))


def _mask_of_values(path: Path, mask_volume: Volume, values: tuple[int, ...]) -> Mask:
    marks = _rule(path, mask_volume, values)

    def pictures() -> Iterator[tuple[int, NDArray[np.bool_]]]:
        for k in range(mask_volume.slices.shape[0]):
            picture = mask_volume.slices[k]
            yield k, marks(picture.max(axis=-1) if mask_volume.colour else picture)

    return Mask.of(mask_volume.slices.shape, pictures())


def _rule(
    path: Path, mask_volume: Volume, values: tuple[int, ...]
) -> Callable[[Array], NDArray[np.bool_]]:
    """Return a predicate for the stored values that mark the region, applied slice by slice."""
    if values:
        _check_grey(path, mask_volume)
        return lambda picture: np.isin(_labels(mask_volume.greys, picture), values)
    if content_of(path) == "raster":
        least = _HALF if module_of("raster").is_lossy(path) else 0
        return partial(np.less, least)
    slope, intercept = mask_volume.greys.slope, mask_volume.greys.intercept
    if (slope, intercept) == (1.0, 0.0):
        return partial(np.less, 0)
    return lambda picture: np.asarray(picture * slope + intercept > 0)


def _check_grey(path: Path, mask_volume: Volume) -> None:
    if mask_volume.colour:
        raise ReadError(
            f"{path.name}: is a colour mask, so a single pixel value selects nothing; expected "
            "greyscale",
            code="unsupported-format",
        )


def _labels(greys: PixelSemantics, array: Array) -> Array:
    if array.dtype.kind in "iu" and (greys.slope, greys.intercept) == (1.0, 0.0):
        return array
    return np.rint(array * greys.slope + greys.intercept)


def _size(volume: Volume) -> str:
    count, rows, columns = volume.slices.shape[:3]
    return f"{count} slice(s) of {rows} rows x {columns} columns"

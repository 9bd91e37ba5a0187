"""Volume geometry: display orientation, square pixels, grid comparison and resampling.

Orientation comes from the affine alone. Images follow the radiological convention: the patient's
right is on the left of axial and coronal images.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from medrcube.build.execution.lean_imports import lean_import
from medrcube.build.pixels.volume import Array, LazySlices, SliceStack, Volume, stack_slices
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError

__all__ = [
    "Orientation",
    "axis_mapping",
    "corner_distance_mm",
    "index_map",
    "nearest_index",
    "orientation_of",
    "reorient",
    "resample_mask",
    "resample_mask_to",
    "resample_picture",
    "same_grid",
    "same_positions",
    "square_size",
    "tilt_of",
    "turned",
    "turned_affine",
]

_RIGHT_LEFT, _POSTERIOR_ANTERIOR, _INFERIOR_SUPERIOR = 0, 1, 2
# Axes of an image (slice, row, column) as (RAS axis, sign of the direction along it).
_TARGETS = {
    "axial": ((_INFERIOR_SUPERIOR, 1), (_POSTERIOR_ANTERIOR, -1), (_RIGHT_LEFT, -1)),
    "coronal": ((_POSTERIOR_ANTERIOR, -1), (_INFERIOR_SUPERIOR, -1), (_RIGHT_LEFT, -1)),
    "sagittal": ((_RIGHT_LEFT, -1), (_INFERIOR_SUPERIOR, -1), (_POSTERIOR_ANTERIOR, -1)),
}
_PLANE_OF_NORMAL = {
    _INFERIOR_SUPERIOR: "axial",
    _POSTERIOR_ANTERIOR: "coronal",
    _RIGHT_LEFT: "sagittal",
}
_SQUARE_ENOUGH = 0.01
# Relative tolerance of spacings: single precision, in which NIfTI stores its affine, has seven
# digits.
_DIGITS = 5
# Half a voxel at every corner: below it, the nearest voxel is the one with the same index, so
# that noise of float32 headers, and of spacings written with three decimals, moves no mark.
_SAME_GRID = 0.5
# Cosine between two axes above which a cut across the stored slices is visibly slanted (1 degree).
_SLANTED = 0.0175


@dataclass(frozen=True, slots=True)
class Orientation:
    """Mapping of stored axes (slice, row, column) to those of an image stack.

    Attributes:
        axes: stored axis of each new axis.
        flips: whether the new axis runs against the stored one.
    """

    axes: tuple[int, int, int] = (0, 1, 2)
    flips: tuple[bool, bool, bool] = (False, False, False)

    @property
    def keeps_slices(self) -> bool:
        """Whether each new image is one stored image, rotated or mirrored."""
        return self.axes[0] == 0

    def apply(self, array: Array) -> Array:
        """Return a reoriented view of ``(n, rows, columns)`` or ``(n, rows, columns, 3)``."""
        turned = array.transpose(*self.axes, *range(3, array.ndim))
        return turned[tuple(slice(None, None, -1 if flip else 1) for flip in self.flips)]


def orientation_of(volume: Volume, plane: str, orient: str = "affine") -> Orientation:
    """Return the orientation that makes the slices of a volume images of a plane.

    A volume that is one voxel thick is always shown in its own plane: any other cut would be a
    line. A volume without an affine stays as stored.

    Args:
        volume: as read.
        plane: ``axial``, ``coronal`` or ``sagittal``.
        orient: ``affine``; ``in-plane`` for the stored slices, each oriented as in the nearest
            plane of the body; or ``stored`` for no change at all.
    """
    if orient == "stored" or volume.affine is None:
        return Orientation()
    if orient not in {"affine", "in-plane"}:
        raise ValueError(f"orient is {orient!r}; expected 'affine', 'in-plane' or 'stored'")
    # Imported on first use: most sources are images without an affine and do not need nibabel.
    orientations = lean_import("nibabel.orientations", "nibabel")
    walk = orientations.io_orientation(volume.affine).astype(int)
    anatomy = [int(axis) for axis in walk[:, 0]]
    thin = [axis for axis in range(3) if volume.slices.shape[axis] == 1]
    if orient == "in-plane":
        plane = _PLANE_OF_NORMAL[anatomy[0]]
    elif len(thin) == 1:
        plane = _PLANE_OF_NORMAL[anatomy[thin[0]]]
    targets = _TARGETS[plane]
    axes = tuple(anatomy.index(axis) for axis, _ in targets)
    flips = tuple(
        bool(walk[axis, 1] != sign) for axis, (_, sign) in zip(axes, targets, strict=True)
    )
    return Orientation(axes, flips)  # type: ignore[arg-type]


def reorient(volume: Volume, plane: str, orient: str = "affine") -> Volume:
    """Return the volume with ``slices[k]`` as a radiologist sees it.

    Axial: rows anterior to posterior, columns patient right to left, slices inferior to superior.
    Coronal: rows superior to inferior, columns right to left, slices anterior to posterior.
    Sagittal: rows superior to inferior, columns anterior to posterior, slices right to left. Arrays
    are viewed, not copied; lazy slices are decoded as a whole only if the plane cuts across them.

    Raises:
        ReadError: code ``uneven-spacing`` or ``slanted-slices`` if the plane cuts across stored
            slices that are unevenly spaced or sheared.
    """
    return turned(volume, orientation_of(volume, plane, orient), plane)


def turned(volume: Volume, orientation: Orientation, plane: str) -> Volume:
    """Return the volume in an orientation that was found for it; see ``reorient``."""
    if orientation == Orientation():
        return volume
    if not orientation.keeps_slices:
        _check_box(volume, plane)
    slices = volume.slices
    if not isinstance(slices, np.ndarray) and orientation.keeps_slices:
        view: SliceStack = _TurnedSlices(slices, orientation)
    else:
        view = orientation.apply(stack_slices(slices))
    spacing = volume.spacing
    if spacing is not None:
        spacing = (
            spacing[orientation.axes[0]],
            spacing[orientation.axes[1]],
            spacing[orientation.axes[2]],
        )
    affine = volume.affine
    if affine is not None:
        affine = turned_affine(affine, orientation, slices.shape)
    return replace(
        volume,
        slices=view,
        spacing=spacing,
        affine=affine,
        slice_ids=_turned_ids(volume, orientation),
    )


def tilt_of(volume: Volume) -> float:
    """Return the angle in degrees between the slices of a volume and the nearest plane of the body.

    Args:
        volume: with an affine.
    """
    if volume.affine is None:
        raise ValueError("the volume has no affine")
    normal = np.cross(volume.affine[:3, 1], volume.affine[:3, 2])
    nearest = np.abs(normal).max() / np.linalg.norm(normal)
    return float(np.degrees(np.arccos(min(nearest, 1.0))))


def square_size(
    height: int, width: int, row_spacing: float, column_spacing: float
) -> tuple[int, int]:
    """Return the size of an image with square pixels; the finer spacing is kept.

    Pixels whose height is within 1 % of their width are unchanged. From 50 pixels a side upwards
    the error of the aspect ratio is below 1 %.

    Args:
        height: rows.
        width: columns.
        row_spacing: distance between rows.
        column_spacing: distance between columns, in the same unit.

    Raises:
        ValueError: a spacing is not a positive number.
    """
    if not (0 < row_spacing < np.inf and 0 < column_spacing < np.inf):
        raise ValueError(f"spacing {row_spacing} x {column_spacing}: expected positive numbers")
    # Axis lengths of a rotated affine carry noise, which must not decide how a half is rounded.
    tall = round(row_spacing / column_spacing, _DIGITS)
    wide = round(column_spacing / row_spacing, _DIGITS)
    if abs(tall - 1) < _SQUARE_ENOUGH:
        return (height, width)
    if tall > 1:
        return (round(height * tall), width)
    return (height, round(width * wide))


def resample_picture(picture: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """Resize a uint8 image to ``(height, width)``, bilinear.

    Pillow resamples 8-bit images in integer arithmetic, so every platform gives the same pixels.
    """
    if picture.shape[:2] == size:
        return picture
    image = Image.fromarray(np.ascontiguousarray(picture))
    return np.asarray(image.resize((size[1], size[0]), Image.Resampling.BILINEAR))


def resample_mask(mask: NDArray[np.bool_], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Resize a mask to ``(height, width)``, nearest neighbour by pixel centres."""
    if mask.shape == size:
        return mask
    rows, columns = (
        ((2 * np.arange(new) + 1) * old) // (2 * new)
        for new, old in zip(size, mask.shape, strict=True)
    )
    return mask[np.ix_(rows, columns)]


def same_grid(first: Volume, second: Volume) -> bool:
    """Whether two volumes have equal shapes and, if both state it, equal positions in space.

    Positions are equal if no corner is half a voxel or more off along any axis.
    """
    shape = first.slices.shape[:3]
    if shape != second.slices.shape[:3]:
        return False
    if first.affine is None or second.affine is None:
        return True
    return same_positions(first.affine, second.affine, shape)


def same_positions(
    first: NDArray[np.float64], second: NDArray[np.float64], shape: tuple[int, ...]
) -> bool:
    """Whether two affines put no corner of a grid half a voxel or more apart along any axis."""
    moved = _corners(shape[:3]) @ (index_map(first, second) - np.eye(4)).T
    return bool(np.abs(moved).max() < _SAME_GRID)


def axis_mapping(source: NDArray[np.float64], target: NDArray[np.float64]) -> Orientation | None:
    """Return the permutation and flips that map the axes of one grid to those of another.

    Args:
        source: 4 x 4, of the grid to be reoriented.
        target: 4 x 4, of the grid to match.

    Returns:
        ``None`` if an axis of one is parallel to none of the other.
    """
    steps = index_map(source, target)[:3, :3]
    axes = tuple(int(axis) for axis in np.abs(steps).argmax(axis=1))
    if sorted(axes) != [0, 1, 2]:
        return None
    flips = tuple(bool(steps[new, old] < 0) for new, old in enumerate(axes))
    return Orientation(axes, flips)  # type: ignore[arg-type]


def turned_affine(
    affine: NDArray[np.float64], orientation: Orientation, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Return the affine of a reoriented array of ``shape``; every voxel keeps its position."""
    return np.asarray(affine @ _to_stored_index(orientation, shape))


def corner_distance_mm(
    first: NDArray[np.float64], second: NDArray[np.float64], shape: tuple[int, ...]
) -> float:
    """Return the greatest distance in mm between equal corners of two grids of one shape."""
    moved = _corners(shape[:3]) @ (first - second).T
    return float(np.linalg.norm(moved[:, :3], axis=1).max())


def index_map(source: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the 4 x 4 matrix from indices of one grid to those of another at equal positions."""
    return np.asarray(np.linalg.inv(target) @ source)


def nearest_index(coordinate: Array | float) -> NDArray[np.intp]:
    """Return the voxel that contains a position; the border of two belongs to the upper one.

    Floating-point noise is removed first, so that every platform finds the same voxel.
    """
    return np.asarray(np.floor(np.round(coordinate, 6) + 0.5), np.intp)


def resample_mask_to(mask: Mask, affine: NDArray[np.float64], volume: Volume) -> Mask:
    """Resample a mask to the grid of another volume, nearest neighbour.

    Voxels outside the mask's grid are not marked.

    Args:
        mask: on its own grid.
        affine: of the mask.
        volume: volume of the target grid; it must have an affine.
    """
    if volume.affine is None:
        raise ValueError("the volume has no affine")
    shape = volume.slices.shape[:3]
    matrix = index_map(volume.affine, affine)
    rows, columns = np.arange(shape[1])[:, None], np.arange(shape[2])[None]

    def carried(k: int) -> NDArray[np.bool_]:
        places = (
            nearest_index(
                matrix[axis, :3] @ (k, 0, 0)
                + matrix[axis, 3]
                + matrix[axis, 1] * rows
                + matrix[axis, 2] * columns
            )
            for axis in range(3)
        )
        return mask.at(*places)

    return Mask.of(shape, ((k, carried(k)) for k in range(shape[0])))


class _TurnedSlices(LazySlices):
    """Lazy slices, each reoriented on access."""

    def __init__(self, slices: SliceStack, orientation: Orientation) -> None:
        shape = slices.shape
        super().__init__((*(shape[axis] for axis in orientation.axes), *shape[3:]), slices.dtype)
        self._slices = slices
        self._orientation = orientation

    def _picture(self, k: int) -> Array:
        last = self._slices.shape[0] - 1
        picture = self._slices[last - k if self._orientation.flips[0] else k]
        turned: Array = self._orientation.apply(picture[None])[0]
        return turned


def _check_box(volume: Volume, plane: str) -> None:
    if volume.uneven:
        raise ReadError(
            f"its slices are unevenly spaced, so a {plane} image across them would be "
            "stretched; expected even spacing: is the series complete?",
            code="uneven-spacing",
        )
    if volume.affine is None:
        return
    axes = volume.affine[:3, :3] / np.linalg.norm(volume.affine[:3, :3], axis=0)
    if np.abs(axes.T @ axes - np.eye(3)).max() > _SLANTED:
        raise ReadError(
            f"its slices are sheared against each other (gantry tilt?), so a {plane} image "
            "across them would be skewed; use the plane of acquisition",
            code="slanted-slices",
        )


def _turned_ids(volume: Volume, orientation: Orientation) -> Mapping[str, int]:
    if not orientation.keeps_slices:
        return MappingProxyType({})
    last = volume.slices.shape[0] - 1
    flip = orientation.flips[0]
    places = [(last - k if flip else k, uid) for uid, k in volume.slice_ids.items()]
    return MappingProxyType({uid: k for k, uid in sorted(places, key=lambda pair: pair[0])})


def _corners(shape: tuple[int, ...]) -> NDArray[np.float64]:
    ends = [(0, size - 1) for size in shape]
    return np.array([(*corner, 1.0) for corner in product(*ends)])


def _to_stored_index(orientation: Orientation, shape: tuple[int, ...]) -> NDArray[np.float64]:
    matrix = np.zeros((4, 4))
    matrix[3, 3] = 1
    for new, (old, flip) in enumerate(zip(orientation.axes, orientation.flips, strict=True)):
        matrix[old, new] = -1 if flip else 1
        matrix[old, 3] = shape[old] - 1 if flip else 0
    return matrix

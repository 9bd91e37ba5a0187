"""NIfTI masks: voxel counts and slice positions, for ``frames`` hooks of adapters.

Voxels are reoriented to right, anterior, superior (RAS) by the affine; slices are counted in the
order in which the build displays a plane.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.errors import ReadError, RefusedError
from medrcube.sources._formats.tables.contents import MOST_BYTES

__all__ = ["VoxelMask", "load_labels", "middle_of_most", "slice_at"]

# Axis of the normal of each plane, and whether slices are shown against that axis: inferior to
# superior, anterior to posterior, right to left.
_NORMALS = {"axial": (2, False), "coronal": (1, True), "sagittal": (0, True)}
# In slices: a point within the first or last slice, whose thickness is the slice distance.
_BESIDE = 0.5 + 1e-6
_LIST_LIMIT = 20  # a probability map holds thousands of values


@dataclass(frozen=True, slots=True, eq=False)
class VoxelMask:
    """Binary mask.

    Attributes:
        voxels: ``(right, anterior, superior)``.
        affine: 4 x 4, index to RAS+ mm.
        instead: if nothing is marked, the values that the file has instead of the requested ones.
    """

    voxels: NDArray[np.bool_]
    affine: NDArray[np.float64]
    instead: str = ""

    def areas(self, plane: str) -> NDArray[np.int64]:
        """Return the number of marked voxels on each slice of a plane, in display order."""
        axis, reverse = _NORMALS[plane]
        across = tuple(other for other in range(3) if other != axis)
        areas: NDArray[np.int64] = np.asarray(self.voxels.sum(axis=across, dtype=np.int64))
        return areas[::-1] if reverse else areas

    def pixel_area(self, plane: str) -> float:
        """Return the area in mm² of one voxel on a slice of a plane."""
        axis, _ = _NORMALS[plane]
        across = np.delete(np.linalg.norm(self.affine[:3, :3], axis=0), axis)
        return float(across.prod())

    def largest(self, plane: str, *, least: int = 1) -> int:
        """Return the slice with the most marked voxels, the first of equals, in display order.

        Raises:
            RefusedError: code ``no-slice`` when no slice has at least ``least``.
        """
        areas = self.areas(plane)
        best = int(areas.argmax())
        if areas[best] < least:
            raise RefusedError(
                f"the largest {plane} slice of the mask has {areas[best]} marked voxels; expected "
                f"at least {least}, fewer cannot be seen{self.instead}",
                code="no-slice",
            )
        return best

    def centre(self) -> NDArray[np.float64]:
        """Return the centroid of the marked voxels in RAS+ mm.

        Raises:
            ReadError: code ``empty-mask`` if nothing is marked.
        """
        places = np.argwhere(self.voxels)
        if not len(places):
            raise ReadError(f"the mask marks no voxel{self.instead}", code="empty-mask")
        return np.asarray(self.affine[:3, :3] @ places.mean(axis=0) + self.affine[:3, 3])

    def places_on(self, volume: Any) -> NDArray[np.intp]:
        """Return ``(n, 3)``: slice, row and column of each marked voxel in a displayed volume.

        Args:
            volume: as for ``slice_at``, with an affine.
        """
        matrix = np.linalg.inv(volume.affine) @ self.affine
        places = np.argwhere(self.voxels) @ matrix[:3, :3].T + matrix[:3, 3]
        return np.asarray(np.rint(places), np.intp)

    def centre_of_slice(self, plane: str, index: int) -> NDArray[np.float64]:
        """Return the centre of a slice, counted in display order, in RAS+ mm."""
        axis, reverse = _NORMALS[plane]
        place = (np.asarray(self.voxels.shape, np.float64) - 1) / 2
        place[axis] = self.voxels.shape[axis] - 1 - index if reverse else index
        return np.asarray(self.affine[:3, :3] @ place + self.affine[:3, 3])


@dataclass(frozen=True, slots=True, eq=False)
class LabelVolume:
    """Label volume: every voxel has the value of its structure.

    Attributes:
        values: ``(right, anterior, superior)`` as stored.
        affine: 4 x 4, index to RAS+ mm.
    """

    values: NDArray[Any]
    affine: NDArray[np.float64]

    def mask_of(self, *values: int) -> VoxelMask:
        """Return the mask of some values; without arguments, of all voxels above 0.5."""
        whole = self.values if self.values.dtype.kind in "iu" else np.rint(self.values)
        voxels = np.isin(whole, values) if values else self.values > 0.5
        instead = "" if voxels.any() else self._instead(values)
        return VoxelMask(voxels=voxels, affine=self.affine, instead=instead)

    def check_values(self, path: Path, *values: int) -> None:
        """Reject a volume with values other than these and 0.

        Raises:
            RefusedError: code ``label-order``.
        """
        strange = sorted(set(np.unique(self.values).tolist()) - {0, *values})
        if strange:
            raise RefusedError(
                f"{path.name}: holds {', '.join(f'{value:g}' for value in strange[:_LIST_LIMIT])}; "
                f"expected 0, {' or '.join(map(str, values))}: is this a copy with colours, or of "
                "another dataset?",
                code="label-order",
            )

    def _instead(self, values: tuple[int, ...]) -> str:
        listing = ", ".join(f"{value:g}" for value in np.unique(self.values)[:_LIST_LIMIT])
        return f": it holds {listing}; expected {' or '.join(map(str, values)) or 'more than 0.5'}"

    def strays(self, *values: int) -> VoxelMask:
        """Return voxels of some values outside the largest component (face connectivity)."""
        import SimpleITK  # noqa: PLC0415

        library: Any = SimpleITK
        voxels = self.mask_of(*values).voxels
        if voxels.any():
            box = tuple(slice(place.min(), place.max() + 1) for place in np.nonzero(voxels))
            inside = library.GetImageFromArray(voxels[box].astype(np.uint8))
            parts = library.GetArrayFromImage(library.ConnectedComponent(inside))
            sizes = np.bincount(parts.ravel())
            sizes[0] = 0
            voxels = np.zeros_like(voxels)
            voxels[box] = (parts > 0) & (parts != sizes.argmax())
        return VoxelMask(voxels=voxels, affine=self.affine)


def load_labels(path: Path) -> LabelVolume:
    """Read a label volume or a mask.

    Raises:
        ReadError: code ``unreadable`` if the file is damaged or not a single volume, ``too-large``
            if its header states more than ``MOST_BYTES``.
    """
    import nibabel  # noqa: PLC0415

    library: Any = nibabel
    try:
        nifti = library.load(path)
        _check_size(path, nifti)
        image = library.as_closest_canonical(nifti)
        values = np.asarray(image.dataobj)
    except (OSError, EOFError, ValueError, zlib.error, library.filebasedimages.ImageFileError) as e:
        raise ReadError(
            f"{path.name}: cannot be read as a mask ({type(e).__name__}); get the file again",
            code="unreadable",
        ) from e
    if values.ndim != 3:
        raise ReadError(
            f"{path.name}: the mask has {values.ndim} dimensions; expected 3", code="unreadable"
        )
    return LabelVolume(values=values, affine=np.asarray(image.affine, np.float64))


def _check_size(path: Path, image: Any) -> None:
    """Reject a volume by its header, because blank masks compress as well as zip bombs."""
    size = math.prod(map(int, image.shape)) * int(image.get_data_dtype().itemsize)
    if not 0 <= size <= MOST_BYTES:
        raise ReadError(
            f"{path.name}: declares {size} bytes of voxels; expected at most {MOST_BYTES}: its "
            "header is damaged, or crafted to exhaust memory",
            code="too-large",
        )


def middle_of_most(masks: Mapping[str, VoxelMask], plane: str, *, least: int, share: float) -> int:
    """Return the middle of the slices that show most of some structures, in display order.

    Args:
        masks: structure name -> mask, all on one grid; at least one.
        plane: plane of the slices.
        least: minimum number of voxels for a slice to show a structure.
        share: share of the structures that a slice must show.

    Raises:
        RefusedError: code ``no-slice`` if no slice shows that share.
    """
    structures = np.sum([mask.areas(plane) >= least for mask in masks.values()], axis=0)
    most = int(structures.max())
    if most < share * len(masks):
        raise RefusedError(
            f"no {plane} slice shows more than {most} of {len(masks)} structures; expected "
            f"{100 * share:.0f} % of {', '.join(masks)}: this part of the body lies outside the "
            "field of view, or was not found",
            code="no-slice",
        )
    best = np.flatnonzero(structures == most)
    return int(best[len(best) // 2])


def slice_at(volume: Any, place: NDArray[np.float64]) -> int:
    """Return the slice of a displayed volume nearest to a point in RAS+ mm.

    Args:
        volume: volume passed to the ``frames`` hook, whose ``affine`` maps (slice, row, column) to
            mm.
        place: point in RAS+ mm.

    Raises:
        ReadError: code ``no-affine`` if the file does not state the directions of its axes.
        RefusedError: code ``no-slice`` if the point is outside its slices.
    """
    count = volume.slices.shape[0]
    if volume.affine is None:
        raise ReadError(
            "the file does not state the directions of its axes (neither sform nor qform), so no "
            "plane can be cut; is this another edition of the volume?",
            code="no-affine",
        )
    index = float((np.linalg.inv(volume.affine) @ np.append(place, 1.0))[0])
    if not -_BESIDE <= index <= count - 1 + _BESIDE:
        raise RefusedError(
            f"the requested position lies {max(-index, index - count + 1):.1f} slices beyond the "
            f"{count} slices of the volume; expected it within them",
            code="no-slice",
        )
    return int(np.clip(round(index), 0, count - 1))

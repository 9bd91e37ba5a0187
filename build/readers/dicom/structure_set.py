"""RT structure set reader (PS3.3 C.8.8.5, C.8.8.6): contours of one ROI, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom import dcmread
from pydicom.dataset import Dataset

from medrcube.build.pixels.geometry import nearest_index
from medrcube.build.pixels.volume import Volume
from medrcube.build.readers.dicom.opening import check_deflated, damaged_elements
from medrcube.build.readers.last_files_cache import cache_last_files
from medrcube.build.readers.read_errors import check_frame_of_reference, unsupported
from medrcube.build.regions import polygon_fill
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError
from medrcube.sources._formats.dicom.quiet_pydicom import silent_pydicom

__all__ = ["read"]

_TAGS = ["FrameOfReferenceUID", "StructureSetROISequence", "ROIContourSequence"]
_CLOSED = ("CLOSED_PLANAR", "CLOSEDPLANAR_XOR")
_LPS_TO_RAS = np.array([-1.0, -1.0, 1.0])
# Largest extent of a contour across slices, in slices; if larger, it was drawn on other slices.
_FLAT = 0.25
# Largest coordinate of a contour in mm; nothing that is scanned is a kilometre long.
_FAR = 1e6


@dataclass(frozen=True, slots=True)
class _Loop:
    """One contour: ``(m, 3)`` corners in RAS mm, and the slices that it names."""

    closed: bool
    corners: NDArray[np.float64]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Roi:
    """Contours of one ROI, and the frame of reference of their coordinates."""

    space: str
    loops: tuple[_Loop, ...]


@silent_pydicom()
def read(path: Path, name: str | None, volume: Volume) -> Mask:
    """Return the mask of one ROI's contours, on the stored grid of the image.

    A pixel is inside if its centre is. Several contours on one slice are combined by exclusive or,
    so that holes stay open whether they are drawn as separate contours or with a keyhole. Contours
    beyond the first and last slice are left out.

    Args:
        path: a structure set.
        name: exact name of the ROI.
        volume: the image as it was read.

    Raises:
        ReadError: code ``missing-member`` or ``ambiguous-member`` for the name,
            ``frame-of-reference`` if they were drawn in another space, ``no-position`` or
            ``uneven-spacing`` if the image has no usable position in space, ``mask-place`` if the
            contours do not lie on its slices, ``unknown-slice`` if they name others,
            ``unsupported-format`` for points and open contours, ``unreadable``.
    """
    if volume.affine is None or volume.uneven:
        raise ReadError(
            f"{path.name}: has contours in space, but the slices of its image "
            f"{'are unevenly spaced' if volume.uneven else 'have no positions'}",
            code="uneven-spacing" if volume.uneven else "no-position",
        )
    rois = _parse(path)
    matches = rois.get(name or "")
    if matches is None:
        raise ReadError(
            f"{path.name}: has no ROI named {name!r} among its {len(rois)}; the adapter "
            "must give one, exactly as written, as MaskFile.member",
            code="missing-member",
        )
    if len(matches) > 1:
        raise ReadError(
            f"{path.name}: has {len(matches)} ROIs named {name!r}; expected one",
            code="ambiguous-member",
        )
    check_frame_of_reference(path, matches[0].space, volume)
    loops = matches[0].loops
    if not all(loop.closed for loop in loops):
        raise unsupported(path, f"has points or open contours in {name!r}; expected closed ones")
    return _rasterise(path, loops, volume, volume.affine)


def _rasterise(
    path: Path, loops: tuple[_Loop, ...], volume: Volume, affine: NDArray[np.float64]
) -> Mask:
    count, rows, columns = volume.slices.shape[:3]
    inverse = np.linalg.inv(affine)
    heights: dict[int, list[float]] = {}
    lines_of: dict[int, list[polygon_fill.Points]] = {}
    for loop in loops:
        index = loop.corners @ inverse[:3, :3].T + inverse[:3, 3]
        height = float(index[:, 0].mean())
        if np.ptp(index[:, 0]) > 0.5:
            raise ReadError(
                f"{path.name}: a contour crosses the slices of the image; expected contours within "
                "slices",
                code="mask-place",
            )
        k = _slice_of(path, loop, height, volume)
        heights.setdefault(k, []).append(height)
        if 0 <= k < count:
            # Coordinates are rounded decimals: what is almost at a pixel's centre is at it.
            points = [(float(x), float(y)) for y, x in np.round(index[:, 1:], 6)]
            lines_of.setdefault(k, []).append(points)
    _check_heights(path, heights)

    def enclosed(lines: Sequence[polygon_fill.Points]) -> NDArray[np.bool_]:
        picture = np.zeros((rows, columns), np.bool_)
        for line in lines:
            picture ^= polygon_fill.fill_polygon(line, (rows, columns))
        return picture

    return Mask.of((count, rows, columns), ((k, enclosed(lines)) for k, lines in lines_of.items()))


def _slice_of(path: Path, loop: _Loop, height: float, volume: Volume) -> int:
    nearest = int(nearest_index(height))
    slices = {volume.slice_ids[uid] for uid in loop.sources if uid in volume.slice_ids}
    if loop.sources and volume.slice_ids and not slices and 0 <= nearest < volume.slices.shape[0]:
        raise ReadError(
            f"{path.name}: refers to slices (SOP instance UIDs) that the image does not have; "
            "is it the structure set of this series?",
            code="unknown-slice",
        )
    if len(slices) == 1:
        k = slices.pop()
        if abs(height - k) > 0.5:
            raise ReadError(
                f"{path.name}: a contour references one slice but lies {abs(height - k):.1f} "
                "slices away from it",
                code="mask-place",
            )
        return k
    return nearest


def _check_heights(path: Path, heights: Mapping[int, list[float]]) -> None:
    """Reject contours that were drawn on slices of another thickness than the image's."""
    planes = sorted(heights)
    gaps = [after - before for before, after in pairwise(planes)]
    stacked = any(max(values) - min(values) > _FLAT for values in heights.values())
    sparse = len(gaps) > 1 and min(gaps) > 1
    if stacked or sparse:
        raise ReadError(
            f"{path.name}: its contours lie on {'finer' if stacked else 'coarser'} slices than the "
            "image has; expected the series that they were drawn on",
            code="mask-place",
        )


@cache_last_files
def _parse(path: Path) -> Mapping[str, list[_Roi]]:
    """Return every ROI by name; a name that occurs twice has two entries."""
    try:
        with path.open("rb") as file:
            check_deflated(path, file)
            data = dcmread(file, specific_tags=_TAGS, force=True)
            contours_of = {
                int(item.ReferencedROINumber): item for item in data.get("ROIContourSequence") or []
            }
            rois: dict[str, list[_Roi]] = {}
            whole = str(data.get("FrameOfReferenceUID") or "")
            for item in data.get("StructureSetROISequence") or []:
                contours = contours_of.get(int(item.ROINumber), Dataset())
                space = str(item.get("ReferencedFrameOfReferenceUID") or whole)
                roi = _Roi(space, tuple(_loops(contours)))
                rois.setdefault(str(item.ROIName), []).append(roi)
    except (MemoryError, ReadError):
        raise
    except Exception as error:  # noqa: BLE001  # damaged elements raise nearly any type
        raise damaged_elements(path, error) from None
    return rois


def _loops(roi: Dataset) -> Iterator[_Loop]:
    for contour in roi.get("ContourSequence") or []:
        closed = contour.ContourGeometricType in _CLOSED
        corners = np.asarray(contour.ContourData, np.float64).reshape(-1, 3) * _LPS_TO_RAS
        if not (len(corners) and np.abs(corners).max() < _FAR):
            raise ValueError("no finite corners")
        images = contour.get("ContourImageSequence") or []
        yield _Loop(closed, corners, tuple(str(image.ReferencedSOPInstanceUID) for image in images))

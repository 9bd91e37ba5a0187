"""Synthetic DICOM series in any storage orientation, with annotations.

``medrcube.sources._synthetic.dicom`` writes the plain axial CT for fixtures of sources; this module
rotates the stored axes, drops references or shuffles frames, for tests of the readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.dicom import uid_of
from medrcube.sources._synthetic.images import CANARY, write_dicom

Loop = Sequence[tuple[float, float]]
"""Closed contour: corners ``(x, y)`` in pixels; the centre of the first pixel is (0, 0)."""

_CT = "1.2.840.10008.5.1.4.1.1.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Geometry and identifiers of a synthetic series.

    Attributes:
        name: name from which the UIDs of series and slices are derived.
        count: number of slices.
        spacing: mm between slices, rows and columns.
        orientation: direction cosines of rows and columns, LPS.
        origin: first pixel of the first slice in LPS mm; slice k is k spacings further along the
            normal (rows x columns).
    """

    name: str
    count: int
    spacing: tuple[float, float, float] = (3.0, 1.0, 1.0)
    orientation: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    origin: tuple[float, ...] = (0.0, 0.0, 0.0)

    def slice(self, k: int) -> str:
        """Return the SOPInstanceUID of slice ``k``."""
        return uid_of(self.name, k)

    def position(self, k: int) -> list[float]:
        """Return the ImagePositionPatient of slice ``k``."""
        across = np.cross(self.orientation[:3], self.orientation[3:])
        return [float(part) for part in self.origin + across * k * self.spacing[0]]

    def place(self, k: int, loop: Loop) -> list[float]:
        """Return the ContourData of a contour on slice ``k``."""
        row, column = np.asarray(self.orientation[:3]), np.asarray(self.orientation[3:])
        first = np.asarray(self.position(k))
        _, down, along = self.spacing
        corners = [first + row * x * along + column * y * down for x, y in loop]
        return [round(float(part), 6) for corner in corners for part in corner]


TURNS = tuple(
    (*row, *column)
    for row, column in product((*np.eye(3).tolist(), *(-np.eye(3)).tolist()), repeat=2)
    if not np.dot(row, column)
)
"""Row and column directions of all 24 axis-aligned storage orientations."""


def stored_as(
    stack: Stack, turn: Sequence[float], *arrays: NDArray[Any]
) -> tuple[Stack, tuple[NDArray[Any], ...]]:
    """Return the same body as stored with other row, column and slice directions.

    Args:
        stack: axial stack with the default orientation.
        turn: one of ``TURNS``.
        arrays: ``(slices, rows, columns)`` on the grid of the stack.
    """
    row, column = np.asarray(turn[:3]), np.asarray(turn[3:])
    walks = (np.cross(row, column), column, row)
    anatomy = [int(np.flatnonzero(walk)[0]) for walk in walks]
    flips = [bool(walk[axis] < 0) for walk, axis in zip(walks, anatomy, strict=True)]
    origin = np.asarray(stack.origin, float)
    for axis, flip in zip(anatomy, flips, strict=True):
        if flip:
            origin[axis] += (arrays[0].shape[2 - axis] - 1) * stack.spacing[2 - axis]
    axes = [2 - axis for axis in anatomy]
    view = tuple(slice(None, None, -1 if flip else 1) for flip in flips)
    turned = replace(
        stack,
        count=arrays[0].shape[axes[0]],
        spacing=(stack.spacing[axes[0]], stack.spacing[axes[1]], stack.spacing[axes[2]]),
        orientation=tuple(turn),
        origin=tuple(origin.tolist()),
    )
    return turned, tuple(np.ascontiguousarray(a.transpose(axes)[view]) for a in arrays)


def write_stack(folder: Path, pixels: NDArray[Any], stack: Stack, **tags: Any) -> tuple[Path, ...]:
    """Write one file per slice, ``1-001.dcm`` etc.; return the paths in slice order.

    Args:
        folder: target; created if missing.
        pixels: ``(slices, rows, columns)`` integers.
        stack: geometry of the slices.
        tags: further data elements by keyword; ``None`` omits one.
    """
    paths = [folder / f"1-{k + 1:03d}.dcm" for k in range(len(pixels))]
    for k, (path, picture) in enumerate(zip(paths, pixels, strict=True)):
        elements: dict[str, Any] = {
            "SOPClassUID": _CT,
            "SOPInstanceUID": stack.slice(k),
            "SeriesInstanceUID": uid_of(stack.name),
            "Modality": "CT",
            "InstanceNumber": k + 1,
            "ImagePositionPatient": stack.position(k),
            "ImageOrientationPatient": list(stack.orientation),
            "PixelSpacing": list(stack.spacing[1:]),
            "SliceThickness": stack.spacing[0],
            "PixelRepresentation": int(picture.dtype.kind == "i"),
            **tags,
        }
        present = {keyword: value for keyword, value in elements.items() if value is not None}
        write_dicom(path, np.ascontiguousarray(picture), **present)
    return tuple(paths)


def write_seg(
    path: Path,
    masks: Mapping[str, NDArray[np.bool_]],
    stack: Stack,
    *,
    frames: Iterable[int] | None = None,
    references: bool = True,
    positions: bool = True,
    kind: str = "BINARY",
) -> None:
    """Write a DICOM segmentation; segments are numbered from 1 in the order of the masks.

    Args:
        path: target; parents are made.
        masks: ``(slices, rows, columns)`` of each segment, by SegmentDescription.
        stack: segmented series.
        frames: slices in the order in which each segment stores them; by default all.
        references: whether frames refer to their slice.
        positions: whether frames state their position.
        kind: ``BINARY`` (single bits), ``FRACTIONAL`` (up to 200 for a full voxel, and 60 around
            it) or ``LABELMAP`` (one frame per slice).
    """
    from pydicom.pixels.utils import pack_bits  # noqa: PLC0415

    order = tuple(range(stack.count) if frames is None else frames)
    planes = [
        (number, k, mask[k] * 1) for number, mask in enumerate(masks.values(), 1) for k in order
    ]
    if kind == "LABELMAP":
        labels = sum(number * mask for number, mask in enumerate(masks.values(), 1))
        planes = [(0, k, np.asarray(labels)[k]) for k in order]
    pictures = np.stack([picture for *_, picture in planes]).astype(np.uint8)
    if kind == "FRACTIONAL":
        pictures = np.where(pictures > 0, 200, 60).astype(np.uint8)
    bits = 1 if kind == "BINARY" else 8
    plane = {
        "PixelMeasuresSequence": _items(
            PixelSpacing=list(stack.spacing[1:]), SliceThickness=stack.spacing[0]
        ),
        "PlaneOrientationSequence": _items(ImageOrientationPatient=list(stack.orientation)),
    }
    groups = []
    for number, k, _ in planes:
        group: dict[str, Any] = {}
        if number:
            group["SegmentIdentificationSequence"] = _items(ReferencedSegmentNumber=number)
        if positions:
            group["PlanePositionSequence"] = _items(ImagePositionPatient=stack.position(k))
        if references:
            source = _items(ReferencedSOPInstanceUID=stack.slice(k))
            group["DerivationImageSequence"] = _items(SourceImageSequence=source)
        groups.extend(_items(**group))
    elements: dict[str, Any] = {
        "Modality": "SEG",
        "SegmentationType": kind,
        "SegmentSequence": [
            item
            for number, name in enumerate(masks, 1)
            for item in _items(SegmentNumber=number, SegmentDescription=name)
        ],
        "SharedFunctionalGroupsSequence": _items(**(plane if positions else {})),
        "PerFrameFunctionalGroupsSequence": groups,
        "NumberOfFrames": len(planes),
        "BitsAllocated": bits,
        "BitsStored": bits,
        "HighBit": bits - 1,
        "PixelData": pack_bits(pictures.ravel()) if bits == 1 else pictures.tobytes(),
        **({"MaximumFractionalValue": 200} if kind == "FRACTIONAL" else {}),
    }
    write_dicom(path, pictures, **elements)


def write_rtstruct(
    path: Path, rois: Mapping[str, Mapping[int, Sequence[Loop]]], stack: Stack
) -> None:
    """Write an RT structure set of closed lines, by name of the ROI and slice.

    Args:
        path: target; parents are made.
        rois: lines of each ROI; a name that ends in ``point`` is written as points.
        stack: the series that it was drawn on.
    """
    from pydicom.dataset import FileDataset, FileMetaDataset  # noqa: PLC0415
    from pydicom.uid import UID, ExplicitVRLittleEndian  # noqa: PLC0415

    names, contour_items = [], []
    for number, (name, slices) in enumerate(rois.items(), 1):
        names.extend(_items(ROINumber=number, ROIName=name))
        kind = "POINT" if name.endswith("point") else "CLOSED_PLANAR"
        contours = [
            item
            for k, loops in slices.items()
            for loop in loops
            for item in _items(
                ContourGeometricType=kind,
                NumberOfContourPoints=len(loop),
                ContourData=stack.place(k, loop),
                ContourImageSequence=_items(ReferencedSOPInstanceUID=stack.slice(k)),
            )
        ]
        contour_items.extend(_items(ReferencedROINumber=number, ContourSequence=contours))
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = UID("1.2.840.10008.5.1.4.1.1.481.3")
    meta.MediaStorageSOPInstanceUID = UID(uid_of(stack.name, path.name))
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    data.SOPClassUID = meta.MediaStorageSOPClassUID
    data.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
    data.Modality = "RTSTRUCT"
    data.PatientName = CANARY
    data.StructureSetROISequence = names
    data.ROIContourSequence = contour_items
    path.parent.mkdir(parents=True, exist_ok=True)
    data.save_as(path, enforce_file_format=True)


def _items(**elements: Any) -> list[Any]:
    """A DICOM sequence of one item."""
    from pydicom.dataset import Dataset  # noqa: PLC0415

    item = Dataset()
    for keyword, value in elements.items():
        setattr(item, keyword, value)
    return [item]

"""Synthetic DICOM series with annotations: CT, segmentation, structure set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.sources._synthetic.images import CANARY, write_dicom

__all__ = [
    "Series",
    "outline_of",
    "uid_of",
    "write_segmentation",
    "write_series",
    "write_structures",
]

_ROOT = "1.2.826.0.1.3680043.10.999"
_AXIAL = [1, 0, 0, 0, 1, 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One axial CT series.

    Attributes:
        name: unique name in the fixture, from which the UIDs are derived.
        patient: patient id in the header.
        volume: ``(slices, rows, columns)`` in HU, foot to head, front to back, right to left.
        spacing: mm between slices, and between pixels.
    """

    name: str
    patient: str
    volume: NDArray[np.int16]
    spacing: tuple[float, float] = (3.0, 2.0)

    @property
    def uid(self) -> str:
        """SeriesInstanceUID."""
        return uid_of(self.name)

    def slice_uid(self, k: int) -> str:
        """SOPInstanceUID of a slice."""
        return uid_of(self.name, k)

    def height(self, k: int) -> float:
        """Return the position of a slice in mm."""
        return -120.0 + k * self.spacing[0]

    def position(self, k: int) -> list[float]:
        """Return the position of the first pixel of a slice in mm (LPS)."""
        rows, columns = self.volume.shape[1:]
        return [-columns * self.spacing[1] / 2, -rows * self.spacing[1] / 2, self.height(k)]


def uid_of(*parts: object) -> str:
    """Return a deterministic UID for the given parts."""
    return f"{_ROOT}.{int(sha256(repr(parts).encode()).hexdigest()[:24], 16)}"


def write_series(
    folder: Path, series: Series, *, pattern: str = "1-{:03}.dcm", **tags: Any
) -> None:
    """Write one file per slice, head first, so that the order of names is opposite to positions.

    Args:
        folder: target; parents are created.
        series: series to write.
        pattern: file name pattern for the number, which starts at 1.
        tags: further data elements by keyword.
    """
    count = len(series.volume)
    for k, units in enumerate(series.volume):
        elements: dict[str, Any] = {
            "Modality": "CT",
            "PatientID": series.patient,
            "StudyInstanceUID": uid_of(series.patient, "study"),
            "SeriesInstanceUID": series.uid,
            "SOPInstanceUID": series.slice_uid(k),
            "FrameOfReferenceUID": uid_of(series.patient, "frame"),
            "InstanceNumber": count - k,
            "ImagePositionPatient": series.position(k),
            "ImageOrientationPatient": _AXIAL,
            "PixelSpacing": [series.spacing[1]] * 2,
            "SliceThickness": series.spacing[0],
            "RescaleSlope": 1,
            "RescaleIntercept": -1024,
            **tags,
        }
        values = (units.clip(-1024) + 1024).astype(np.uint16)
        write_dicom(folder / pattern.format(count - k), values, **elements)


def write_segmentation(
    path: Path, series: Series, masks: Mapping[str, NDArray[np.bool_]], *, label: str = "Organ"
) -> None:
    """Write a binary segmentation: every slice of every segment, head first.

    Args:
        path: target.
        series: segmented series.
        masks: name of a segment -> ``(slices, rows, columns)``.
        label: SegmentLabel of all segments, which is uninformative.
    """
    from pydicom.pixels.utils import pack_bits  # noqa: PLC0415

    segments, groups, planes = [], [], []
    for number, (name, mask) in enumerate(masks.items(), 1):
        segments.append(_item(SegmentNumber=number, SegmentLabel=label, SegmentDescription=name))
        for k in reversed(range(len(mask))):
            planes.append(mask[k])
            groups.append(_frame(series, number, k))
    shared = _item(
        PixelMeasuresSequence=[
            _item(PixelSpacing=[series.spacing[1]] * 2, SliceThickness=series.spacing[0])
        ],
        PlaneOrientationSequence=[_item(ImageOrientationPatient=_AXIAL)],
    )
    rows, columns = series.volume.shape[1:]
    tags: dict[str, Any] = {
        **_heads(path, series, "SEG", "1.2.840.10008.5.1.4.1.1.66.4"),
        "SegmentationType": "BINARY",
        "SegmentSequence": segments,
        "SharedFunctionalGroupsSequence": [shared],
        "PerFrameFunctionalGroupsSequence": groups,
        "ReferencedSeriesSequence": [_item(SeriesInstanceUID=series.uid)],
        "NumberOfFrames": len(planes),
        "Rows": rows,
        "Columns": columns,
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "BitsAllocated": 1,
        "BitsStored": 1,
        "HighBit": 0,
        "PixelRepresentation": 0,
        "PixelData": pack_bits(np.stack(planes).astype(np.uint8).ravel()),
    }
    _write(path, tags)


def write_structures(path: Path, series: Series, masks: Mapping[str, NDArray[np.bool_]]) -> None:
    """Write an RT structure set with contours of masks whose rows have no gaps."""
    names = [_item(ROINumber=n, ROIName=name) for n, name in enumerate(masks, 1)]
    contours = [
        _item(ReferencedROINumber=n, ContourSequence=list(_lines(series, mask)))
        for n, mask in enumerate(masks.values(), 1)
    ]
    frame_item = _item(SeriesInstanceUID=series.uid)
    study = _item(RTReferencedSeriesSequence=[frame_item])
    frame = _item(RTReferencedStudySequence=[study])
    tags = {
        **_heads(path, series, "RTSTRUCT", "1.2.840.10008.5.1.4.1.1.481.3"),
        "StructureSetROISequence": names,
        "ROIContourSequence": contours,
        "ReferencedFrameOfReferenceSequence": [frame],
    }
    _write(path, tags)


def outline_of(mask: NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Return corners ``(x, y)`` half a pixel outside a mask whose rows have no gaps."""
    rows = np.flatnonzero(mask.any(axis=1))
    edge = [(float(np.flatnonzero(mask[r])[0]), float(r)) for r in rows]
    right = [(float(np.flatnonzero(mask[r])[-1]), float(r)) for r in rows]
    down = [(x - 0.5, y + step) for x, y in edge for step in (-0.5, 0.5)]
    up = [(x + 0.5, y + step) for x, y in reversed(right) for step in (0.5, -0.5)]
    return [*down, *up]


def _frame(series: Series, segment: int, k: int) -> Any:
    source = _item(ReferencedSOPInstanceUID=series.slice_uid(k))
    return _item(
        SegmentIdentificationSequence=[_item(ReferencedSegmentNumber=segment)],
        PlanePositionSequence=[_item(ImagePositionPatient=series.position(k))],
        DerivationImageSequence=[_item(SourceImageSequence=[source])],
    )


def _lines(series: Series, mask: NDArray[np.bool_]) -> Iterator[Any]:
    for k in np.flatnonzero(mask.any(axis=(1, 2))):
        x0, y0, z0 = series.position(int(k))
        step = series.spacing[1]
        corners = [(x0 + step * x, y0 + step * y, z0) for x, y in outline_of(mask[k])]
        image = _item(ReferencedSOPInstanceUID=series.slice_uid(int(k)))
        yield _item(
            ContourImageSequence=[image],
            ContourGeometricType="CLOSED_PLANAR",
            NumberOfContourPoints=len(corners),
            ContourData=[round(value, 4) for corner in corners for value in corner],
        )


def _heads(path: Path, series: Series, modality: str, sop_class: str) -> dict[str, Any]:
    return {
        "SOPClassUID": sop_class,
        "SOPInstanceUID": uid_of(series.name, modality, path.name),
        "Modality": modality,
        "PatientName": CANARY,
        "PatientID": series.patient,
        "StudyInstanceUID": uid_of(series.patient, "study"),
        "SeriesInstanceUID": uid_of(series.name, modality),
        "FrameOfReferenceUID": uid_of(series.patient, "frame"),
    }


def _item(**elements: Any) -> Any:
    from pydicom.dataset import Dataset  # noqa: PLC0415

    item = Dataset()
    for keyword, value in elements.items():
        setattr(item, keyword, _sequence(value))
    return item


def _sequence(value: Any) -> Any:
    from pydicom.dataset import Dataset  # noqa: PLC0415
    from pydicom.sequence import Sequence as Items  # noqa: PLC0415

    if isinstance(value, Sequence) and value and isinstance(value[0], Dataset):
        return Items(value)
    return value


def _write(path: Path, tags: Mapping[str, Any]) -> None:
    from pydicom.dataset import FileDataset, FileMetaDataset  # noqa: PLC0415
    from pydicom.uid import UID, ExplicitVRLittleEndian  # noqa: PLC0415

    path.parent.mkdir(parents=True, exist_ok=True)
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = UID(tags["SOPClassUID"])
    meta.MediaStorageSOPInstanceUID = UID(tags["SOPInstanceUID"])
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    for keyword, value in tags.items():
        setattr(data, keyword, _sequence(value))
    data.save_as(path, enforce_file_format=True)

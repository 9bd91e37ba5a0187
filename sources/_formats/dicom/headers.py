"""DICOM headers for adapters: an allow-list of elements, without pixels.

Elements outside ``FACTS`` and ``IDENTIFIERS`` cannot be requested, so that no name, date or
address can get into a case by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from medrcube.errors import MissingExtraError, ReadError, SourceError
from medrcube.sources._formats.dicom.quiet_pydicom import silent_pydicom

__all__ = [
    "FACTS",
    "IDENTIFIERS",
    "distance_along_normal",
    "header_value",
    "in_slice_order",
    "is_dicom",
    "read_header",
    "referenced_series",
    "rois_of",
    "segments_of",
    "series_in",
]

FACTS = frozenset(
    {
        "AcquisitionType",
        "BitsAllocated",
        "BitsStored",
        "BodyPartExamined",
        "Columns",
        "ContrastBolusAgent",
        "ConvolutionKernel",
        "DiffusionBValue",
        "EchoTime",
        "FlipAngle",
        "ImageLaterality",
        "ImageOrientationPatient",
        "ImagePositionPatient",
        "ImageType",
        "ImagerPixelSpacing",
        "InstanceNumber",
        "InversionTime",
        "KVP",
        "Laterality",
        "MagneticFieldStrength",
        "Manufacturer",
        "ManufacturerModelName",
        "Modality",
        "NumberOfFrames",
        "PatientAge",
        "PatientOrientation",
        "PatientPosition",
        "PatientSex",
        "PhotometricInterpretation",
        "PixelRepresentation",
        "PixelSpacing",
        "PresentationIntentType",
        "ProtocolName",
        "RepetitionTime",
        "RescaleIntercept",
        "RescaleSlope",
        "Rows",
        "SOPClassUID",
        "SamplesPerPixel",
        "ScanOptions",
        "ScanningSequence",
        "SequenceName",
        "SequenceVariant",
        "SeriesDescription",
        "SeriesNumber",
        "SliceLocation",
        "SliceThickness",
        "SpacingBetweenSlices",
        "StudyDescription",
        "TemporalPositionIdentifier",
        "ViewPosition",
        "WindowCenter",
        "WindowWidth",
    }
)
"""Elements with facts about an image."""

IDENTIFIERS = frozenset(
    {
        "FrameOfReferenceUID",
        "PatientID",
        "SOPInstanceUID",
        "SeriesInstanceUID",
        "StudyInstanceUID",
    }
)
"""Elements that identify a person or file: only for ``Case.patient`` and for joining tables."""

_ALLOWED = FACTS | IDENTIFIERS
_DIRECTORY = "1.2.840.10008.1.3.10"
_PREAMBLE = 132
_LAST = 1 << 40
"""Replaces a missing number, so that such files sort after others at the same position."""


def read_header(path: Path, keywords: Iterable[str]) -> Mapping[str, str]:
    r"""Return the requested elements of a file as text, without absent or empty ones.

    Multiple values are joined by ``\``, as in DICOM.

    Args:
        path: any DICOM file, whatever its name and suffix.
        keywords: members of ``FACTS`` and ``IDENTIFIERS``.

    Raises:
        SourceError: a keyword is in neither list.
        ReadError: code ``missing-file``, ``unreadable``.
        MissingExtraError: pydicom is not installed.
    """
    names = tuple(keywords)
    for keyword in names:
        if keyword not in _ALLOWED:
            raise SourceError(
                f"{path.name}: DICOM element {keyword!r} may not be read by an adapter: it is in "
                "neither FACTS nor IDENTIFIERS of sources/_formats/dicom/headers.py; expected an "
                "element that holds no name, date or address"
            )
    return _texts(path, names)


def header_value(path: Path, element: str) -> str:
    """Return one element of a DICOM file; empty if it is missing or the file is unreadable."""
    try:
        return read_header(path, (element,)).get(element, "")
    except ReadError:
        return ""


def series_in(paths: Iterable[Path]) -> dict[str, tuple[Path, ...]]:
    """Return all DICOM series among files: SeriesInstanceUID -> files sorted by path.

    DICOM files are recognised by content; other files and DICOMDIR are ignored. The result does
    not depend on the order of the files.

    Raises:
        ReadError: code ``unreadable``, or ``no-series`` for a file without a series UID.
    """
    files: dict[str, list[Path]] = {}
    for path in sorted(filter(is_dicom, paths)):
        data = _load(path, ("SeriesInstanceUID", "SOPClassUID"))
        meta = getattr(data, "file_meta", {})
        if meta.get("MediaStorageSOPClassUID") == _DIRECTORY:
            continue
        series = _text(data.get("SeriesInstanceUID"))
        if not series:
            raise ReadError(
                f"{path.name}: names no series (SeriesInstanceUID); expected one in every file",
                code="no-series",
            )
        files.setdefault(series, []).append(path)
    return {series: tuple(paths) for series, paths in files.items()}


def is_dicom(path: Path) -> bool:
    """Whether a file is DICOM, by its first bytes."""
    with path.open("rb") as file:
        return file.read(_PREAMBLE)[128:] == b"DICM"


def in_slice_order(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return the files of one series in the stacking order of the build, duplicates included.

    Use it if a table counts slices: without duplicates, positions are the slice numbers of
    ``Rectangle.slices``.

    Raises:
        ReadError: code ``no-position`` if a file does not state the position of its slice.
    """
    slices = []
    for path in sorted(paths):
        header = read_header(
            path,
            ("ImagePositionPatient", "ImageOrientationPatient", "InstanceNumber", "SOPInstanceUID"),
        )
        try:
            position = _numbers(header.get("ImagePositionPatient", ""))
            orientation = _numbers(header.get("ImageOrientationPatient", ""))
            number = int(header.get("InstanceNumber") or _LAST)
        except ValueError:
            position, orientation, number = [], [], _LAST
        if len(position) != 3 or len(orientation) != 6:
            raise ReadError(
                f"{path.name}: has no slice position; expected "
                "ImagePositionPatient and ImageOrientationPatient",
                code="no-position",
            )
        slices.append(
            (
                round(distance_along_normal(position, orientation), 3),
                number,
                header.get("SOPInstanceUID", ""),
                path,
            )
        )
    return tuple(path for *_, path in sorted(slices))


def distance_along_normal(position: Sequence[float], orientation: Sequence[float]) -> float:
    """Return the position of a slice along its normal, in mm (PS3.3 C.7.6.2.1.1).

    Args:
        position: ImagePositionPatient.
        orientation: ImageOrientationPatient; the normal is rows x columns.
    """
    a, b, c, d, e, f = orientation
    normal = (b * f - c * e, c * d - a * f, a * e - b * d)
    length = sqrt(sum(part * part for part in normal)) or 1.0
    return sum(part * place for part, place in zip(normal, position, strict=True)) / length


def segments_of(path: Path) -> Mapping[int, str]:
    """Return the name of every segment of a DICOM segmentation, by number.

    The name is SegmentDescription, or SegmentLabel if there is none.

    Raises:
        ReadError: code ``unreadable``.
    """
    data = _load(path, ("SegmentSequence",))
    return {
        int(item.SegmentNumber): _text(item.get("SegmentDescription"))
        or _text(item.get("SegmentLabel"))
        for item in data.get("SegmentSequence") or []
    }


def rois_of(path: Path) -> tuple[str, ...]:
    """Return the name of every ROI of an RT structure set, as written, in file order.

    Raises:
        ReadError: code ``unreadable``.
    """
    data = _load(path, ("StructureSetROISequence",))
    return tuple(str(item.ROIName) for item in data.get("StructureSetROISequence") or [])


def referenced_series(path: Path) -> tuple[str, ...]:
    """Return the SeriesInstanceUIDs referenced by a segmentation or structure set.

    Raises:
        ReadError: code ``unreadable``.
    """
    data = _load(path, ("ReferencedSeriesSequence", "ReferencedFrameOfReferenceSequence"))
    holders = [data]
    for frame in data.get("ReferencedFrameOfReferenceSequence") or []:
        for study in frame.get("RTReferencedStudySequence") or []:
            holders.extend(study.get("RTReferencedSeriesSequence") or [])
    holders.extend(data.get("ReferencedSeriesSequence") or [])
    uids = (_text(holder.get("SeriesInstanceUID")) for holder in holders)
    return tuple(dict.fromkeys(series for series in uids if series))


def _texts(path: Path, names: tuple[str, ...]) -> Mapping[str, str]:
    values = {element.keyword: _text(element.value) for element in _load(path, names)}
    return {keyword: text for keyword in names if (text := values.get(keyword))}


def _load(path: Path, keywords: Sequence[str]) -> Any:
    try:
        from pydicom import dcmread  # noqa: PLC0415  # of an extra: adapters load without it
    except ModuleNotFoundError as error:
        raise MissingExtraError("pydicom", "build") from error
    try:
        with silent_pydicom():
            data = dcmread(path, stop_before_pixels=True, specific_tags=list(keywords))
            list(data)  # decodes each element
    except FileNotFoundError:
        raise ReadError(
            f"{path.name}: the file is missing from this copy of the data", code="missing-file"
        ) from None
    except Exception as error:  # noqa: BLE001  # damaged elements raise nearly any type
        raise ReadError(
            f"{path.name}: is not a readable DICOM file ({type(error).__name__}); get the "
            "file again",
            code="unreadable",
        ) from None
    return data


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return "\\".join(str(part).strip() for part in value)
    return str(value).strip()


def _numbers(text: str) -> list[float]:
    return [float(part) for part in text.split("\\") if part]

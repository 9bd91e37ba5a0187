"""DICOM header: pixel semantics and geometry, from named elements only.

Enhanced multi-frame files keep these in functional groups (PS3.3 C.7.6.16): the per-frame group
takes precedence over the shared one, and both over the top level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from medrcube.build.pixels.volume import LookupTable, PixelSemantics
from medrcube.errors import ReadError

__all__ = [
    "TAGS",
    "common_window",
    "geometry_of",
    "normal_of",
    "pixel_millimetres",
    "pixel_semantics_of",
    "pixel_size",
    "rescale_of",
    "stack_geometry",
]

TAGS = (
    "SOPInstanceUID",
    "SeriesInstanceUID",
    "InstanceNumber",
    "ImageType",
    "TemporalPositionIdentifier",
    "TriggerTime",
    "EchoTime",
    "InversionTime",
    "DiffusionBValue",
    "DiffusionGradientOrientation",
    "TransferSyntaxUID",
    "NumberOfFrames",
    "Rows",
    "Columns",
    "SamplesPerPixel",
    "PlanarConfiguration",
    "PhotometricInterpretation",
    "BitsAllocated",
    "BitsStored",
    "HighBit",
    "PixelRepresentation",
    "PixelPaddingValue",
    "PixelPaddingRangeLimit",
    "RescaleSlope",
    "RescaleIntercept",
    "ModalityLUTSequence",
    "WindowCenter",
    "WindowWidth",
    "VOILUTFunction",
    "VOILUTSequence",
    "RedPaletteColorLookupTableDescriptor",
    "GreenPaletteColorLookupTableDescriptor",
    "BluePaletteColorLookupTableDescriptor",
    "RedPaletteColorLookupTableData",
    "GreenPaletteColorLookupTableData",
    "BluePaletteColorLookupTableData",
    "SegmentedRedPaletteColorLookupTableData",
    "SegmentedGreenPaletteColorLookupTableData",
    "SegmentedBluePaletteColorLookupTableData",
    "PixelSpacing",
    "ImagerPixelSpacing",
    "NominalScannedPixelSpacing",
    "PixelAspectRatio",
    "SpacingBetweenSlices",
    "SliceThickness",
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "FrameOfReferenceUID",
    "SharedFunctionalGroupsSequence",
    "PerFrameFunctionalGroupsSequence",
)
"""Keywords of all elements that are ever read."""

Spacing = tuple[float, float, float]
Windows = tuple[tuple[float, float], ...]

_FUNCTIONS = {
    "": "linear",
    "LINEAR": "linear",
    "LINEAR_EXACT": "linear_exact",
    "SIGMOID": "sigmoid",
}
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
_SPACINGS = ("PixelSpacing", "ImagerPixelSpacing", "NominalScannedPixelSpacing")
# Frames make a volume if each deviates from even spacing by at most this share of a step.
_UNEVEN = 0.05


def pixel_semantics_of(header: Dataset, frames: Sequence[int]) -> PixelSemantics:
    """Return the meaning of the stored values of some frames; for windows see ``common_window``."""
    signed = bool(header.get("PixelRepresentation"))
    rescales = {rescale_of(header, k) for k in frames}
    slope, intercept = rescales.pop() if len(rescales) == 1 else (1.0, 0.0)
    modality = _table(header, header, "ModalityLUTSequence", signed=signed)
    windows, function, median_of = common_window([_windows(header, k) for k in frames])
    voi = _group(header, frames[0], "FrameVOILUTSequence", "VOILUTSequence")
    return PixelSemantics(
        slope=slope,
        intercept=intercept,
        modality_table=modality,
        windows=windows,
        function=function,
        median_of=median_of,
        # A negative rescale intercept makes the input of the VOI table signed (PS3.3 C.11.2.1.1).
        voi_table=_table(header, voi, "VOILUTSequence", signed=signed or intercept < 0),
        inverted=header.get("PhotometricInterpretation") == "MONOCHROME1",
        bits=int(header.BitsStored) if header.get("BitsStored") else None,
        padding=_padding(header, signed=signed),
    )


def common_window(each: Sequence[tuple[Windows, str]]) -> tuple[Windows, str, int]:
    """Return the window of a volume, given those of its slices: one volume has one grey scale.

    If they differ it is their median, by centre and then by width, so that a few slices with
    unusual windows do not matter. If less than half of the slices have one, or functions differ,
    there is none.

    Args:
        each: windows and function of each slice.

    Returns:
        Windows, function, and the number of slices whose median the window is; 0 if all agree.
    """
    if len(set(each)) == 1:
        return (*each[0], 0)
    first = sorted((windows[0], function) for windows, function in each if windows)
    if 2 * len(first) < len(each) or len({function for _, function in first}) > 1:
        return (), "linear", 0
    window, function = first[(len(first) - 1) // 2]
    return (window,), function, len(first)


def rescale_of(header: Dataset, frame: int) -> tuple[float, float]:
    """Return the rescale slope and intercept of one frame.

    Raises:
        ReadError: code ``unreadable`` if the slope is zero or not finite.
    """
    group = _group(header, frame, "PixelValueTransformationSequence", "RescaleSlope")
    slope = float(_or(group.get("RescaleSlope"), 1.0))
    intercept = float(_or(group.get("RescaleIntercept"), 0.0))
    if slope == 0 or not np.isfinite([slope, intercept]).all():
        raise ReadError(
            f"rescale slope {slope} and intercept {intercept} are invalid; expected finite numbers "
            "and a slope other than 0",
            code="unreadable",
        )
    return slope, intercept


def geometry_of(
    header: Dataset, frames: Sequence[int]
) -> tuple[Spacing | None, NDArray[np.float64] | None]:
    """Return the spacing and affine of some frames, in the form used by ``Volume``.

    Frames that are not evenly spaced along one line, or not all parallel, have no affine.

    Raises:
        ReadError: code ``singular-affine`` if the orientation is not a pair of directions.
    """
    rows, columns = pixel_size(header, frames[0]) or (0.0, 0.0)
    between = _slice_distance(header, frames[0])
    spacing = (between, rows, columns) if rows else None
    planes = [_plane(header, k) for k in frames]
    located = [plane for plane in planes if plane is not None]
    if len(located) != len(planes) or spacing is None:
        return spacing, None
    positions = np.asarray([position for position, _ in located])
    first = np.asarray(located[0][1])
    if any(not np.allclose(first, other, atol=1e-3) for _, other in located):
        return spacing, None
    normal = normal_of(first)
    if len(frames) > 1 and abs((positions[-1] - positions[0]) @ normal) < 1e-3 * len(frames):
        return spacing, None
    spacing_of_stack, affine, even = stack_geometry(positions, first, spacing)
    return (spacing_of_stack, affine) if even else (spacing, None)


def normal_of(orientation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit normal of a plane, given the directions of its rows and columns.

    Raises:
        ReadError: code ``singular-affine`` if they are not a pair of directions.
    """
    normal = np.cross(orientation[:3], orientation[3:])
    length = np.linalg.norm(normal)
    if not length > 1e-3:
        raise ReadError(
            "its image orientation is not a pair of directions; expected two unit vectors",
            code="singular-affine",
        )
    return np.asarray(normal / length)


def stack_geometry(
    positions: NDArray[np.float64], orientation: NDArray[np.float64], spacing: Spacing
) -> tuple[Spacing, NDArray[np.float64], bool]:
    """Return the spacing and affine of parallel slices, and whether they are evenly spaced.

    If they are not evenly spaced along one line, both are those of an even stack with the same
    first and last slice.

    Args:
        positions: ``(n, 3)`` first pixel of each slice in LPS mm, in slice order.
        orientation: directions of rows and columns.
        spacing: of one slice; its first number applies to a single slice.
    """
    between, rows, columns = spacing
    step, even = normal_of(orientation) * between, True
    if len(positions) > 1:
        step = (positions[-1] - positions[0]) / (len(positions) - 1)
        between = float(np.linalg.norm(step))
        line = positions[0] + np.arange(len(positions))[:, None] * step
        even = bool(np.abs(positions - line).max() <= _UNEVEN * between)
    matrix = np.eye(4)
    matrix[:3, 0] = step
    matrix[:3, 1] = orientation[3:] * rows
    matrix[:3, 2] = orientation[:3] * columns
    matrix[:3, 3] = positions[0]
    return (between, rows, columns), np.asarray(_LPS_TO_RAS @ matrix), even


def _group(header: Dataset, frame: int, sequence: str, keyword: str) -> Any:
    """Return the dataset that holds an element: the frame's group, the shared one, or the top."""
    per_frame = header.get("PerFrameFunctionalGroupsSequence") or []
    shared = header.get("SharedFunctionalGroupsSequence") or []
    for groups in (per_frame[frame : frame + 1], shared[:1]):
        for item in groups:
            for group in (item.get(sequence) or [])[:1]:
                if keyword in group:
                    return group
    return header


def _windows(header: Dataset, frame: int) -> tuple[Windows, str]:
    group = _group(header, frame, "FrameVOILUTSequence", "WindowCenter")
    centres, widths = _numbers(group, "WindowCenter"), _numbers(group, "WindowWidth")
    function = str(group.get("VOILUTFunction") or "")
    if function not in _FUNCTIONS:
        raise ReadError(
            "its VOI LUT function is none of LINEAR, LINEAR_EXACT and SIGMOID",
            code="unsupported-format",
        )
    return tuple(zip(centres, widths, strict=False)), _FUNCTIONS[function]


def pixel_size(header: Dataset, frame: int) -> tuple[float, float] | None:
    """Return the distance of rows and of columns, in mm or relative; ``None`` if not stated."""
    size = pixel_millimetres(header, frame)
    if size is not None:
        return size
    ratio = _numbers(header, "PixelAspectRatio")
    if len(ratio) == 2 and min(ratio) > 0 and ratio[0] != ratio[1]:
        return ratio[0] / ratio[1], 1.0
    return None


def pixel_millimetres(header: Dataset, frame: int) -> tuple[float, float] | None:
    """Return the distance of rows and of columns in mm; ``None`` if not stated."""
    group = _group(header, frame, "PixelMeasuresSequence", "PixelSpacing")
    for keyword in _SPACINGS:
        size = _numbers(group if keyword in group else header, keyword)
        if len(size) == 2 and min(size) > 0:
            return size[0], size[1]
    return None


def _slice_distance(header: Dataset, frame: int) -> float:
    for keyword in ("SpacingBetweenSlices", "SliceThickness"):
        group = _group(header, frame, "PixelMeasuresSequence", keyword)
        distance = float(_or(group.get(keyword), 0.0))
        if distance > 0:
            return distance
    return 1.0


def _plane(header: Dataset, frame: int) -> tuple[list[float], list[float]] | None:
    """Return position and orientation of a frame; the top level applies only to a single frame."""
    where = _group(header, frame, "PlanePositionSequence", "ImagePositionPatient")
    how = _group(header, frame, "PlaneOrientationSequence", "ImageOrientationPatient")
    if where is header and int(header.get("NumberOfFrames") or 1) > 1:
        return None
    position = _numbers(where, "ImagePositionPatient")
    orientation = _numbers(how, "ImageOrientationPatient")
    if len(position) != 3 or len(orientation) != 6:
        return None
    return position, orientation


def _padding(header: Dataset, *, signed: bool) -> tuple[int, int] | None:
    value = header.get("PixelPaddingValue")
    if not isinstance(value, int):
        return None
    limit = header.get("PixelPaddingRangeLimit")
    ends = sorted(
        _as_signed(int(end)) if signed else int(end)
        for end in (value, limit if isinstance(limit, int) else value)
    )
    return ends[0], ends[1]


def _table(header: Dataset, holder: Any, keyword: str, *, signed: bool) -> LookupTable | None:
    """Return the first lookup table of a sequence (PS3.3 C.11.1.1.1)."""
    items = holder.get(keyword) or []
    if not items:
        return None
    size, first, bits = (int(number) for number in items[0].LUTDescriptor)
    size = size % 65536 or 65536
    data = items[0].LUTData
    if isinstance(data, bytes):
        packed = len(data) < 2 * size
        order = "<" if header.original_encoding[1] else ">"
        entries = np.frombuffer(data, np.uint8 if packed else np.dtype(f"{order}u2"))
    else:
        entries = np.atleast_1d(np.asarray(data)).astype(np.int64) & 0xFFFF
    if len(entries) < size:
        raise ReadError(
            f"a lookup table has {len(entries)} entries where {size} are declared",
            code="unreadable",
        )
    return LookupTable(
        first=_as_signed(first) if signed else first,
        entries=entries[:size].astype(np.uint16),
        bits=bits,
    )


def _as_signed(number: int) -> int:
    """Convert a 16-bit number that was written as unsigned although the pixels are signed."""
    return number - 65536 if number > 32767 else number


def _numbers(group: Dataset, keyword: str) -> list[float]:
    value = group.get(keyword)
    if value is None or value == "":
        return []
    several = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return [float(number) for number in (value if several else (value,))]


def _or(value: Any, default: float) -> Any:
    return default if value is None or value == "" else value

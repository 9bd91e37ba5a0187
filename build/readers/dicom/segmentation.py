"""DICOM segmentation reader (PS3.3 A.51): segments on the grid of their image."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.pixels.utils import pixel_array

from medrcube.build.pixels.geometry import index_map, nearest_index
from medrcube.build.pixels.volume import Array, Volume
from medrcube.build.readers.dicom.decoding import decode_stored
from medrcube.build.readers.dicom.header import geometry_of
from medrcube.build.readers.dicom.opening import DAMAGE, damaged_elements, frames_of, open_header
from medrcube.build.readers.last_files_cache import cache_last_files
from medrcube.build.readers.read_errors import (
    check_frame_of_reference,
    truncated,
    unreadable,
    unsupported,
)
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError
from medrcube.sources._formats.dicom.quiet_pydicom import silent_pydicom

__all__ = ["read"]

_TAGS = (
    "Modality",
    "FrameOfReferenceUID",
    "TransferSyntaxUID",
    "NumberOfFrames",
    "Rows",
    "Columns",
    "BitsAllocated",
    "BitsStored",
    "HighBit",
    "PixelRepresentation",
    "PixelSpacing",
    "SpacingBetweenSlices",
    "SliceThickness",
    "SegmentationType",
    "MaximumFractionalValue",
    "SegmentSequence",
    "SharedFunctionalGroupsSequence",
    "PerFrameFunctionalGroupsSequence",
)
# Largest distance of a frame from a slice, as a share of a slice; if farther away, it was drawn on
# other slices.
_OFF = 0.25


@dataclass(frozen=True, slots=True)
class _Frame:
    """One frame: its number, segment, the slices it was drawn on, and its position."""

    number: int
    segment: int
    sources: tuple[str, ...]
    affine: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class _Segmentation:
    header: Dataset
    kind: str
    segments: frozenset[int]
    frames: tuple[_Frame, ...]


@silent_pydicom()
def read(path: Path, values: Collection[int], volume: Volume) -> Mask:
    """Return the mask of some segments, on the stored grid of the image.

    Each frame is assigned to the slice that it names by SOP instance UID, or else to the one at its
    own position; the order of the frames is ignored. Within the slice it is placed by its own
    orientation. In a fractional segmentation, values from one half upwards are marked.

    Args:
        path: a segmentation.
        values: segment numbers; if empty, every segment is used.
        volume: the image as it was read.

    Raises:
        ReadError: code ``missing-segment``, ``frame-of-reference``, ``mask-place`` if a frame lies
            on no slice, contradicts its own reference or has a pixel grid other than its slice's,
            ``mask-size``, ``unreadable``, ``truncated``, ``unsupported-format``.
    """
    segmentation = _parse(path)
    frame_of_reference = str(segmentation.header.get("FrameOfReferenceUID") or "")
    check_frame_of_reference(path, frame_of_reference, volume)
    unknown = set(values) - segmentation.segments
    if unknown:
        raise ReadError(
            f"{path.name}: segment {min(unknown)} was requested, but the file has the segments "
            f"{', '.join(map(str, sorted(segmentation.segments))) or '(none)'}",
            code="missing-segment",
        )
    segments = set(values) or set(segmentation.segments)
    return Mask.of(volume.slices.shape, _placed(path, segmentation, segments, volume))


def _placed(
    path: Path, segmentation: _Segmentation, segments: Collection[int], volume: Volume
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield every frame with a mark, and the slice to which it is assigned."""
    for frame in segmentation.frames:
        if segmentation.kind != "LABELMAP" and frame.segment not in segments:
            continue
        frame_mask = _mask_of_frame(path, segmentation, frame, segments)
        if not frame_mask.any():
            continue
        k = _slice_of(path, frame, frame_mask.shape, volume)
        if k is not None:
            yield k, _on_slice(path, frame, frame_mask, k, volume)


@cache_last_files
def _parse(path: Path) -> _Segmentation:
    header = open_header(path, _TAGS)
    kind = str(header.get("SegmentationType") or "")
    if kind not in {"BINARY", "FRACTIONAL", "LABELMAP"}:
        raise unsupported(path, "has a segmentation type other than BINARY, FRACTIONAL, LABELMAP")
    count = frames_of(path, header)
    try:
        segments = frozenset(
            int(item.SegmentNumber) for item in header.get("SegmentSequence") or []
        )
        frames = tuple(_frames(header, count, kind))
    except ReadError as error:
        raise ReadError(f"{path.name}: {error}", code=error.code) from error
    except DAMAGE as error:
        raise damaged_elements(path, error) from None
    return _Segmentation(header, kind, segments, frames)


def _frames(header: Dataset, count: int, kind: str) -> Iterator[_Frame]:
    groups = header.get("PerFrameFunctionalGroupsSequence") or []
    shared = (header.get("SharedFunctionalGroupsSequence") or [Dataset()])[0]
    if len(groups) != count:
        raise ReadError(
            f"describes {len(groups)} frames where it has {count}; get the file again",
            code="unreadable",
        )
    for number, group in enumerate(groups):
        segment = 0
        if kind != "LABELMAP":
            holder = group if "SegmentIdentificationSequence" in group else shared
            segment = int(holder.SegmentIdentificationSequence[0].ReferencedSegmentNumber)
        _, affine = geometry_of(header, [number])
        yield _Frame(number, segment, tuple(_sources(group)), affine)


def _sources(group: Dataset) -> Iterator[str]:
    for derivation in group.get("DerivationImageSequence") or []:
        for source in derivation.get("SourceImageSequence") or []:
            # A frame number refers to a multi-frame image, whose slices share one UID.
            if "ReferencedFrameNumber" not in source:
                yield str(source.get("ReferencedSOPInstanceUID") or "")


def _mask_of_frame(
    path: Path, segmentation: _Segmentation, frame: _Frame, segments: Collection[int]
) -> NDArray[np.bool_]:
    pixels = _decode(path, segmentation.header, frame.number)
    if segmentation.kind == "LABELMAP":
        return np.isin(pixels, list(segments))
    if segmentation.kind == "BINARY":
        return pixels > 0
    most = segmentation.header.get("MaximumFractionalValue")
    if not isinstance(most, int) or most < 1:
        raise unreadable(path, "is fractional without a valid MaximumFractionalValue")
    return 2 * pixels.astype(np.int64) >= most


def _decode(path: Path, header: Dataset, number: int) -> Array:
    # A frame of single bits that ends within a byte cannot be read from the file on its own.
    if header.get("BitsAllocated") == 1 and int(header.Rows) * int(header.Columns) % 8 > 0:
        whole = _all_frames(path)
        if number >= len(whole):
            raise truncated(path, f"describes frame {number} and holds {len(whole)}")
        frame: Array = whole[number]
        return frame
    try:
        return np.asarray(decode_stored(path, header, number))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # decoders raise nearly any type
        raise damaged_elements(path, error) from None


@cache_last_files
def _all_frames(path: Path) -> Array:
    try:
        whole = np.asarray(pixel_array(path))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  # decoders raise nearly any type
        raise damaged_elements(path, error) from None
    return whole[None] if whole.ndim == 2 else whole


def _slice_of(path: Path, frame: _Frame, size: tuple[int, ...], volume: Volume) -> int | None:
    """Return the slice of the image that a frame lies on; ``None`` if it lies beyond the stack."""
    slices = {volume.slice_ids[uid] for uid in frame.sources if uid in volume.slice_ids}
    place = None
    if frame.affine is not None and volume.affine is not None and not volume.uneven:
        place = _place(path, frame.affine, size, volume.affine)
    if len(slices) == 1:
        k = slices.pop()
        if place is not None and abs(place - k) > 0.5:
            raise _misplaced(path, frame, "references one slice but lies on another")
        return k
    if place is None:
        raise _misplaced(path, frame, "has neither a reference nor a position")
    k = int(nearest_index(place))
    if not 0 <= k < volume.slices.shape[0]:
        return None
    if abs(place - k) > _OFF:
        raise _misplaced(path, frame, "lies between two slices of the image")
    return k


def _place(
    path: Path,
    affine: NDArray[np.float64],
    size: tuple[int, ...],
    image: NDArray[np.float64],
) -> float:
    """Return the slice coordinate of a frame, which must be parallel to the slices."""
    ends = [(0, r, c, 1) for r in (0, size[0] - 1) for c in (0, size[1] - 1)]
    places = (np.asarray(ends) @ index_map(affine, image).T)[:, 0]
    if np.ptp(places) > 0.5:
        raise ReadError(
            f"{path.name}: is in a different plane from its image; expected parallel slices",
            code="mask-place",
        )
    return float(places.mean())


def _on_slice(
    path: Path, frame: _Frame, frame_mask: NDArray[np.bool_], k: int, volume: Volume
) -> NDArray[np.bool_]:
    """Resample a frame to the pixels of its slice, nearest neighbour."""
    rows, columns = volume.slices.shape[1:3]
    if frame.affine is None or volume.affine is None or volume.uneven:
        if frame_mask.shape != (rows, columns):
            raise ReadError(
                f"{path.name}: has frames of {frame_mask.shape[0]} rows x "
                f"{frame_mask.shape[1]} columns, "
                f"its image has {rows} x {columns}, and not both state their position in space; "
                "expected equal sizes",
                code="mask-size",
            )
        return frame_mask
    matrix = index_map(volume.affine, frame.affine)
    _check_pixels(path, frame, matrix, (rows, columns))
    r, c = np.arange(rows)[:, None], np.arange(columns)[None]
    row, column = (
        nearest_index(
            matrix[axis, 0] * k + matrix[axis, 1] * r + matrix[axis, 2] * c + matrix[axis, 3]
        )
        for axis in (1, 2)
    )
    inside = (
        (row >= 0) & (row < frame_mask.shape[0]) & (column >= 0) & (column < frame_mask.shape[1])
    )
    mask = np.zeros((rows, columns), np.bool_)
    mask[inside] = frame_mask[row[inside], column[inside]]
    return mask


def _check_pixels(
    path: Path, frame: _Frame, matrix: NDArray[np.float64], size: tuple[int, int]
) -> None:
    """Reject a frame whose pixel grid is not that of its slice; rotation and cropping are allowed.

    Args:
        path: the segmentation.
        frame: one of its frames.
        matrix: from an index of the image to that of the frame.
        size: rows and columns of the image.
    """
    across = matrix[1:3, 1:3]
    whole = np.rint(across)
    drift = np.abs(across - whole) @ np.asarray(size)
    if drift.max() >= 0.5 or np.abs(np.linalg.det(whole)) != 1:
        raise _misplaced(path, frame, "has pixels of another size or direction than its slice")


def _misplaced(path: Path, frame: _Frame, what: str) -> ReadError:
    return ReadError(
        f"{path.name}: frame {frame.number} {what}; is it the segmentation of this series?",
        code="mask-place",
    )

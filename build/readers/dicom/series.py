"""DICOM series reader: single-slice files stacked by position, never by name or number."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from medrcube.build.pixels.volume import Array, LazySlices, LookupTable, PixelSemantics, Volume
from medrcube.build.readers.dicom.decoding import PALETTE, decode_frame
from medrcube.build.readers.dicom.header import (
    common_window,
    normal_of,
    pixel_semantics_of,
    pixel_size,
    stack_geometry,
)
from medrcube.build.readers.dicom.image import AS_SHOWN, COLOUR, GREY
from medrcube.build.readers.dicom.opening import DAMAGE, damaged_elements, open_header
from medrcube.build.readers.read_errors import check_frame, unreadable, unsupported
from medrcube.errors import ReadError
from medrcube.sources._formats.dicom.quiet_pydicom import silent_pydicom

__all__ = ["read"]

# Slices closer together than this, in mm, are copies of one slice.
_SAME_PLACE = 0.01
_PARALLEL = 1e-3
# Images at one position that differ in one of these belong to several volumes.
_MOMENTS = (
    "TemporalPositionIdentifier",
    "TriggerTime",
    "EchoTime",
    "InversionTime",
    "DiffusionBValue",
    "DiffusionGradientOrientation",
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Slice:
    """One file with its header values."""

    path: Path
    header: Dataset
    uid: str
    number: float
    position: NDArray[np.float64]
    orientation: NDArray[np.float64]
    greys: PixelSemantics
    dtype: np.dtype[Any]
    size: tuple[float, float] | None
    thickness: float

    @property
    def colour(self) -> bool:
        return self.header.get("PhotometricInterpretation") not in GREY


def read(paths: Sequence[Path], frame: int | None = None) -> Volume:
    """Read the headers of a series; each slice is decoded on access.

    Slices are ordered along their normal. Of several files at one position the one with the
    smallest InstanceNumber is kept. The whole series has one grey scale: if windows differ between
    the files, it has their median (``common_window``), and if files are scaled differently, slices
    are returned as modality values (float32), so that equal HU have equal grey values.

    Args:
        paths: all files of the series, in any order.
        frame: one slice by its position in the stack, or ``None`` for all.

    Raises:
        ReadError: code ``mixed-series``, ``mixed-geometry``, ``several-volumes``, ``no-position``,
            ``localiser``, ``missing-frame``, ``unsupported-format`` and those of ``dicom.read``.
    """
    # Sorted by UID, so that the result does not depend on the order or names of the files.
    files = sorted((_open(path) for path in paths), key=lambda s: (s.uid, s.number, s.path.name))
    _check_alike(files)
    stack, copies = _ordered(files)
    ids = {file.uid: k for k, file in enumerate(stack) if file.uid}
    ids |= {file.uid: k for k, file in copies if file.uid}
    check_frame(stack[0].path, frame, len(stack))
    if frame is not None:
        stack = stack[frame : frame + 1]
        ids = {uid: 0 for uid, k in ids.items() if k == frame}
    first = stack[0]
    spacing, affine, even = None, None, True
    if first.size is not None:
        positions = np.stack([stack_slice.position for stack_slice in stack])
        distances = (first.thickness, *first.size)
        spacing, affine, even = stack_geometry(positions, first.orientation, distances)
    greys, mixed = _common_greys(files)
    return Volume(
        slices=_SeriesSlices(stack, mixed=mixed),
        spacing=spacing,
        affine=affine,
        greys=greys,
        solid=True,
        uneven=not even,
        slice_ids=ids,
        frame_of_reference=_frame_of_reference(stack),
    )


def _frame_of_reference(stack: Sequence[_Slice]) -> str:
    """Return the frame of reference that all slices share; empty if they name none, or several."""
    frames = {str(stack_slice.header.get("FrameOfReferenceUID") or "") for stack_slice in stack}
    return frames.pop() if len(frames) == 1 else ""


class _SeriesSlices(LazySlices):
    """Slices of a series, decoded one by one."""

    def __init__(self, files: Sequence[_Slice], *, mixed: bool) -> None:
        first = files[0]
        size = (len(files), int(first.header.Rows), int(first.header.Columns))
        dtype = np.dtype(np.uint8) if first.colour else first.dtype
        super().__init__(
            (*size, 3) if first.colour else size, np.dtype(np.float32) if mixed else dtype
        )
        self._files = files
        self._mixed = mixed

    def _picture(self, k: int) -> Array:
        file = self._files[k]
        picture = decode_frame(file.path, file.header, 0)
        if self._mixed:
            picture = (picture * file.greys.slope + file.greys.intercept).astype(np.float32)
        if picture.shape != self.shape[1:] or picture.dtype != self.dtype:
            raise unreadable(
                file.path,
                f"has {picture.shape} {picture.dtype} pixels where its header declares "
                f"{self.shape[1:]} {self.dtype}",
            )
        return picture


@silent_pydicom()
def _open(path: Path) -> _Slice:
    header = open_header(path)
    if int(header.get("NumberOfFrames") or 1) > 1:
        raise unsupported(
            path, "has several frames and is one of several files; give it as a separate image"
        )
    if header.get("PhotometricInterpretation") not in (*GREY, *COLOUR, PALETTE):
        raise unsupported(path, "has an unsupported photometric interpretation")
    try:
        position = np.asarray(header.get("ImagePositionPatient") or (), np.float64)
        orientation = np.asarray(header.get("ImageOrientationPatient") or (), np.float64)
        number = header.get("InstanceNumber")
        file = _Slice(
            path=path,
            header=header,
            uid=str(header.get("SOPInstanceUID") or ""),
            number=float("inf") if number in {None, ""} else float(number),
            position=position,
            orientation=orientation,
            greys=pixel_semantics_of(header, (0,)),
            dtype=_dtype(header),
            size=pixel_size(header, 0),
            thickness=float(header.get("SliceThickness") or 0) or 1.0,
        )
    except ReadError as error:
        raise ReadError(f"{path.name}: {error}", code=error.code) from error
    except DAMAGE as error:
        raise damaged_elements(path, error) from None
    for name, value, expected in (
        ("ImagePositionPatient", position, 3),
        ("ImageOrientationPatient", orientation, 6),
    ):
        if value.shape != (expected,) or not np.isfinite(value).all():
            raise ReadError(
                f"{path.name}: has no slice position ({name} is missing); a series is sorted by "
                "position, never by file name or instance number",
                code="no-position",
            )
    return file


def _dtype(header: Dataset) -> np.dtype[Any]:
    kind = "i" if header.get("PixelRepresentation") else "u"
    return np.dtype(f"{kind}{max(1, int(header.get('BitsAllocated') or 8) // 8)}")


def _check_alike(files: Sequence[_Slice]) -> None:
    """Reject files that are not slices of one stack."""
    series: tuple[tuple[str, Callable[[_Slice], Hashable]], ...] = (
        (
            "series (SeriesInstanceUID)",
            lambda file: str(file.header.get("SeriesInstanceUID") or ""),
        ),
        ("kinds of pixel (PhotometricInterpretation)", _photometric),
    )
    geometry: tuple[tuple[str, Callable[[_Slice], Hashable]], ...] = (
        ("sizes", lambda file: (int(file.header.get("Rows")), int(file.header.get("Columns")))),
        ("pixel spacings", _spacing),
    )
    for code, checks in (("mixed-series", series), ("mixed-geometry", geometry)):
        for what, key in checks:
            values = {key(file) for file in files}
            if len(values) > 1:
                raise _mixed(files, f"{len(values)} different {what}", code)
    orientations = np.stack([file.orientation for file in files])
    if not np.allclose(orientations, orientations[0], rtol=0, atol=_PARALLEL):
        raise _mixed(files, "slices that are not parallel", "mixed-geometry")


def _photometric(file: _Slice) -> Hashable:
    return "colour" if file.colour else file.header.get("PhotometricInterpretation")


def _spacing(file: _Slice) -> Hashable:
    return None if file.size is None else (round(file.size[0], 4), round(file.size[1], 4))


def _mixed(files: Sequence[_Slice], what: str, code: str) -> ReadError:
    return ReadError(
        f"{min(file.path.name for file in files)} and {len(files) - 1} more files hold {what}; "
        "expected the slices of one series: the adapter must separate them",
        code=code,
    )


def _ordered(files: Sequence[_Slice]) -> tuple[list[_Slice], list[tuple[int, _Slice]]]:
    """Return the slices along their normal, and omitted copies with the index of their slice."""
    try:
        normal = normal_of(files[0].orientation)
    except ReadError as error:
        raise ReadError(f"{files[0].path.name}: {error}", code=error.code) from error
    along = sorted(files, key=lambda file: float(file.position @ normal))
    starts = np.diff([file.position @ normal for file in along], prepend=-np.inf) > _SAME_PLACE
    places = np.cumsum(starts)
    stack: list[_Slice] = []
    copies: list[tuple[int, _Slice]] = []
    for _, group in groupby(zip(places, along, strict=True), key=lambda pair: pair[0]):
        # Ties go to the smaller UID: the sort is stable and the files are already in that order.
        here = sorted((file for _, file in group), key=lambda file: (file.number, file.uid))
        _check_copies(here)
        copies.extend((len(stack), file) for file in here[1:])
        stack.append(here[0])
    return stack, copies


def _check_copies(here: Sequence[_Slice]) -> None:
    first = here[0]
    for other in here[1:]:
        if np.abs(other.position - first.position).max() > 10 * _SAME_PLACE:
            raise _mixed(here, "slices side by side in one plane", "mixed-geometry")
        for keyword in _MOMENTS:
            if str(other.header.get(keyword)) != str(first.header.get(keyword)):
                raise ReadError(
                    f"{first.path.name} and {other.path.name} lie at one position but differ in "
                    f"{keyword}: the series holds several volumes; the adapter must separate them",
                    code="several-volumes",
                )


def _common_greys(files: Sequence[_Slice]) -> tuple[PixelSemantics, bool]:
    """Return the meaning of a series' values, and whether they must be rescaled first."""
    if files[0].colour:
        return AS_SHOWN, False
    each = [file.greys for file in files]
    first = each[0]
    if any(not _same_table(greys.modality_table, first.modality_table) for greys in each):
        raise _mixed(files, "different modality lookup tables", "mixed-series")
    mixed = len({(file.greys.slope, file.greys.intercept, file.dtype) for file in files}) > 1
    if mixed and first.modality_table is not None:
        raise _mixed(files, "lookup tables for different pixel types", "mixed-series")
    windows, function, median_of = common_window(
        [(semantics.windows, semantics.function) for semantics in each]
    )
    one_table = all(_same_table(greys.voi_table, first.voi_table) for greys in each)
    depths = {greys.bits for greys in each}
    common = replace(
        first,
        windows=windows,
        function=function,
        median_of=median_of,
        voi_table=first.voi_table if one_table else None,
        padding=first.padding if len({greys.padding for greys in each}) == 1 else None,
        bits=None if None in depths else max(bits for bits in depths if bits is not None),
    )
    if mixed:
        common = replace(common, slope=1.0, intercept=0.0, padding=None, bits=None)
    return common, mixed


def _same_table(first: LookupTable | None, second: LookupTable | None) -> bool:
    if first is None or second is None:
        return first is second
    same = (first.first, first.bits) == (second.first, second.bits)
    return same and np.array_equal(first.entries, second.entries)

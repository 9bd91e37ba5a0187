"""NIfTI-1 and NIfTI-2 reader (single file, plain or gzip); values are not rescaled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import deflate
import nibabel as nib
import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Array, ForwardSlices, PixelSemantics, Volume
from medrcube.build.readers.gzip_stream import DAMAGE, open_gzip
from medrcube.build.readers.nifti_forms import check_forms
from medrcube.build.readers.non_finite import fill_non_finite
from medrcube.build.readers.read_errors import (
    as_stack,
    check_finite,
    check_numeric,
    check_pixels,
    check_size,
    first_slice,
    truncated,
    unreadable,
    unsupported,
)
from medrcube.errors import ReadError

__all__ = ["read", "read_forward"]

_GZIP = b"\x1f\x8b"
_LONGEST_HEADER = 540
# Allowance for what some writers append after the pixels.
_SMALL = 64 << 20
_MOST_PACKED = 200
"""Highest accepted gzip compression ratio. The format allows 1,032, which constant data reach
(https://www.zlib.net/zlib_tech.html); a volume of which 95 % is one value stays below 60.
"""
_AT_ONCE = 8 << 20
"""Most compressed bytes held in memory in addition to the volume."""
_SLACK = 1 << 20
_STEP = 1 << 20
_BROKEN = (nib.spatialimages.HeaderDataError, nib.wrapstruct.WrapStructError)
# Length units of xyzt_units (nifti1.h): metre, millimetre, micrometre; others are unknown.
_MILLIMETRES = {1: 1000.0, 2: 1.0, 3: 0.001}


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read a volume as ``(k, j, i)``: slices along the third NIfTI axis, columns the first.

    ``.nii`` is memory-mapped; gzip is decompressed once. A file without sform and qform has no
    affine: the orientation of its axes is unknown. ``PixelSemantics`` holds ``scl_slope`` and
    ``scl_inter``, and the number of non-finite voxels (``gaps``).

    Raises:
        ReadError: code ``ambiguous-sibling`` if ``a.nii`` and ``a.nii.gz`` are in the same folder,
            ``truncated``, ``unreadable``, ``unsupported-format``, ``too-large``,
            ``singular-affine``, ``not-finite``, ``missing-frame``.
    """
    _refuse_sibling(path)
    raw = _gunzip(path) if _is_packed(path) else np.memmap(path, np.uint8, mode="r")
    header = _header(path, bytes(raw[:_LONGEST_HEADER]))
    array = _array(path, raw, header)
    affine = _affine(path, header, first_slice(array, frame))
    slices, greys = fill_non_finite(path, as_stack(path, array, frame), _greys(path, header))
    return Volume(
        slices=slices,
        spacing=_spacing(header, affine),
        affine=affine,
        greys=greys,
        solid=True,
    )


def read_forward(path: Path) -> Volume:
    """Read a volume whose slices are taken once, in ascending order; one is in memory at a time.

    Raises:
        ReadError: as ``read``; errors in the pixels are raised when slices are taken.
    """
    _refuse_sibling(path)
    head = bytes(_unpacked(path, _LONGEST_HEADER))
    header = _header(path, head)
    _needed(path, head)
    shape, dtype = _stored_shape(header), header.get_data_dtype()
    check_numeric(path, np.empty(0, dtype))
    if len(shape) != 3:
        return read(path)
    affine = _affine(path, header, 0)
    return Volume(
        slices=ForwardSlices(lambda: _pictures(path, header), shape[::-1], dtype),
        spacing=_spacing(header, affine),
        affine=affine,
        greys=_greys(path, header),
        solid=True,
    )


def _refuse_sibling(path: Path) -> None:
    name = path.name
    other = name[:-3] if name.endswith(".nii.gz") else f"{name}.gz"
    if name.endswith((".nii", ".nii.gz")) and path.with_name(other).exists():
        raise ReadError(
            f"{name}: {other} lies beside it, and tools differ in which of the two they read; keep "
            "the original and move the other away",
            code="ambiguous-sibling",
        )


def _is_packed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == _GZIP


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open the content of a file as a stream, decompressed if it is gzip."""
    try:
        with open_gzip(path) if _is_packed(path) else path.open("rb") as file:
            yield file
    except EOFError as error:
        raise truncated(path, "its gzip stream ends early") from error
    except DAMAGE as error:
        raise unreadable(path, f"is damaged gzip ({error}); get the file again") from error


def _pictures(path: Path, header: Any) -> Iterator[Array]:
    shape, dtype = _stored_shape(header)[::-1], header.get_data_dtype()
    size = math.prod(shape[1:]) * int(dtype.itemsize)
    with _opened(path) as file:
        file.seek(int(header.get_data_offset()))
        for k in range(shape[0]):
            data = file.read(size)
            if len(data) < size:
                raise truncated(path, f"ends within slice {k} of {shape[0]}")
            picture: Array = np.frombuffer(data, dtype).reshape(shape[1:])
            check_finite(path, picture)
            if k == shape[0] - 1:
                file.read(_SLACK)  # includes the checksum at the end
            yield picture


def _gunzip(path: Path) -> Array:
    """Decompress the length stated in the header, and the little that may follow it.

    The latter verifies the checksum. Data are read in steps: the compressed bytes of a long CT are
    half as large as the memory that a worker may use in addition to its volume.
    """
    needed, packed = _needed(path, _unpacked(path, _LONGEST_HEADER).tobytes()), path.stat().st_size
    if needed > _SMALL and needed > _MOST_PACKED * packed:
        raise ReadError(
            f"{path.name}: packs {needed} bytes of pixels in {packed}; expected at most "
            f"{_MOST_PACKED} in one: it is blank, or crafted to exhaust memory",
            code="too-large",
        )
    whole = _unpacked_at_once(path, needed) if packed <= _AT_ONCE else None
    return _unpacked(path, needed, _SLACK) if whole is None else whole


def _unpacked_at_once(path: Path, needed: int) -> Array | None:
    """Decompress a small file with libdeflate, in three quarters of the time.

    Returns ``None`` if it is not a single gzip member of exactly the needed length; the stream
    reader then reports the error.
    """
    data = path.read_bytes()
    if int.from_bytes(data[-4:], "little") != needed % (1 << 32):  # RFC 1952, 2.3.1
        return None
    try:
        content = deflate.gzip_decompress(data, needed)
    except deflate.DeflateError:
        return None
    return np.frombuffer(content, np.uint8) if len(content) == needed else None


def _unpacked(path: Path, most: int, behind: int = 0) -> Array:
    """Return the first ``most`` bytes of the content of a file, fewer if it is shorter."""
    content, size = np.empty(most, np.uint8), 0
    with _opened(path) as file:
        while data := file.read(min(_STEP, most - size)):
            content[size : size + len(data)] = np.frombuffer(data, np.uint8)
            size += len(data)
        file.read(behind)
    return content[:size]


def _needed(path: Path, head: bytes) -> int:
    """Return the uncompressed length of a file in bytes, according to its header.

    Raises:
        ReadError: code ``too-large`` or ``unreadable``.
    """
    header = _header(path, head)
    try:
        offset = int(header.get_data_offset())
    except (OverflowError, ValueError) as error:
        raise unreadable(path, "has no offset of its pixels (vox_offset)") from error
    shape, axes = _shape(header), int(header["dim"][0])
    if not 1 <= axes <= 7 or min(shape) < 1 or offset < 0:
        raise unreadable(
            path,
            f"declares {axes} axes {shape} from byte {offset}; expected 1 to 7 axes of at least "
            "one pixel each",
        )
    check_pixels(path, shape[:3])
    needed = offset + math.prod(shape) * int(header.get_data_dtype().itemsize)
    check_size(path, needed)
    return needed


def _shape(header: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in header.get_data_shape())


def _stored_shape(header: Any) -> tuple[int, ...]:
    """Return the shape without singleton axes for time, direction and so on."""
    shape = _shape(header)
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    return shape


def _header(path: Path, head: bytes) -> Any:
    if head[4:7] in {b"n+2", b"ni2"}:
        kind: Any = nib.Nifti2Header
    elif head[344:347] in {b"n+1", b"ni1"}:
        kind = nib.Nifti1Header
    else:
        raise truncated(path, f"has {len(head)} bytes where a NIfTI header should be")
    try:
        header = kind(head[: kind.sizeof_hdr], check=False)
        header.get_data_dtype()
    except (KeyError, *_BROKEN) as error:
        raise unreadable(path, f"has a broken NIfTI header ({error!r})") from error
    if bytes(header["magic"]).startswith(b"ni"):
        raise unsupported(
            path, "is the header of a .hdr/.img pair; expected NIfTI in one file (.nii)"
        )
    return header


def _array(path: Path, raw: Array, header: Any) -> Array:
    shape, dtype = _stored_shape(header), header.get_data_dtype()
    needed = _needed(path, bytes(raw[:_LONGEST_HEADER]))
    if len(raw) < needed:
        raise truncated(path, f"has {len(raw)} bytes; its header declares {needed}")
    offset = int(header.get_data_offset())
    values: Array = np.frombuffer(raw, dtype, count=math.prod(shape), offset=offset)
    check_numeric(path, values)
    return values.reshape(shape[::-1])


def _affine(path: Path, header: Any, first: int) -> NDArray[np.float64] | None:
    """Return the sform; the qform if there is none, or if the sform is singular.

    A damaged sform with a valid qform is common: tools that only know the qform write zeros.
    """
    forms = {"sform": header.get_sform, "qform": partial(_qform, path, header)}
    coded = [form for name, form in forms.items() if int(header[f"{name}_code"])]
    if not coded:
        return None
    if len(coded) == len(forms):
        _check_forms(path, header)
    matrix = next(
        (candidate for candidate in (form() for form in coded) if _spans_space(candidate)), None
    )
    if matrix is None:
        raise ReadError(
            f"{path.name}: its affine is singular; expected three independent axes",
            code="singular-affine",
        )
    matrix = np.asarray(matrix, dtype=np.float64)
    matrix[:3] *= _millimetres(header)
    matrix[:3, 3] += first * matrix[:3, 2]
    return matrix[:, [2, 1, 0, 3]]


def _check_forms(path: Path, header: Any) -> None:
    try:
        qform = _qform(path, header)
    except ReadError:
        return  # a damaged one contradicts nothing; it is rejected where it is needed
    check_forms(path, header.get_sform(), qform)


def _qform(path: Path, header: Any) -> Any:
    """Compute the affine of the qform (method 2 of nifti1.h).

    ``pixdim[0]`` is the sign of the third axis, and 1 if it is 0. The others are the sizes of a
    voxel and positive; a negative one is replaced by 1 in nifti1_io, by its absolute value in
    nibabel, and means a mirrored axis in Analyze, from which it comes.
    """
    widths = np.asarray(header["pixdim"][1:4], np.float64)
    if not (widths > 0).all():
        raise ReadError(
            f"{path.name}: pixdim states voxels of {' x '.join(f'{size:g}' for size in widths)}, "
            "and there is no sform; expected positive sizes (nifti1.h), since tools interpret "
            "others differently",
            code="singular-affine",
        )
    fixed = header.copy()
    fixed["pixdim"][0] = -1 if header["pixdim"][0] < 0 else 1
    try:
        return fixed.get_qform()
    except (ValueError, *_BROKEN) as error:
        raise ReadError(
            f"{path.name}: its qform is not a rotation", code="singular-affine"
        ) from error


def _spans_space(matrix: Any) -> bool:
    lengths = np.linalg.norm(matrix[:3, :3], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        volume = abs(np.linalg.det(matrix[:3, :3] / lengths))
    return bool(np.isfinite(matrix).all() and volume > 1e-3)


def _spacing(header: Any, affine: NDArray[np.float64] | None) -> tuple[float, float, float] | None:
    """Return the voxel sizes from the affine; from ``pixdim`` if there is none or it is a dummy.

    A dummy affine has voxels of size 1 along the axes, whatever ``pixdim`` states: files of ACDC
    and EMIDEC.
    """
    zooms = [float(zoom) for zoom in header.get_zooms()[:3]]
    stated = np.asarray([*zooms, 1.0][:3])[::-1] * _millimetres(header)
    positive = bool(np.isfinite(stated).all() and (stated > 0).all())
    if affine is None and not positive:
        return None
    if affine is None or (positive and _is_dummy(affine[:3, :3] / _millimetres(header))):
        sizes = stated
    else:
        sizes = np.linalg.norm(affine[:3, :3], axis=0)
    between, rows, columns = (float(size) for size in sizes)
    return (between, rows, columns)


def _is_dummy(axes: NDArray[np.float64]) -> bool:
    return bool(np.allclose(np.sort(np.abs(axes), axis=0), [[0.0] * 3, [0.0] * 3, [1.0] * 3]))


def _millimetres(header: Any) -> float:
    return _MILLIMETRES.get(int(header["xyzt_units"]) & 7, 1.0)


def _greys(path: Path, header: Any) -> PixelSemantics:
    slope, intercept = float(header["scl_slope"]), float(header["scl_inter"])
    if slope == 0 or not np.isfinite(slope):
        return PixelSemantics()  # nifti1.h: no scaling
    if not np.isfinite(intercept):
        raise unreadable(path, f"scl_inter is {intercept}; expected a finite number")
    return PixelSemantics(slope=slope, intercept=intercept)

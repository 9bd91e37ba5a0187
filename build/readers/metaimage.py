"""MetaImage reader (``.mhd`` with ``.raw``, ``.mha``), through ITK."""

from __future__ import annotations

import math
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK
from numpy.typing import NDArray

from medrcube.build.pixels.volume import PixelSemantics, Volume
from medrcube.build.readers.ascii_paths import ascii_path
from medrcube.build.readers.non_finite import fill_non_finite
from medrcube.build.readers.read_errors import (
    as_stack,
    check_numeric,
    check_pixels,
    check_size,
    first_slice,
    truncated,
    unreadable,
    unsupported,
)
from medrcube.errors import ReadError

__all__ = ["read"]

_DATA_FILE = re.compile(rb"^\s*ElementDataFile\s*=([^\r\n]*)", re.MULTILINE)
_AXES = re.compile(rb"^\s*NDims\s*=\s*(\d{1,9})\s*$", re.MULTILINE)
_PACKED = re.compile(rb"^\s*CompressedData\s*=\s*True\s*$", re.MULTILINE | re.IGNORECASE)
_TEXT = re.compile(rb"^\s*BinaryData\s*=\s*False\s*$", re.MULTILINE | re.IGNORECASE)
_HEADER_SIZE = re.compile(rb"^\s*HeaderSize\s*=\s*(-?\d{1,12})\s*$", re.MULTILINE)
_ANY_DEFLATE = zlib.MAX_WBITS | 32
"""The header of zlib or of gzip, whichever is there."""
_PIECE = 1 << 20
_MOST_AXES = 5
_LONGEST_HEADER = 1 << 16
_LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read a 2-D, 3-D or 4-D MetaImage; ITK's LPS coordinates become RAS.

    Raises:
        ReadError: code ``truncated`` (also when the ``.raw`` file is missing or short),
            ``unreadable``, ``outside-root``, ``too-large``, ``unsupported-format``,
            ``singular-affine``, ``not-finite``, ``missing-frame``.
    """
    image = _load(path)
    if image.GetNumberOfComponentsPerPixel() != 1:
        raise unsupported(path, "holds several values per pixel; expected one")
    array = np.asarray(_Pixels(image))
    check_numeric(path, array)
    affine = _affine(path, image, first_slice(array, frame))
    spacing = image.GetSpacing()
    slices, greys = fill_non_finite(path, as_stack(path, array, frame), PixelSemantics())
    return Volume(
        slices=slices,
        spacing=(spacing[2] if len(spacing) > 2 else 1.0, spacing[1], spacing[0]),
        affine=affine,
        greys=greys,
        solid=True,
    )


class _Pixels:
    """Pixels of an ITK image where they lie; an array made of this keeps the image alive."""

    def __init__(self, image: Any) -> None:
        self._image = image
        self.__array_interface__ = SimpleITK.GetArrayViewFromImage(image).__array_interface__


def _load(path: Path) -> Any:
    toolkit: Any = SimpleITK
    toolkit.ProcessObject.SetGlobalDefaultNumberOfThreads(1)  # workers run one thread each
    pixels = _check_header(path)
    with ascii_path(path, [] if pixels == "LOCAL" else [pixels]) as link:
        return _read(path, pixels, link, toolkit)


def _read(path: Path, pixels: str, link: Path, toolkit: Any) -> Any:
    reader = toolkit.ImageFileReader()
    reader.SetImageIO("MetaImageIO")
    reader.SetFileName(str(link))
    try:
        reader.ReadImageInformation()
        item = toolkit.GetArrayViewFromImage(toolkit.Image([1, 1], reader.GetPixelID())).itemsize
        shape = (*reader.GetSize(), reader.GetNumberOfComponents(), item)
    except (OverflowError, RuntimeError, TypeError) as error:
        raise unreadable(path, "has a damaged MetaImage header; get the file again") from error
    check_pixels(path, reader.GetSize()[:3])
    check_size(path, math.prod(shape))
    _check_length(path, pixels, math.prod(shape))
    try:
        return reader.Execute()
    except RuntimeError as error:
        raise truncated(
            path, "cannot be read: its pixel data (the .raw file?) are missing or short"
        ) from error


def _check_header(path: Path) -> str:
    """Name of the file of pixels, ``LOCAL`` for the file itself.

    Refuses a header that ends ITK's process, or that leads to files that no case names.
    """
    with path.open("rb") as file:
        head = file.read(_LONGEST_HEADER)
    axes, match = _AXES.search(head), _DATA_FILE.search(head)
    if axes is None or not 1 <= int(axes[1]) <= _MOST_AXES:
        raise unreadable(path, f"has no number of axes (NDims) from 1 to {_MOST_AXES}")
    name = os.fsdecode(match[1]).strip() if match else ""
    if not name:
        raise unreadable(path, "does not say where its pixels are (ElementDataFile)")
    if "/" in name or "\\" in name:
        raise ReadError(
            f"{path.name}: takes its pixels from another folder; expected a file beside it",
            code="outside-root",
        )
    if name.upper().startswith("LIST") or "%" in name:
        raise unsupported(path, "is spread over a list of files; expected one file of pixels")
    return name


def _check_length(path: Path, pixels: str, promised: int) -> None:
    """Refuse a file that ends before its last voxel: ITK makes up what is missing.

    What is compressed is unpacked piece by piece; numbers written as text have no known length.

    Raises:
        ReadError: code ``truncated``.
    """
    local = pixels.upper() == "LOCAL"
    file = path if local else path.parent / pixels
    with path.open("rb") as header:
        head = header.read(_LONGEST_HEADER)
    if _TEXT.search(head):
        return
    match = _DATA_FILE.search(head)
    begin = head.find(b"\n", match.end()) + 1 if local and match else _skipped(head)
    if not file.is_file():
        raise truncated(path, f"its file of pixels {file.name} is missing")
    if _PACKED.search(head):
        there = _unpacked(file, begin, promised)
    else:
        # HeaderSize = -1 puts the pixels at the end of the file, whatever goes before.
        there = file.stat().st_size - max(begin, 0)
    if there < promised:
        raise truncated(
            path, f"promises {promised:,} bytes of pixels but {file.name} holds {max(there, 0):,}"
        )


def _skipped(head: bytes) -> int:
    match = _HEADER_SIZE.search(head)
    return int(match[1]) if match else 0


def _unpacked(file: Path, begin: int, enough: int) -> int:
    """Number of bytes that a deflate stream holds, counted no further than ``enough``."""
    unpacker = zlib.decompressobj(wbits=_ANY_DEFLATE)
    count = 0
    with file.open("rb") as packed:
        packed.seek(max(begin, 0))
        while count < enough and not unpacker.eof:
            data = unpacker.unconsumed_tail or packed.read(_PIECE)
            try:
                piece = unpacker.decompress(data, _PIECE)
            except zlib.error:
                break
            count += len(piece)
            if not data and not piece:
                break
    return count


def _affine(path: Path, image: Any, first: int) -> NDArray[np.float64] | None:
    axes = image.GetDimension()
    if axes < 3:
        return None
    direction = np.asarray(image.GetDirection()).reshape(axes, axes)[:3, :3]
    step = direction * np.asarray(image.GetSpacing()[:3])
    if not abs(np.linalg.det(step)) > 0:
        raise ReadError(
            f"{path.name}: its axes do not span space; expected three directions",
            code="singular-affine",
        )
    matrix = np.eye(4)
    matrix[:3, :3] = step[:, ::-1]
    matrix[:3, 3] = np.asarray(image.GetOrigin()[:3]) + first * step[:, 2]
    return np.asarray(_LPS_TO_RAS @ matrix)

"""A grey frame of a single-frame file, decoded without pydicom's runner.

The runner takes a millisecond a frame for options and checks, as long as an RLE decoder takes for a
slice of CT. Headers that leave no choice go straight to the function that pydicom would call; all
others, and every failure, are left to pydicom.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from pydicom.dataset import Dataset
from pydicom.pixels.decoders.base import get_decoder
from pydicom.pixels.utils import get_j2k_parameters
from pydicom.uid import (
    JPEG2000,
    UID,
    JPEG2000Lossless,
    JPEGLossless,
    JPEGLosslessSV1,
    RLELossless,
)

from medrcube.build.pixels.volume import Array
from medrcube.build.readers.dicom.header_scan import ScannedHeader

__all__ = ["decode_directly"]

_JPEG_2000 = (JPEG2000, JPEG2000Lossless)
_SYNTAXES = (JPEGLossless, JPEGLosslessSV1, RLELossless, *_JPEG_2000)
_GREY = ("MONOCHROME1", "MONOCHROME2")
_START = struct.Struct("<HH2sHI")
_ITEM = struct.Struct("<HHI")
_PIXEL_DATA = (0x7FE0, 0x0010, b"OB", 0, 0xFFFFFFFF)
_ITEM_TAG, _END_TAG = (0xFFFE, 0xE000), (0xFFFE, 0xE0DD)
_NO_OFFSET = (b"", bytes(4))
"""Basic offset tables of a single frame: none, or the offset 0."""

_Decode = Callable[..., bytes | bytearray]


def decode_directly(path: Path, header: Dataset) -> Array | None:
    """Decode the only frame of a file, with all allocated bits; ``None`` if pydicom has to do it.

    Returns ``None`` unless a pixel is one grey sample of 8 or 16 bits, in a transfer syntax and
    with a sign that the decoder returns as stored.
    """
    syntax = header.file_meta.TransferSyntaxUID
    if not isinstance(header, ScannedHeader) or syntax not in _SYNTAXES:
        return None
    rows, columns, allocated, bits_stored, sign = (
        header.get(keyword)
        for keyword in ("Rows", "Columns", "BitsAllocated", "BitsStored", "PixelRepresentation")
    )
    grey = header.get("SamplesPerPixel") == 1 and header.get("PhotometricInterpretation") in _GREY
    single = int(header.get("NumberOfFrames") or 1) == 1
    usual = allocated in (8, 16) and sign in (0, 1) and 1 <= (bits_stored or 0) <= allocated
    decode = _decoder_of(syntax) if grey and single and usual else None
    if decode is None:
        return None
    with path.open("rb") as file:
        file.seek(header.pixels_at)
        coded = _encoded_frame(file)
    if coded is None or (syntax in _JPEG_2000 and not _as_stored(coded, allocated, sign)):
        return None
    try:
        data = decode(coded, version=2, rows=rows, columns=columns, bits_allocated=allocated)
    except Exception:  # noqa: BLE001  # pydicom tries again, and its error is reported
        return None
    dtype = np.dtype(f"<{'i' if sign else 'u'}{allocated // 8}")
    if len(data) != rows * columns * dtype.itemsize:
        return None
    frame: Array = np.frombuffer(data, dtype)
    return frame.reshape(rows, columns)


@cache
def _decoder_of(syntax: UID) -> _Decode | None:
    """Return the function that pydicom's plugin ``pylibjpeg`` calls; ``None`` without one."""
    if "pylibjpeg" not in get_decoder(syntax).available_plugins:
        return None
    from pylibjpeg.utils import get_pixel_data_decoders  # noqa: PLC0415  # an optional package

    functions: Any = get_pixel_data_decoders(version=2)[syntax]
    decode: _Decode = functions[min(functions)]
    return decode


def _encoded_frame(file: BinaryIO) -> bytes | None:
    """Return the fragments of the element at the file position, joined: they are one frame."""
    head = file.read(_START.size)
    if len(head) < _START.size or _START.unpack(head) != _PIXEL_DATA:
        return None
    items: list[bytes] = []
    while len(head := file.read(_ITEM.size)) == _ITEM.size:
        *tag, length = _ITEM.unpack(head)
        if tuple(tag) != _ITEM_TAG:
            break
        items.append(file.read(length))
    ends = not head or (len(head) == _ITEM.size and tuple(tag) == _END_TAG)
    return b"".join(items[1:]) if items and items[0] in _NO_OFFSET and ends else None


def _as_stored(codestream: bytes, allocated: int, sign: int) -> bool:
    """Whether JPEG 2000 is decoded to pixels of the width and the sign that the header states."""
    stated = get_j2k_parameters(codestream)
    precision = stated.get("precision", 0)
    return allocated - 8 < precision <= allocated and stated.get("is_signed") == bool(sign)

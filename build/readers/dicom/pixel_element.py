"""Pixel data of a file whose header was scanned, read from their known position.

pydicom reads the whole file again for each frame that it decodes, which takes longer than reading
an uncompressed slice.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from pydicom.dataelem import DataElement
from pydicom.dataset import Dataset
from pydicom.uid import ExplicitVRLittleEndian, ImplicitVRLittleEndian

from medrcube.build.pixels.volume import Array
from medrcube.build.readers.dicom.header_scan import ScannedHeader

__all__ = ["coded_frame", "stored_frame"]

_PIXEL_DATA = 0x7FE00010
_IMAGE_GROUP = 0x0028
_UNDEFINED = 0xFFFFFFFF
_ITEM = (0xFFFE, 0xE000)
_BARE = (ExplicitVRLittleEndian, ImplicitVRLittleEndian)
_WIDTHS = (8, 16)


def stored_frame(path: Path, header: Dataset, k: int) -> Array | None:
    """Read frame ``k`` of uncompressed grey pixels; ``None`` if pydicom has to read it.

    Only unambiguous headers are handled here: one sample of 8 or 16 bits, and as many bytes as the
    header states.
    """
    syntax = header.file_meta.TransferSyntaxUID
    if not isinstance(header, ScannedHeader) or syntax not in _BARE:
        return None
    rows, columns, samples, allocated, bits_stored, sign, frames = (
        header.get(keyword, default)
        for keyword, default in (
            ("Rows", 0),
            ("Columns", 0),
            ("SamplesPerPixel", 0),
            ("BitsAllocated", 0),
            ("BitsStored", 0),
            ("PixelRepresentation", -1),
            ("NumberOfFrames", 1),
        )
    )
    count = int(frames or 1)
    usual = samples == 1 and allocated in _WIDTHS and sign in (0, 1) and 0 <= k < count
    if not usual or not 1 <= (bits_stored or 0) <= allocated:
        return None
    dtype = np.dtype(f"<{'i' if sign else 'u'}{allocated // 8}")
    size = rows * columns * dtype.itemsize
    with path.open("rb") as file:
        file.seek(header.pixels_at)
        start = _bare_start(file.read(12), explicit=syntax == ExplicitVRLittleEndian)
        if start is None or start[1] != count * size + count * size % 2:
            return None
        file.seek(header.pixels_at + start[0] + k * size)
        frame: Array = np.fromfile(file, dtype, rows * columns)
    return frame.reshape(rows, columns) if frame.size == rows * columns else None


def _bare_start(head: bytes, *, explicit: bool) -> tuple[int, int] | None:
    """Return the offset of the pixel data value from its tag, and its length."""
    if len(head) < 12 or struct.unpack("<HH", head[:4]) != (
        _PIXEL_DATA >> 16,
        _PIXEL_DATA & 0xFFFF,
    ):
        return None
    if explicit and head[4:6] not in (b"OB", b"OW"):
        return None
    (length,) = struct.unpack("<I", head[8:12] if explicit else head[4:8])
    return None if length == _UNDEFINED else (12 if explicit else 8, length)


def coded_frame(path: Path, header: Dataset) -> Dataset | None:
    """Return what a decoder needs for one encoded frame; ``None`` if it needs the whole file."""
    if not isinstance(header, ScannedHeader) or int(header.get("NumberOfFrames") or 1) != 1:
        return None
    with path.open("rb") as file:
        file.seek(header.pixels_at)
        group, number, vr, _, length = struct.unpack("<HH2sHI", file.read(12))
        if (group << 16 | number, vr, length) != (_PIXEL_DATA, b"OB", _UNDEFINED):
            return None
        size = _size_of_items(file)
        file.seek(header.pixels_at + 12)
        data = file.read(size)
    source = header.group_dataset(_IMAGE_GROUP)
    source.file_meta = header.file_meta
    source.add(DataElement(_PIXEL_DATA, "OB", data, is_undefined_length=True))
    return source


def _size_of_items(file: BinaryIO) -> int:
    """Return the size in bytes of the items at the file position, without the delimiter."""
    start = end = file.tell()
    while len(head := file.read(8)) == 8 and struct.unpack("<HH", head[:4]) == _ITEM:
        end = file.seek(struct.unpack("<I", head[4:])[0], os.SEEK_CUR)
    return end - start

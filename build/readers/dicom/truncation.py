"""Truncation check of DICOM pixel data."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

from pydicom.uid import UID

__all__ = ["has_pixel_data", "is_whole"]

_PIXEL_TAGS = {(0x7FE0, 0x0008), (0x7FE0, 0x0009), (0x7FE0, 0x0010)}
_ITEM = (0xFFFE, 0xE000)
_UNDEFINED = 0xFFFFFFFF


def has_pixel_data(file: BinaryIO, syntax: UID) -> bool:
    """Whether a pixel data element begins at the file position, which is kept."""
    tag = _read(file, "HH", syntax)
    file.seek(-4 if tag else 0, os.SEEK_CUR)
    return tag in _PIXEL_TAGS


def is_whole(file: BinaryIO, syntax: UID) -> bool:
    """Whether the pixel data at the file position are complete.

    Decoders of JPEG and JPEG-LS silently fill what is missing with grey. A missing sequence
    delimiter at the end is tolerated: all fragments are present (PS3.5 A.4).
    """
    start = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(start + (4 if syntax.is_implicit_VR else 8))
    length = _read(file, "I", syntax)
    if length is None:
        return False
    if length[0] != _UNDEFINED:
        return file.tell() + int(length[0]) <= size
    while (item := _read(file, "HHI", syntax)) and item[:2] == _ITEM:
        if file.seek(item[2], os.SEEK_CUR) > size:
            return False
    return True


def _read(file: BinaryIO, layout: str, syntax: UID) -> tuple[int, ...] | None:
    layout = ("<" if syntax.is_little_endian else ">") + layout
    data = file.read(struct.calcsize(layout))
    return struct.unpack(layout, data) if len(data) == struct.calcsize(layout) else None

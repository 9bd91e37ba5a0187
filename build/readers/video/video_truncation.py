"""Truncation check of AVI and QuickTime/MP4 files.

Decoders take a truncated file for a shorter film, in which a frame chosen by its relative position
is a different one.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import BinaryIO

__all__ = ["is_whole"]

_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
# Written in place of a length by writers that cannot seek back.
_UNSTATED = (0, 0xFFFFFFFF)


def is_whole(path: Path) -> bool:
    """Whether an AVI or QuickTime/MP4 file is complete; true for formats that state no length."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        head = file.read(12)
        if head[:4] == b"RIFF" and len(head) == 12:
            (length,) = struct.unpack("<I", head[4:8])
            return length in _UNSTATED or 8 + int(length) <= size
        return head[4:8] not in _BOXES or _ends(file) <= size


def _ends(file: BinaryIO) -> int:
    """Return where the last top-level box ends (ISO/IEC 14496-12, 4.2)."""
    place = 0
    while True:
        file.seek(place)
        head = file.read(16)
        if len(head) < 8:
            return place
        length = int.from_bytes(head[:4], "big")
        if length == 1:
            length = int.from_bytes(head[8:], "big")
        if length < 8:  # 0: up to the end of the file; else damaged, which decoding reports
            return place
        place += length

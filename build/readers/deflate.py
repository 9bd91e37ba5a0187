"""Uncompressed length of a deflate stream, without keeping its content."""

from __future__ import annotations

import zlib
from pathlib import Path

__all__ = ["unpacked_length"]

_ANY_DEFLATE = zlib.MAX_WBITS | 32
"""Accepts a zlib or a gzip header."""
_PIECE = 1 << 20


def unpacked_length(file: Path, begin: int, enough: int) -> int:
    """Return the uncompressed length of a deflate stream in bytes; counting stops at ``enough``."""
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

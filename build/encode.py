"""PNG bytes and the identity of a picture.

Equal pixels give other bytes under another deflate library, so a picture is identified by its
pixels: ``pixel_hash``. The bytes are promised only for this encoder, named ``ENCODER``.
"""

from __future__ import annotations

import hashlib
import struct
from importlib.metadata import version

import deflate
import numpy as np
from numpy.typing import NDArray

_LEVEL = 1
"""Measured on CT slices: seven times as fast as level 6, for seven per cent more bytes."""
ENCODER = f"png/up-filter/libdeflate-{_LEVEL} (deflate {version('deflate')})"
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_UP = 2


def pixel_hash(pixels: NDArray[np.uint8]) -> str:
    """SHA-256 over shape, dtype and pixels in C order."""
    digest = hashlib.sha256(f"{pixels.shape}{pixels.dtype.str}".encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode a grey ``(rows, columns)`` or colour ``(rows, columns, 3)`` picture, 8 bit.

    Only IHDR, IDAT and IEND are written: a picture carries pixels and nothing else.
    """
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    rows = np.ascontiguousarray(pixels).reshape(height, -1)
    lines = np.empty((height, rows.shape[1] + 1), np.uint8)
    lines[:, 0] = _UP
    lines[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=lines[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    data = bytes(deflate.zlib_compress(lines.tobytes(), _LEVEL))
    return _SIGNATURE + b"".join(
        _chunk(name, body) for name, body in ((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))
    )


def _chunk(name: bytes, body: bytes) -> bytes:
    crc = deflate.crc32(name + body)
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc)

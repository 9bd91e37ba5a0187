"""Encoder for lossless JPEG (process 14, first predictor), which pydicom cannot write.

ITU-T T.81 annex H. The table of codes gives short codes to small differences, as a scanner's own
encoder does; it is not fitted to the image.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

__all__ = ["encode_jpeg_lossless"]

_LENGTHS = (3, 3, 3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)
"""Bits of the code of each category of differences, 0 to 16."""


def encode_jpeg_lossless(pixels: NDArray[np.uint16], bits: int) -> bytes:
    """A grey image of ``bits`` bits, 15 at most, as one lossless JPEG stream."""
    height, width = pixels.shape
    values = pixels.astype(np.int32)
    predicted = np.empty_like(values)
    predicted[0, 0] = 1 << (bits - 1)
    predicted[1:, 0] = values[:-1, 0]
    predicted[:, 1:] = values[:, :-1]
    difference = (values - predicted).ravel()
    size = np.ceil(np.log2(np.abs(difference) + 1.0)).astype(np.int64)
    extra = np.where(difference < 0, difference + (1 << size) - 1, difference)
    codes = np.array(_codes())[size]
    total = np.array(_LENGTHS)[size] + size
    scan = _packed((codes << size) | extra, total).replace(b"\xff", b"\xff\0")
    counts = bytes(_LENGTHS.count(length) for length in range(1, 17))
    return b"".join(
        (
            b"\xff\xd8",
            _segment(0xC4, b"\0" + counts + bytes(range(17))),
            _segment(0xC3, struct.pack(">BHHB3B", bits, height, width, 1, 1, 0x11, 0)),
            _segment(0xDA, struct.pack(">B2B3B", 1, 1, 0, 1, 0, 0)),
            scan,
            b"\xff\xd9",
        )
    )


def _codes() -> list[int]:
    """Codes in the order of their lengths (annex C)."""
    codes, code, length = [], 0, _LENGTHS[0]
    for each in _LENGTHS:
        code <<= each - length
        length = each
        codes.append(code)
        code += 1
    return codes


def _packed(words: NDArray[np.int64], lengths: NDArray[np.int64]) -> bytes:
    """Words of several lengths as one stream of bits, filled up with ones."""
    ends = np.cumsum(lengths)
    stream = np.ones(-(-int(ends[-1]) // 8) * 8, np.uint8)
    for place in range(int(lengths.max())):
        there = lengths > place
        stream[ends[there] - 1 - place] = words[there] >> place & 1
    return np.packbits(stream).tobytes()


def _segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

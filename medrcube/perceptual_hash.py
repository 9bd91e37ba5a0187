"""Perceptual hash (DCT, 64 bit) and the 32 x 32 thumbnail that it is computed from.

The hash is the DCT hash of Zauner, "Implementation and benchmarking of perceptual image hash
functions", 2010: cosine transform of the grey values, 8 x 8 coefficients after the first row and
column, one bit each for lying above their median. The cosines are integers, so every sum is exact
and every machine computes the same bits. The hash survives re-encoding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

__all__ = ["MAX_DISTANCE", "SIDE", "Thumbnail", "dct_hashes", "perceptual_hash", "thumbnail"]

MAX_DISTANCE = 8
"""Largest Hamming distance between hashes of one image encoded in two ways; measured in
``build.similarity.thresholds``.
"""

SIDE = 32
_SCALE = 4096
"""Sums of 255 * 32 * 32 * _SCALE ** 2 stay below 2 ** 53, up to which floats are exact integers."""
_REDUCED = frozenset(SIDE << power for power in range(1, 8))
"""Sides of square images that ``reduce`` averages to the pixels of ``resize`` in two thirds of the
time. The fixed-point weights of both are exact for powers of two alone, and ``resize`` may begin
with the rows where there are more of them.
"""
_AT_ONCE = 1000
"""Images per batch of floats."""

Thumbnail = NDArray[np.uint8]
"""Grey values, shape (32, 32) or (n, 32, 32)."""


def perceptual_hash(pixels: NDArray[np.uint8]) -> str:
    """Hash a grey (rows, columns) or colour (rows, columns, 3) image; returns 16 hex digits."""
    return f"{int(dct_hashes(thumbnail(Image.fromarray(pixels))[None])[0]):016x}"


def thumbnail(picture: Image.Image) -> Thumbnail:
    """Downscale an image to (32, 32) grey values by box averaging, ignoring its aspect ratio."""
    grey = picture if picture.mode == "L" else picture.convert("L")
    if grey.width == grey.height and grey.width in _REDUCED:
        factor = grey.width // SIDE
        return np.asarray(grey.reduce((factor, 1)).reduce((1, factor)))
    return np.asarray(grey.resize((SIDE, SIDE), Image.Resampling.BOX))


def dct_hashes(small: Thumbnail) -> NDArray[np.uint64]:
    """Hash thumbnails of shape (n, 32, 32); returns shape (n,)."""
    hashes = np.zeros(len(small), np.uint64)
    for start in range(0, len(small), _AT_ONCE):
        part = small[start : start + _AT_ONCE].astype(np.float64)
        low = (_COSINES @ part @ _COSINES.T).reshape(len(part), 64)
        median = np.sort(low, axis=1)[:, 31:33].sum(axis=1, keepdims=True) / 2
        bits = np.packbits(low > median, axis=1, bitorder="little")
        hashes[start : start + len(part)] = bits.view("<u8")[:, 0]
    return hashes


def _cosines() -> NDArray[np.float64]:
    """Return rows 1 to 8 of the 32-point DCT, unscaled, since the median is scale-invariant."""
    row, place = np.arange(1, 9)[:, None], np.arange(SIDE)[None, :]
    waves: NDArray[np.float64] = np.cos(np.pi * row * (2 * place + 1) / (2 * SIDE))
    return np.rint(waves * _SCALE)


_COSINES = _cosines()

"""Pixel hash (SHA-256 over shape, dtype and pixels), independent of the encoder."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["pixel_hash"]


def pixel_hash(pixels: NDArray[np.uint8]) -> str:
    """Return the SHA-256 over shape, dtype and pixels in C order."""
    digest = hashlib.sha256(f"{pixels.shape}{pixels.dtype.str}".encode())
    digest.update(np.ascontiguousarray(pixels).data)
    return digest.hexdigest()

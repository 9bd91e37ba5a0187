"""Reader of headerless pixel files, in the layout that an adapter states."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from medrcube.build.pixels.volume import PixelSemantics, Volume
from medrcube.build.readers.read_errors import check_frame
from medrcube.errors import ReadError
from medrcube.facts import PixelLayout

__all__ = ["read"]


def read(path: Path, layout: PixelLayout, frame: int | None = None) -> Volume:
    """Read one integer image.

    Raises:
        ReadError: code ``file-size`` if the file is not exactly as long as its layout requires,
            ``wrong-layout`` if a value needs more bits, ``missing-frame``.
        ValueError: the layout names no integer type.
    """
    dtype = np.dtype(layout.dtype)
    if dtype.kind not in "iu":
        raise ValueError(f"raw pixels of type {layout.dtype!r}; expected integers such as '>u2'")
    check_frame(path, frame, 1)
    expected = layout.rows * layout.columns * dtype.itemsize
    size = path.stat().st_size
    if size != expected:
        raise ReadError(
            f"{path.name}: has {size} bytes; expected {expected} for {layout.rows} x "
            f"{layout.columns} pixels of {dtype.itemsize} bytes: get the file again, or is it "
            "another edition of the data?",
            code="file-size",
        )
    values = np.fromfile(path, dtype).reshape(1, layout.rows, layout.columns)
    pixels = values.astype(dtype.newbyteorder("="), copy=False)
    low = -(2 ** (layout.bits - 1)) if dtype.kind == "i" else 0
    if pixels.min() < low or pixels.max() >= low + 2**layout.bits:
        raise ReadError(
            f"{path.name}: holds values from {pixels.min()} to {pixels.max()}, more than "
            f"{layout.bits} bits; is its byte order different from {layout.dtype!r}?",
            code="wrong-layout",
        )
    return Volume(
        slices=pixels,
        spacing=None if layout.spacing is None else (1.0, *layout.spacing),
        greys=PixelSemantics(bits=layout.bits, inverted=layout.inverted),
    )

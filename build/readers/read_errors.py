"""Errors and limits shared by all readers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from medrcube.build.pixels.volume import Array, Volume
from medrcube.errors import ReadError

__all__ = [
    "MOST_BYTES",
    "MOST_PIXELS",
    "as_stack",
    "check_finite",
    "check_frame",
    "check_frame_of_reference",
    "check_numeric",
    "check_pixels",
    "check_size",
    "first_slice",
    "truncated",
    "unreadable",
    "unsupported",
]

MOST_BYTES = 2 << 30
"""Largest size of one array: four times the longest CT in the sources, far below a decompression
bomb.
"""

MOST_PIXELS = 178_956_970
"""Most pixels of one image: the limit at which Pillow, too, assumes a decompression bomb."""


def truncated(path: Path, what: str) -> ReadError:
    """Return the error for a file that ends early."""
    return ReadError(f"{path.name}: {what}; get the file again", code="truncated")


def unreadable(path: Path, what: str) -> ReadError:
    """Return the error for a file that is damaged, or not what its first bytes indicate."""
    return ReadError(f"{path.name}: {what}", code="unreadable")


def unsupported(path: Path, what: str) -> ReadError:
    """Return the error for an intact file of an unsupported kind."""
    return ReadError(f"{path.name}: {what}", code="unsupported-format")


def check_size(path: Path, size: int) -> None:
    """Reject an array before it is allocated (code ``too-large``).

    Args:
        path: names the file in errors.
        size: exact size of the array in bytes; a damaged header can state any number.
    """
    if not 0 <= size <= MOST_BYTES:
        raise ReadError(
            f"{path.name}: declares {size} bytes of pixels; expected at most {MOST_BYTES}: its "
            "header is damaged, or crafted to exhaust memory",
            code="too-large",
        )


def check_pixels(path: Path, shape: Sequence[int]) -> None:
    """Reject an image with implausibly many pixels before it is allocated (code ``too-large``).

    Args:
        path: names the file in errors.
        shape: spatial axes; an image may lie across any two.
    """
    rows, columns = sorted((1, 1, *shape))[-2:]
    if rows * columns > MOST_PIXELS:
        raise ReadError(
            f"{path.name}: declares an image of {rows} x {columns} pixels; expected at most "
            f"{MOST_PIXELS}: its header is damaged, or crafted to exhaust memory",
            code="too-large",
        )


def check_frame(path: Path, frame: int | None, count: int) -> None:
    """Reject a frame that the file does not have (code ``missing-frame``)."""
    if frame is not None and not 0 <= frame < count:
        raise ReadError(
            f"{path.name}: frame {frame} (counted from 0) was requested, but the file has {count}",
            code="missing-frame",
        )


def check_finite(path: Path, array: Array) -> None:
    """Reject NaN and infinity, which have no grey value (code ``not-finite``)."""
    if array.dtype.kind != "f":
        return
    for part in array if array.ndim > 2 else (array,):
        if not np.isfinite(part).all():
            raise ReadError(
                f"{path.name}: holds NaN or infinite values; expected finite ones",
                code="not-finite",
            )


def check_numeric(path: Path, array: Array) -> None:
    """Reject complex, structured and text data (code ``unsupported-format``)."""
    if array.dtype.kind not in "iufb":
        raise unsupported(path, f"holds {array.dtype} values; expected real numbers")


def as_stack(path: Path, array: Array, frame: int | None) -> Array:
    """Reshape an array with 2 to 4 axes, slowest first, to ``(n, rows, columns)``; select a frame.

    Args:
        path: names the file in errors.
        array: ``(rows, columns)``, ``(n, rows, columns)`` or ``(time, n, rows, columns)``.
        frame: entry of the slowest axis, or ``None`` for all.

    Raises:
        ReadError: code ``missing-frame`` or ``unsupported-format``.
    """
    while array.ndim > 4 and array.shape[0] == 1:
        array = array[0]
    if array.ndim == 2:
        array = array[None]
    if array.ndim not in {3, 4} or not array.size:
        raise unsupported(path, f"has the shape {array.shape}; expected 2 to 4 axes with data")
    if array.ndim == 3:
        check_frame(path, frame, len(array))
        return array if frame is None else array[frame : frame + 1]
    if frame is None and len(array) > 1:
        raise ReadError(
            f"{path.name}: has {len(array)} time points and none is selected; the adapter must "
            "name one as ImageRef.frame",
            code="missing-frame",
        )
    check_frame(path, frame, len(array))
    picture: Array = array[frame or 0]
    return picture


def first_slice(array: Array, frame: int | None) -> int:
    """Return the index of slice 0 of ``as_stack(..., frame)`` on the slice axis of the file."""
    return frame if frame is not None and array.ndim == 3 else 0


def check_frame_of_reference(path: Path, frame_of_reference: str, volume: Volume) -> None:
    """Reject marks drawn in another frame of reference than that of their image (DICOM C.7.4.1).

    Args:
        path: file of the marks.
        frame_of_reference: its FrameOfReferenceUID, or empty.
        volume: the image.

    Raises:
        ReadError: code ``frame-of-reference``.
    """
    if (
        frame_of_reference
        and volume.frame_of_reference
        and frame_of_reference != volume.frame_of_reference
    ):
        raise ReadError(
            f"{path.name}: has another frame of reference than its image, so its coordinates do "
            "not apply; expected an annotation of this scan",
            code="frame-of-reference",
        )

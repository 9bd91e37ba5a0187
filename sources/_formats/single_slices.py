"""Datasets of single slices stored as images of one size."""

from __future__ import annotations

from typing import Any

from medrcube.errors import ReadError
from medrcube.facts import Case

__all__ = ["only_frame"]


def only_frame(case: Case, volume: Any, *, side: int, release: str) -> list[int]:
    """Return the only frame of an image, which must have the size of the release.

    Args:
        case: case of the image.
        volume: the image as read.
        side: width and height in pixels.
        release: name of the release to download if the size differs.

    Raises:
        ReadError: code ``resized`` if the image has another size.
    """
    rows, columns = volume.slices.shape[1:3]
    if (rows, columns) != (side, side):
        raise ReadError(
            f"{case.key} has {columns} x {rows} pixels; expected {side} x {side}, as the release "
            f"has: get {release}",
            code="resized",
        )
    return [0]

"""Slices that a dataset stores as images of one size."""

from __future__ import annotations

from typing import Any

from medrcube.errors import ReadError
from medrcube.facts import Case

__all__ = ["only_frame"]


def only_frame(case: Case, volume: Any, *, side: int, release: str) -> list[int]:
    """The frame of an image that has the size of its release.

    Args:
        case: whose image it is.
        volume: as read.
        side: pixels of each side.
        release: what to get where the size differs.

    Raises:
        ReadError: code ``resized`` where the image has another size.
    """
    rows, columns = volume.slices.shape[1:3]
    if (rows, columns) != (side, side):
        raise ReadError(
            f"{case.key} has {columns} x {rows} pixels; expected {side} x {side}, as the release "
            f"has: get {release}",
            code="resized",
        )
    return [0]

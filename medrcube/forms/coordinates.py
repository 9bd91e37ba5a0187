"""Reply coordinates: thousandths of the image size, origin at the top left, x first."""

from __future__ import annotations

__all__ = ["CONVENTION", "SCALE", "to_pixels"]

SCALE = 1000
"""Coordinate of the right and bottom edges."""

CONVENTION = (
    "Coordinates run from 0 to 1000: x from the left edge of the image to the right, y from the "
    "top edge to the bottom."
)
"""The prompt sentence that states the convention."""


def to_pixels(x: float, y: float, size: tuple[int, int]) -> tuple[float, float]:
    """Convert to pixels of an image of ``size`` (width, height)."""
    return x * size[0] / SCALE, y * size[1] / SCALE

"""Left-right order of two regions on an image, if it is beyond doubt."""

from __future__ import annotations

from dataclasses import dataclass

from medrcube.build.regions.box_labels import Box

__all__ = ["LEAST_APART", "MOST_SHARED", "Columns", "is_left_of"]

LEAST_APART = 0.08
"""Least distance between the centroids of two regions, as a share of the width of the image."""
MOST_SHARED = 0.25
"""Largest share of the columns of the narrower region that the other one may also cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Horizontal extent of a region, in pixels.

    Attributes:
        centroid: mean column of its pixels.
        first: left edge of the smallest box around it.
        end: right edge, excluded.
    """

    centroid: float
    first: int
    end: int

    @classmethod
    def of(cls, centroid: float, box: Box) -> Columns:
        """Return the horizontal extent of a region with that centroid and smallest box."""
        return cls(centroid=centroid, first=box[0], end=box[2])


def is_left_of(region: Columns, other: Columns, width: int) -> bool | None:
    """Whether a region lies to the left of another; ``None`` if readers might disagree.

    Args:
        region: the region.
        other: the other region, on the same image.
        width: width of the image, in pixels.
    """
    apart = other.centroid - region.centroid
    shared = min(region.end, other.end) - max(region.first, other.first)
    narrower = min(region.end - region.first, other.end - other.first)
    if abs(apart) < LEAST_APART * width or shared > MOST_SHARED * narrower:
        return None
    return apart > 0

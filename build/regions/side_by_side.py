"""Which of two regions lies to the left of the other on an image, where that is beyond doubt."""

from __future__ import annotations

from dataclasses import dataclass

from medrcube.build.regions.box_labels import Box

__all__ = ["LEAST_APART", "MOST_SHARED", "Columns", "is_left_of"]

LEAST_APART = 0.08
"""Between the centroids of two regions, as a share of the width of the image."""
MOST_SHARED = 0.25
"""Of the columns of the narrower region: those that the other one reaches as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Where a region lies across an image, in pixels.

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
        """Columns of a region with that centroid and smallest box."""
        return cls(centroid=centroid, first=box[0], end=box[2])


def is_left_of(region: Columns, other: Columns, width: int) -> bool | None:
    """Whether a region lies to the left of another; ``None`` where readers might not agree.

    Args:
        region: the one.
        other: the other, on the same image.
        width: of the image, in pixels.
    """
    apart = other.centroid - region.centroid
    shared = min(region.end, other.end) - max(region.first, other.first)
    narrower = min(region.end - region.first, other.end - other.first)
    if abs(apart) < LEAST_APART * width or shared > MOST_SHARED * narrower:
        return None
    return apart > 0

"""Findings given in a table by a point and a diameter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import dist

from medrcube.sources._formats.tables.tables import TableRow

__all__ = ["PLACE", "Ball", "ball_of", "lies_alone"]

PLACE = ("coordX", "coordY", "coordZ")
"""Usual column names of a point in challenge tables, in mm (LPS)."""


@dataclass(frozen=True, slots=True)
class Ball:
    """A finding as a ball.

    Attributes:
        place: centre in mm along three axes; the last one is perpendicular to the slices.
        size: diameter in mm; 0 or less if not stated.
    """

    place: tuple[float, float, float]
    size: float


def ball_of(row: TableRow, place: Sequence[str], size: str) -> Ball:
    """Read a ball from three columns for its centre and one for its diameter.

    Raises:
        RowError: one of them is not a number.
    """
    x, y, z = (row.number(column) for column in place)
    return Ball((x, y, z), row.number(size))


def lies_alone(ball: Ball, marks: Iterable[Ball], apart: float) -> bool:
    """Whether no other finding with a size is near the slice through a ball.

    Args:
        ball: the finding.
        marks: marks of all findings; one whose centre is within the ball belongs to it.
        apart: distance that counts as near, in diameters of the mark.
    """
    return all(
        dist(ball.place, other.place) <= ball.size / 2
        or abs(ball.place[2] - other.place[2]) > apart * other.size
        for other in marks
        if other.size > 0
    )

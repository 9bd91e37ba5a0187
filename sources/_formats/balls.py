"""Findings that a table states as a point and a diameter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import dist

from medrcube.sources._formats.tables.tables import TableRow

__all__ = ["PLACE", "Ball", "ball_of", "lies_alone"]

PLACE = ("coordX", "coordY", "coordZ")
"""Columns of a place in tables of challenges: mm to the left, back and head of the patient."""


@dataclass(frozen=True, slots=True)
class Ball:
    """A finding as a ball.

    Attributes:
        place: its middle in mm, along three axes; the last one crosses the slices.
        size: its diameter in mm; not above 0 where none is stated.
    """

    place: tuple[float, float, float]
    size: float


def ball_of(row: TableRow, place: Sequence[str], size: str) -> Ball:
    """Read a ball from three columns of its place and one of its diameter.

    Raises:
        RowError: one of them holds no number.
    """
    x, y, z = (row.number(column) for column in place)
    return Ball((x, y, z), row.number(size))


def lies_alone(ball: Ball, marks: Iterable[Ball], apart: float) -> bool:
    """Whether no mark of anything else that has a size lies near the slice through a ball.

    Args:
        ball: the finding.
        marks: of all findings; one whose middle lies within the ball is a mark of it.
        apart: diameters of a mark from its middle that count as near.
    """
    return all(
        dist(ball.place, other.place) <= ball.size / 2
        or abs(ball.place[2] - other.place[2]) > apart * other.size
        for other in marks
        if other.size > 0
    )

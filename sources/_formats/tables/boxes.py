"""Boxes given by corner and size, in pixels, one per table row."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from medrcube.errors import RowError
from medrcube.facts import Rectangle, Region
from medrcube.sources._formats.tables.tables import TableRow

__all__ = ["CORNER", "box_regions", "corner_box"]

CORNER = ("x", "y", "width", "height")
"""Usual column names of the upper left corner and the size."""


def box_regions(
    rows: Iterable[TableRow], column: str, names: Collection[str], *, field: str
) -> tuple[Region, ...]:
    """Return a region per row whose ``column`` is one of ``names``, a raw value of ``field``.

    Raises:
        RowError: as ``corner_box``, also for rows with other names.
    """
    boxes = [(row, corner_box(row)) for row in rows]
    return tuple(
        Region(field=field, value=row[column], shape=box, evidence=row.place)
        for row, box in boxes
        if row[column] in names
    )


def corner_box(row: TableRow) -> Rectangle:
    """Return the box of a row with columns for upper left corner, width and height.

    Raises:
        RowError: a number is missing, the corner is outside the image, or the box is empty.
    """
    x, y, width, height = (row.number(column) for column in CORNER)
    if min(x, y) < 0 or min(width, height) <= 0:
        cells = ", ".join(f"{column}={row.number(column):g}" for column in CORNER)
        raise RowError(f"{row.place}: {cells} is not a box; expected a corner and a size in pixels")
    return Rectangle(xyxy=(x, y, x + width, y + height))

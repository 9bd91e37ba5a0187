"""Header of a MetaImage volume (``.mhd``): conversion of points in mm to voxel indices."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from medrcube.errors import RowError
from medrcube.facts import Rectangle
from medrcube.sources._formats.balls import Ball
from medrcube.sources._formats.tables.contents import read_text_of_case

__all__ = ["MetaImageHeader", "read_metaimage_header"]

Triple = tuple[float, float, float]
_SAME = {
    "Position": "Offset",
    "Origin": "Offset",
    "Orientation": "TransformMatrix",
    "Rotation": "TransformMatrix",
}
"""Alternative names of header keys."""
_OFF_AXIS = 1e-3
"""By how much an entry of the matrix may differ from 0, 1 or -1: writers store rounded cosines,
and public loaders of LUNA16 round the matrix before they compare it. Over 500 mm a direction that
is off by this much moves a point by half a millimetre.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaImageHeader:
    """A volume whose axes are parallel to those of the patient, in either direction.

    Attributes:
        size: columns, rows, slices.
        spacing: voxel spacing in mm along each axis.
        offset: position of the first voxel in mm (LPS: left, posterior, superior).
        signs: 1 if an axis runs in that direction, -1 if in the opposite one.
        element: voxel type, such as ``MET_SHORT``.
        data_file: name of the voxel file, in the folder of the header.
    """

    size: tuple[int, int, int]
    spacing: Triple
    offset: Triple
    signs: Triple
    element: str
    data_file: str

    def index(self, point: Triple) -> Triple | None:
        """Return column, row and slice of a point; whole numbers are voxel centres.

        ``None`` if the point is outside the volume.
        """
        x, y, z = (
            sign * (place - first) / step
            for place, first, sign, step in zip(
                point, self.offset, self.signs, self.spacing, strict=True
            )
        )
        inside = all(
            -0.5 <= at < count - 0.5 for at, count in zip((x, y, z), self.size, strict=True)
        )
        return (x, y, z) if inside else None

    def square(self, ball: Ball) -> Rectangle | None:
        """Return the square around a ball, on the slices that it intersects.

        ``None`` if its centre, in mm as ``offset``, is outside the volume.
        """
        if (centre := self.index(ball.place)) is None:
            return None
        x, y, z = centre
        half_x, half_y, half_z = (ball.size / 2 / step for step in self.spacing)
        middle, reach = round(z), int(half_z)
        corners = (x + 0.5 - half_x, y + 0.5 - half_y, x + 0.5 + half_x, y + 0.5 + half_y)
        first, last = max(middle - reach, 0), min(middle + reach, self.size[2] - 1)
        return Rectangle(xyxy=corners, slices=(first, last + 1))

    def whole_slice(self, level: int) -> Rectangle:
        """Return a rectangle around the whole slice ``level`` slices above the lowest."""
        columns, rows, slices = self.size
        at = level if self.signs[2] > 0 else slices - 1 - level
        return Rectangle(xyxy=(0, 0, columns, rows), slices=(at, at + 1))


def read_metaimage_header(path: Path) -> MetaImageHeader:
    """Read the text of an ``.mhd`` file; the voxels are not opened.

    Raises:
        RowError: the file is missing, or is not the header of a volume aligned with the axes of the
            patient. Other cases have other files.
    """
    lines = (line.partition("=") for line in read_text_of_case(path).splitlines())
    texts = {_SAME.get(name.strip(), name.strip()): text.strip() for name, _, text in lines}
    matrix = texts.get("TransformMatrix", "1 0 0 0 1 0 0 0 1").split()
    try:
        turn = [float(part) for part in matrix]
        columns, rows, slices = (int(part) for part in texts["DimSize"].split())
        spacing = _triple(texts["ElementSpacing"])
        offset = _triple(texts["Offset"])
        element, data_file = texts["ElementType"], texts["ElementDataFile"]
    except (KeyError, ValueError):
        raise RowError(
            f"{path.name} is not a header of a volume; expected DimSize, ElementSpacing and Offset "
            "of three numbers, ElementType and ElementDataFile"
        ) from None
    nearest = [float(round(part)) if isfinite(part) else part for part in turn]
    diagonal = nearest[::4]
    if (
        len(turn) != 9
        or not all(
            abs(part - whole) <= _OFF_AXIS for part, whole in zip(turn, nearest, strict=True)
        )
        or any(nearest[place] for place in (1, 2, 3, 5, 6, 7))
        or {abs(part) for part in diagonal} != {1.0}
        or min(spacing) <= 0
    ):
        raise RowError(
            f"{path.name}: TransformMatrix is {' '.join(matrix)[:60]!r}; expected 1 or -1 on the "
            f"diagonal and 0 elsewhere, to {_OFF_AXIS:g}, and a spacing above 0: is the volume "
            "resampled?"
        )
    return MetaImageHeader(
        size=(columns, rows, slices),
        spacing=spacing,
        offset=offset,
        signs=(diagonal[0], diagonal[1], diagonal[2]),
        element=element,
        data_file=data_file,
    )


def _triple(text: str) -> Triple:
    x, y, z = (float(part) for part in text.split())
    return (x, y, z)

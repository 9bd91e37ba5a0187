"""Assignment of the marks of an OsiriX property list to the slices of an axial series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean, median

from medrcube.errors import ReadError, RowError
from medrcube.sources._formats.annotations.osirix_plist import OsirixRoi
from medrcube.sources._formats.dicom.headers import in_slice_order, read_header

__all__ = ["MarkedStack", "place_marks"]

_AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
_STRAIGHT = 0.01
"""Permitted error of a direction cosine of an axial slice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedStack:
    """One series, from foot to head, with its marks.

    Attributes:
        paths: one file per level; the first of duplicate slices.
        marks: marks on each level.
        doubted: levels with a mark without an outline, whose location is unknown; all levels, if
            the level of such a mark is unknown.
        counted: how ImageIndex counts these slices.
    """

    paths: tuple[Path, ...]
    marks: tuple[tuple[OsirixRoi, ...], ...]
    doubted: frozenset[int]
    counted: str


def place_marks(
    paths: Sequence[Path],
    marks: Sequence[OsirixRoi],
    bare: Sequence[OsirixRoi] = (),
    *,
    least_agreement: float,
) -> MarkedStack:
    """Find the slice of each mark by its height in mm, and the convention of ImageIndex.

    Public programs interpret ImageIndex in contradictory ways, so the height decides, and one of
    these conventions must agree with it.

    Args:
        paths: DICOM files of one axial series.
        marks: marks with corners in mm.
        bare: marks without an outline, whose slice is known only from ImageIndex.
        least_agreement: minimum share of the marks whose ImageIndex agrees with their height.

    Raises:
        RowError: a mark has no height or is on no slice, or no convention of ImageIndex agrees.
        ReadError: code ``no-position``, ``slice-order``, or those of ``read_header``.
    """
    order = in_slice_order(paths)
    heights = {path: _height(path) for path in order}
    levels: dict[float, Path] = {}
    for path in order:
        levels.setdefault(heights[path], path)
    stack = tuple(levels)
    placed = [_level(mark, stack) for mark in marks]
    names = tuple(heights[path] for path in sorted(order, key=lambda path: path.name))
    ways = {
        "from the foot": stack,
        "from the head": stack[::-1],
        "by file name": names,
        "against file names": names[::-1],
    }
    best = max(
        (_agreement(marks, placed, way, start), -start, name)
        for (name, way), start in product(ways.items(), (0, 1))
    )
    if best[0] < least_agreement:
        raise RowError(
            f"ImageIndex agrees with the height of {100 * best[0]:.0f} % of the marks at best, "
            f"counted {best[2]}; expected at least {100 * least_agreement:.0f} %: the card assumes "
            "one way of counting"
        )
    return MarkedStack(
        paths=tuple(levels.values()),
        marks=tuple(
            tuple(mark for mark, own in zip(marks, placed, strict=True) if own == height)
            for height in stack
        ),
        doubted=_levels_of(bare, ways[best[2]], -best[1], stack),
        counted=f"{best[2]}, from {-best[1]}",
    )


def _height(path: Path) -> float:
    header = read_header(path, ("ImagePositionPatient", "ImageOrientationPatient"))
    axes = map(float, header["ImageOrientationPatient"].split("\\"))
    if max(abs(a - b) for a, b in zip(axes, _AXIAL, strict=True)) > _STRAIGHT:
        raise ReadError(f"{path.name} is not an axial slice; expected one", code="slice-order")
    return round(float(header["ImagePositionPatient"].split("\\")[2]), 3)


def _level(mark: OsirixRoi, stack: Sequence[float]) -> float:
    """Return the height of a mark's slice, which is within half a step of the mark's height."""
    if not mark.corners or len(stack) < 2:
        raise RowError(f"{mark.evidence}: states no Point_mm, or its series has a single slice")
    height = median(z for _, _, z in mark.corners)
    nearest = min(stack, key=lambda level: abs(level - height))
    step = median(above - below for below, above in pairwise(stack))
    if abs(nearest - height) > step / 2:
        raise RowError(
            f"{mark.evidence}: lies at {height:.1f} mm, {abs(nearest - height):.1f} mm off the "
            "nearest slice: is it the file of another scan, or are slices missing?"
        )
    return nearest


def _levels_of(
    marks: Sequence[OsirixRoi], way: Sequence[float], start: int, stack: Sequence[float]
) -> frozenset[int]:
    """Return the levels of marks by ImageIndex, or all levels if a mark has no level."""
    places = [-1 if mark.image is None else mark.image - start for mark in marks]
    if all(0 <= place < len(way) for place in places):
        return frozenset(stack.index(way[place]) for place in places)
    return frozenset(range(len(stack)))


def _agreement(
    marks: Sequence[OsirixRoi], placed: Sequence[float], way: Sequence[float], start: int
) -> float:
    """Return the share of marks whose ImageIndex, from ``start``, agrees with their height."""
    indices = [-1 if mark.image is None else mark.image - start for mark in marks]
    return fmean(
        0 <= k < len(way) and way[k] == height for k, height in zip(indices, placed, strict=True)
    )

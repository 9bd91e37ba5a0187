"""Region shapes: masks, boxes, outlines, run-length codes, and consensus of several readers.

Coordinates are pixels of the *stored* image: ``x`` counts columns, ``y`` rows, from the top left
corner; the centre of the first pixel is (0, 0) for outlines, and its corner for boxes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

__all__ = [
    "Consensus",
    "MaskFile",
    "Outline",
    "Polygons",
    "Rectangle",
    "Runs",
    "Shape",
    "files_of",
    "frame_of",
    "has_foreign_mask",
    "is_resized",
    "relocate_shape",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskFile:
    """Pixels marked in mask files on the grid of the image; several files are joined.

    Attributes:
        paths: mask files.
        values: stored values that mark the region; empty takes every pixel above zero.
        member: path of the array inside a container file (HDF5), or ``None``.
        parts: further files that the headers name, such as the ``.raw`` of an ``.mhd``.
        needs: what a name that says several parts takes to be true of a slice: of each group of
            stored values at least one marks it, such as core and edema of a tumour with edema.
        drawn_on: image on whose grid the masks were drawn, where it is not the image that they are
            wanted on; they are then carried over in space, which the card must allow.
        outlined: whether the files draw the closed line around a convex region, such as an ellipse;
            what lies within it belongs to the region. A copy in which it is filled marks the same.
    """

    paths: tuple[Path, ...]
    values: tuple[int, ...] = ()
    member: str | None = None
    parts: tuple[Path, ...] = ()
    needs: tuple[tuple[int, ...], ...] = ()
    drawn_on: Path | None = None
    outlined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rectangle:
    """A box in pixels of the stored image, origin at the top left corner.

    Attributes:
        xyxy: ``(x0, y0, x1, y1)``.
        slices: first slice and the one behind the last, by index in the stack as it is read, of
            a box in a volume; ``None`` in a single image.
        frame: ``(width, height)`` of the image that the box was drawn in, where the source says
            it; where that is one size for all boxes, the card says it (``[drawn_in]``). In a copy
            of another size the box is scaled where both sides have one factor, and refused
            elsewhere, because a box that merely fits is wrong there.
    """

    xyxy: tuple[float, float, float, float]
    slices: tuple[int, int] | None = None
    frame: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A closed line.

    Attributes:
        points: its corners as ``(x, y)``.
        slice: SOP instance UID of the slice that it lies on, or ``None`` in a single image.
        hole: whether it cuts out of the region instead of adding to it.
        edge: whether the pixels under the line belong to what it encloses.
    """

    points: tuple[tuple[float, float], ...]
    slice: str | None = None
    hole: bool = False
    edge: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Polygons:
    """Everything inside some outlines.

    Attributes:
        outlines: closed lines.
        frame: ``(width, height)`` of the image that they were drawn on, where the source or the
            card says it; used as that of a ``Rectangle``. Lines that name their slice need none:
            an image that was stored again has another identity.
        boxes: whether the lines are boxes drawn around a thing and not its border.
    """

    outlines: tuple[Outline, ...]
    frame: tuple[int, int] | None = None
    boxes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Run-length coded pixels of one image.

    Attributes:
        runs: ``(first, length)`` of each run, ``first`` counted from 0 along the flat image.
        size: ``(rows, columns)`` of the image that was coded.
        down: whether the flat image runs down the columns instead of along the rows.
    """

    runs: tuple[tuple[int, int], ...]
    size: tuple[int, int]
    down: bool = False


SingleShape = Polygons | MaskFile | Rectangle | Runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    """What at least a share of several readings of one region mark.

    Attributes:
        readings: one shape for each reader.
        share: at least this share of the readings marks a pixel; 0.5 is the usual majority.
    """

    readings: tuple[SingleShape, ...]
    share: float = 0.5


Shape = SingleShape | Consensus


def is_resized(frame: tuple[int, int], size: tuple[int, int]) -> bool:
    """Whether one size can be a resized version of another: equal aspect ratio within a pixel.

    Where exactly one side is unchanged, the image was cropped.

    Args:
        frame: ``(width, height)`` of the original image.
        size: ``(width, height)`` of the copy.
    """
    unchanged = [side == before for side, before in zip(size, frame, strict=True)]
    return unchanged[0] == unchanged[1] and abs(size[0] * frame[1] - size[1] * frame[0]) <= max(
        frame
    )


def frame_of(shape: Shape) -> tuple[int, int] | None:
    """``(width, height)`` of the image that a box or outlines refer to, or ``None``."""
    if isinstance(shape, Consensus):
        return next(filter(None, map(frame_of, shape.readings)), None)
    return shape.frame if isinstance(shape, (Rectangle, Polygons)) else None


def files_of(shape: Shape) -> tuple[Path, ...]:
    """Every raw file that a shape needs."""
    if isinstance(shape, MaskFile):
        return (*shape.paths, *shape.parts, *((shape.drawn_on,) if shape.drawn_on else ()))
    if isinstance(shape, Consensus):
        return tuple(path for reading in shape.readings for path in files_of(reading))
    return ()


def has_foreign_mask(shape: Shape) -> bool:
    """Whether a shape has a mask file that was drawn on another image."""
    if isinstance(shape, Consensus):
        return any(has_foreign_mask(reading) for reading in shape.readings)
    return isinstance(shape, MaskFile) and shape.drawn_on is not None


def relocate_shape(shape: Shape, place: Callable[[Path], Path]) -> Shape:
    """The same shape with each raw file path mapped by ``place``."""
    if isinstance(shape, Consensus):
        return replace(shape, readings=tuple(_moved(reading, place) for reading in shape.readings))
    return _moved(shape, place)


def _moved(shape: SingleShape, place: Callable[[Path], Path]) -> SingleShape:
    if not isinstance(shape, MaskFile):
        return shape
    paths, parts = tuple(map(place, shape.paths)), tuple(map(place, shape.parts))
    drawn_on = place(shape.drawn_on) if shape.drawn_on else None
    return replace(shape, paths=paths, parts=parts, drawn_on=drawn_on)

"""Region shapes: masks, boxes, outlines, run-length codes, and consensus of several readers.

Coordinates are pixels of the *stored* image: ``x`` counts columns and ``y`` rows from the top left
corner. For outlines (0, 0) is the centre of the first pixel, for boxes its corner.
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
    """Pixels marked in mask files on the image grid; several files are combined as a union.

    Attributes:
        paths: mask files.
        values: stored values that mark the region; empty means every pixel above zero.
        member: path of the array inside a container file (HDF5), or ``None``.
        parts: further files that the headers reference, such as the ``.raw`` of an ``.mhd``.
        needs: requirements on a slice before a name that covers several parts applies: at least one
            value from each group of stored values must be marked, such as core and edema for
            "tumour with edema".
        drawn_on: image on whose grid the masks were drawn, if it differs from the target image;
            the masks are then resampled in space, which the card must allow.
        outlined: whether the files contain the closed outline of a convex region, such as an
            ellipse; its interior belongs to the region. A copy with the region filled in marks the
            same pixels.
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
        slices: for a box in a volume, first slice and one past the last, by index in the stack as
            it is read; ``None`` in a single image.
        frame: ``(width, height)`` of the image that the box was drawn in, if the source states it;
            if it is the same for all boxes, the card states it (``[drawn_in]``). In a copy of a
            different size the box is scaled if both sides have the same factor, and refused
            otherwise, because a box that merely fits would be wrong.
    """

    xyxy: tuple[float, float, float, float]
    slices: tuple[int, int] | None = None
    frame: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """A closed polyline.

    Attributes:
        points: its vertices as ``(x, y)``.
        slice: SOP instance UID of the slice that it lies on, or ``None`` in a single image.
        hole: whether it is cut out of the region instead of added to it.
        edge: whether the pixels under the line belong to the region.
    """

    points: tuple[tuple[float, float], ...]
    slice: str | None = None
    hole: bool = False
    edge: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Polygons:
    """The area inside one or more outlines.

    Attributes:
        outlines: closed lines.
        frame: ``(width, height)`` of the image that they were drawn on, if the source or the card
            states it; used as for a ``Rectangle``. Outlines that name their slice need none: an
            image that was stored again has a different UID.
        boxes: whether the outlines are bounding boxes rather than the border of the object.
    """

    outlines: tuple[Outline, ...]
    frame: tuple[int, int] | None = None
    boxes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Run-length coded pixels of one image.

    Attributes:
        runs: ``(first, length)`` of each run, ``first`` being a 0-based index into the flat image.
        size: ``(rows, columns)`` of the coded image.
        down: whether the flat image is column-major instead of row-major.
    """

    runs: tuple[tuple[int, int], ...]
    size: tuple[int, int]
    down: bool = False


SingleShape = Polygons | MaskFile | Rectangle | Runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Consensus:
    """Pixels marked by at least a given share of several readings of one region.

    Attributes:
        readings: one shape per reader.
        share: minimum share of readings that must mark a pixel; 0.5 is the usual majority.
    """

    readings: tuple[SingleShape, ...]
    share: float = 0.5


Shape = SingleShape | Consensus


def is_resized(frame: tuple[int, int], size: tuple[int, int]) -> bool:
    """Whether one size can be a resized version of another: equal aspect ratio within a pixel.

    If exactly one side is unchanged, the image was cropped.

    Args:
        frame: ``(width, height)`` of the original image.
        size: ``(width, height)`` of the copy.
    """
    unchanged = [side == before for side, before in zip(size, frame, strict=True)]
    return unchanged[0] == unchanged[1] and abs(size[0] * frame[1] - size[1] * frame[0]) <= max(
        frame
    )


def frame_of(shape: Shape) -> tuple[int, int] | None:
    """Return ``(width, height)`` of the image that a box or outlines refer to, or ``None``."""
    if isinstance(shape, Consensus):
        return next(filter(None, map(frame_of, shape.readings)), None)
    return shape.frame if isinstance(shape, (Rectangle, Polygons)) else None


def files_of(shape: Shape) -> tuple[Path, ...]:
    """Return every raw file that a shape needs."""
    if isinstance(shape, MaskFile):
        return (*shape.paths, *shape.parts, *((shape.drawn_on,) if shape.drawn_on else ()))
    if isinstance(shape, Consensus):
        return tuple(path for reading in shape.readings for path in files_of(reading))
    return ()


def has_foreign_mask(shape: Shape) -> bool:
    """Whether a shape has a mask file drawn on a different image."""
    if isinstance(shape, Consensus):
        return any(has_foreign_mask(reading) for reading in shape.readings)
    return isinstance(shape, MaskFile) and shape.drawn_on is not None


def relocate_shape(shape: Shape, place: Callable[[Path], Path]) -> Shape:
    """Return the same shape with each raw file path mapped by ``place``."""
    if isinstance(shape, Consensus):
        return replace(shape, readings=tuple(_moved(reading, place) for reading in shape.readings))
    return _moved(shape, place)


def _moved(shape: SingleShape, place: Callable[[Path], Path]) -> SingleShape:
    if not isinstance(shape, MaskFile):
        return shape
    paths, parts = tuple(map(place, shape.paths)), tuple(map(place, shape.parts))
    drawn_on = place(shape.drawn_on) if shape.drawn_on else None
    return replace(shape, paths=paths, parts=parts, drawn_on=drawn_on)

"""Rasterization: region shapes to masks on the stored grid of the image."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from medrcube.build import readers
from medrcube.build.pixels.volume import Volume
from medrcube.build.regions import polygon_fill
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError
from medrcube.facts import Consensus, MaskFile, Outline, Polygons, Rectangle, Runs, Shape
from medrcube.regions import is_resized

__all__ = ["rasterise"]

# Hand-drawn lines and boxes may end on the far edge, one past the last pixel.
_SLACK = 1


def rasterise(shape: Shape, volume: Volume) -> Mask:
    """Return the mask of a region on the stored grid of its image.

    Args:
        shape: shape of the region.
        volume: the image as it was read; without an affine, masks are placed by index alone.

    Raises:
        ReadError: code ``box-frame``, ``outline-frame``, ``box-outside``, ``outline-outside``,
            ``run-outside``, ``mask-size`` if the shape does not belong to this image; ``no-slice``
            if it does not state on which of several slices it lies; ``unknown-slice`` if it names a
            slice that the image lacks; ``no-reading`` for a consensus of no readers; and all codes
            of ``readers.read_mask``.
    """
    if isinstance(shape, MaskFile):
        return readers.read_mask(shape, volume)
    if isinstance(shape, Rectangle):
        return _rectangle(shape, volume)
    if isinstance(shape, Polygons):
        return _polygons(shape, volume)
    if isinstance(shape, Runs):
        return _runs(shape, volume)
    return _consensus(shape, volume)


def _rectangle(box: Rectangle, volume: Volume) -> Mask:
    count, height, width = volume.slices.shape[:3]
    x0, y0, x1, y1 = _scaled(box, (width, height))
    if not (0 <= x0 < x1 <= width + _SLACK and 0 <= y0 < y1 <= height + _SLACK):
        raise ReadError(
            f"box {box.xyxy} does not lie in the image of {width} x {height} pixels; is this "
            "copy resized?",
            code="box-outside",
        )
    first, behind = box.slices if box.slices is not None else (0, _only(count, "a box"))
    if not 0 <= first < behind <= count:
        raise ReadError(
            f"the box lies on slices {first} to {behind - 1}, but the image has {count} (counted "
            "from 0); is the series complete?",
            code="box-outside",
        )
    picture = np.zeros((height, width), np.bool_)
    picture[math.floor(y0) : math.ceil(y1), math.floor(x0) : math.ceil(x1)] = True
    return Mask.of((count, height, width), ((k, picture) for k in range(first, behind)))


def _scaled(box: Rectangle, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return the corners of a box in pixels of the image, whatever image size it was drawn in."""
    across, down = _factors("box", box.frame, size)
    x0, y0, x1, y1 = box.xyxy
    return (x0 * across, y0 * down, x1 * across, y1 * down)


def _factors(
    what: str, frame: tuple[int, int] | None, size: tuple[int, int]
) -> tuple[float, float]:
    """Return the factors in width and height between an image and the one used for drawing.

    Raises:
        ReadError: the images differ in aspect ratio.
    """
    if frame is None or frame == size:
        return 1, 1
    if not is_resized(frame, size):
        raise ReadError(
            f"the {what} was drawn in a frame of {frame[0]} x {frame[1]} pixels but the "
            f"image has {size[0]} x {size[1]}; expected one factor for both sides: is this copy "
            "cropped or stretched?",
            code=f"{what}-frame",
        )
    return size[0] / frame[0], size[1] / frame[1]


def _polygons(shape: Polygons, volume: Volume) -> Mask:
    rows, columns = volume.slices.shape[1:3]
    factors = _factors("outline", shape.frame, (columns, rows))
    by_slice: dict[int, list[Outline]] = {}
    # Holes are applied last, so that the order of outlines in the file does not matter.
    for outline in sorted(shape.outlines, key=lambda outline: outline.hole):
        by_slice.setdefault(_slice_of(outline, volume), []).append(outline)

    def pictures() -> Iterator[tuple[int, NDArray[np.bool_]]]:
        for k, outlines in by_slice.items():
            picture = np.zeros((rows, columns), np.bool_)
            for outline in outlines:
                enclosed = _enclosed(_resized(outline, factors), (rows, columns))
                picture = picture & ~enclosed if outline.hole else picture | enclosed
            yield k, picture

    return Mask.of(volume.slices.shape, pictures())


def _resized(outline: Outline, factors: tuple[float, float]) -> Outline:
    """Scale an outline to a larger or smaller image; pixel edges are scaled, not centres."""
    if factors == (1, 1):
        return outline
    across, down = factors
    points = tuple(((x + 0.5) * across - 0.5, (y + 0.5) * down - 0.5) for x, y in outline.points)
    return replace(outline, points=points)


def _enclosed(outline: Outline, size: tuple[int, int]) -> NDArray[np.bool_]:
    rows, columns = size
    half = 0.5 + _SLACK
    for x, y in outline.points:
        if not (-half <= x <= columns - 1 + half and -half <= y <= rows - 1 + half):
            raise ReadError(
                f"a corner of the outline, ({x:g}, {y:g}), does not lie in the image of "
                f"{columns} x {rows} pixels; is this copy resized?",
                code="outline-outside",
            )
    inside = polygon_fill.fill_polygon(outline.points, size)
    under = polygon_fill.outline_pixels(outline.points, size)
    return inside | under if outline.edge else inside & ~under


def _slice_of(outline: Outline, volume: Volume) -> int:
    if outline.slice is None:
        return _only(volume.slices.shape[0], "an outline") - 1
    if outline.slice not in volume.slice_ids:
        raise ReadError(
            "an outline names a slice (SOP instance UID) that is none of the image's "
            f"{volume.slices.shape[0]}; is the series complete, and is it the one that was read?",
            code="unknown-slice",
        )
    return volume.slice_ids[outline.slice]


def _runs(shape: Runs, volume: Volume) -> Mask:
    count, rows, columns = volume.slices.shape[:3]
    _only(count, "run-length code")
    if shape.size != (rows, columns):
        raise ReadError(
            f"the runs code an image of {shape.size[0]} rows x {shape.size[1]} columns, but this "
            f"one has {rows} x {columns}; is this copy resized?",
            code="mask-size",
        )
    flat = np.zeros(rows * columns, np.bool_)
    for first, length in shape.runs:
        if first < 0 or length < 0 or first + length > flat.size:
            raise ReadError(
                f"a run of {length} pixels from {first} does not lie in the image of "
                f"{flat.size} pixels; is it counted from 0, and absolute?",
                code="run-outside",
            )
        flat[first : first + length] = True
    picture = flat.reshape(columns, rows).T if shape.down else flat.reshape(rows, columns)
    return Mask.of((count, rows, columns), [(0, picture)])


def _consensus(shape: Consensus, volume: Volume) -> Mask:
    if not shape.readings:
        raise ReadError("a consensus of no reading marks nothing", code="no-reading")
    masks = [rasterise(reading, volume) for reading in shape.readings]
    # Shares are inexact: 0.28 of 25 is a little above 7 and still means 7.
    needed = max(1, math.ceil(shape.share * len(shape.readings) - 1e-9))

    def agreed(k: int) -> NDArray[np.bool_]:
        votes = np.zeros(volume.slices.shape[1:3], np.uint8)
        for mask in masks:
            votes += mask[k]
        return votes >= needed

    indices = [k for k in range(volume.slices.shape[0]) if any(mask.marks(k) for mask in masks)]
    return Mask.of(volume.slices.shape, ((k, agreed(k)) for k in indices))


def _only(count: int, what: str) -> int:
    """Return 1 if the image is a single slice, which need not be named."""
    if count != 1:
        raise ReadError(
            f"{what} that names no slice needs an image of one slice, found {count}",
            code="no-slice",
        )
    return count

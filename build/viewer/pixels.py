"""Pixels of a viewer copy: a slice with its neighbours, and display parameters.

A benchmark image has 8 bits under one window. A viewer copy holds stored values: the slice and its
neighbours on their own grid, and the parameters that map them to the image. For reviewers only,
never part of a release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Array, PixelSemantics, Volume
from medrcube.build.pixels.windowing.policy import CT_PRESETS
from medrcube.build.pixels.windowing.transform import modality_values
from medrcube.build.regions.box_labels import Box
from medrcube.errors import ReadError

__all__ = ["NEIGHBOURS", "ViewerCopy", "viewer_copy"]

NEIGHBOURS = 5
"""Slices of the same body that are kept on each side of the displayed one."""
_MOST_PIXELS = 2**24
"""Most pixels of all slices of a copy; if exceeded, fewer neighbours are kept."""
_TOP = 2**16 - 1
_WINDOWS = {
    "Lung": CT_PRESETS["ct:lung"],
    "Mediastinum, soft tissue": CT_PRESETS["ct:mediastinum"],
    "Bone": (480.0, 2500.0),
    "Brain": CT_PRESETS["ct:brain"],
    "Liver": (90.0, 150.0),
}
"""Centre and width in HU; bone and liver as in the OHIF Viewer, ``defaultWindowLevelPresets``:
https://github.com/OHIF/Viewers. The others are those of the pixel policies.
"""
_SHARES = {"Full range": (0, 100), "1 to 99 %": (1, 99), "5 to 95 %": (5, 95)}
"""Percentiles of the values of the copy, for values without a unit."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ViewerCopy:
    """The slices of a copy and their meaning.

    Attributes:
        planes: ``(rows, columns)`` each, of one size: steps above the lowest value.
        facts: ready for JSON: ``own`` (index of the image's own slice), ``slope`` and ``intercept``
            (value = step * slope + intercept), ``exact`` (whether these are the stored values, or
            the nearest of 65,536 steps), ``unit`` (``HU`` or empty), ``window`` (least and greatest
            value not clipped in the image), ``inverted``, ``place`` (left, top, width and height of
            a slice in pixels of the image), ``columns`` (of a slice), ``spacing`` (mm between the
            pixels of a slice: down and across; ``None`` if no file states it), and ``presets``
            (name, least and greatest value).
    """

    planes: tuple[NDArray[np.uint16], ...]
    facts: Mapping[str, Any]


def viewer_copy(
    volume: Volume,
    index: int,
    numbers: Mapping[str, Any],
    *,
    size: tuple[int, int],
    part: Box | None,
    hounsfield: bool,
) -> ViewerCopy:
    """Copy a slice and its neighbours.

    Args:
        volume: in display order, grey, of more than 8 bits.
        index: slice that the image shows.
        numbers: parameters of its display transform, from its recipe.
        size: height and width of the whole image of the slice, with square pixels.
        part: the part of it that the image shows, in its pixels; ``None`` for all.
        hounsfield: whether the values are in HU.

    Raises:
        ReadError: code ``no-slice`` if the volume has no such slice, ``no-window`` if the numbers
            name no window.
    """
    count, rows, columns = volume.slices.shape[:3]
    if not 0 <= index < count:
        raise ReadError(f"there are {count} slices, expected one of index {index}", code="no-slice")
    part = part or (0, 0, size[1], size[0])
    down, across = rows / size[0], columns / size[1]
    top, bottom = floor(part[1] * down), ceil(part[3] * down)
    left, right = floor(part[0] * across), ceil(part[2] * across)
    indices = list(_around(volume, index, (bottom - top) * (right - left)))
    values = np.stack([np.asarray(volume.slices[k])[top:bottom, left:right] for k in indices])
    planes, slope, intercept, exact = _steps(values, volume.greys)
    spacing = volume.spacing if volume.measured else None
    return ViewerCopy(
        planes=tuple(planes),
        facts={
            "own": indices.index(index),
            "slope": slope,
            "intercept": intercept,
            "exact": exact,
            "unit": "HU" if hounsfield else "",
            "window": list(_window(numbers, volume.greys)),
            "inverted": volume.greys.inverted,
            "place": [
                left / across - part[0],
                top / down - part[1],
                (right - left) / across,
                (bottom - top) / down,
            ],
            "columns": right - left,
            "spacing": list(spacing[1:]) if spacing else None,
            "presets": [
                [name, low, high]
                for name, low, high in (
                    _hounsfield() if hounsfield else _shares(planes, slope, intercept)
                )
            ],
        },
    )


def _around(volume: Volume, index: int, pixels: int) -> range:
    """Return the slices that are kept; frames over time are not neighbours."""
    if not volume.solid:
        return range(index, index + 1)
    reach = min(NEIGHBOURS, max(0, (_MOST_PIXELS // pixels - 1) // 2))
    return range(max(0, index - reach), min(volume.slices.shape[0], index + reach + 1))


def _steps(
    stored_values: Array, greys: PixelSemantics
) -> tuple[NDArray[np.uint16], float, float, bool]:
    """Return steps above the lowest value, the size of a step, and whether nothing was rounded."""
    low, high = stored_values.min(), stored_values.max()
    if (
        stored_values.dtype.kind in "iu"
        and greys.modality_table is None
        and int(high) - int(low) <= _TOP
    ):
        steps = (stored_values.astype(np.int64) - int(low)).astype(np.uint16)
        return steps, greys.slope, greys.intercept + greys.slope * int(low), True
    values = modality_values(greys, stored_values)
    bottom, top = float(values.min()), float(values.max())
    step = (top - bottom) / _TOP or 1.0
    return np.rint((values - bottom) / step).astype(np.uint16), step, bottom, False


def _window(numbers: Mapping[str, Any], greys: PixelSemantics) -> tuple[float, float]:
    """Return black and white level of the image; for a curve, the ends of the nearest ramp."""
    if numbers["window"] == "bits":  # of stored values, whatever they mean
        return (
            float(numbers["low"]) * greys.slope + greys.intercept,
            float(numbers["high"]) * greys.slope + greys.intercept,
        )
    if "low" in numbers:
        return float(numbers["low"]), float(numbers["high"])
    if "centre" in numbers:
        centre, width = float(numbers["centre"]), float(numbers["width"])
        if numbers["window"] == "linear":
            return _linear(centre, width)
        return centre - width / 2, centre + width / 2
    if greys.voi_table is not None:
        first = float(greys.voi_table.first)
        return first, first + len(greys.voi_table.entries) - 1
    raise ReadError("its recipe names no window; build again", code="no-window")


def _linear(centre: float, width: float) -> tuple[float, float]:
    """Return black and white level of a window of DICOM PS3.3 C.11.2.1.2.1."""
    low = centre - 0.5 - (width - 1) / 2
    return low, low + width - 1


def _hounsfield() -> Iterator[tuple[str, float, float]]:
    for name, (centre, width) in _WINDOWS.items():
        yield name, *_linear(centre, width)


def _shares(
    planes: NDArray[np.uint16], slope: float, intercept: float
) -> Iterator[tuple[str, float, float]]:
    for name, shares in _SHARES.items():
        steps = np.percentile(planes, shares, method="inverted_cdf")
        low, high = sorted(float(step) * slope + intercept for step in steps)
        yield name, low, high

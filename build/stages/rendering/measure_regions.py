"""Measurements of the regions of one slice, on the pixel grid of its image.

A worker takes them from the masks that it draws, so that no pixels are read twice. Spacing and
patient sides are recorded as the files state them; whether to trust them is decided by the card
(``geometry_table``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.body_midline import body_midline
from medrcube.build.pixels.case_image import CaseImage
from medrcube.build.pixels.volume import Volume
from medrcube.build.regions.box_labels import Box
from medrcube.build.regions.draw_shapes import bounding_box
from medrcube.build.regions.measure import Ellipse, Measurement, longest_diameter, measure
from medrcube.build.regions.run_lengths import encode_runs
from medrcube.build.stages.plan import RenderJob
from medrcube.sources._framework.card_parts.pixels import PixelPolicy

__all__ = [
    "EPOCH",
    "Reading",
    "RegionGeometry",
    "has_regions",
    "measure_regions",
    "mm_per_pixel",
    "region_geometry_of",
    "right_side_of",
]

EPOCH = 3
"""Version of the measurements; incremented whenever equal masks give other values. Images and
recipes do not depend on it.
"""

_SQUARE_ENOUGH = 0.02
"""Tolerance of the ratio of the sides of a pixel: half of it is the error of a length. Rounding
makes an image with square pixels deviate by less than that from 50 pixels a side upwards
(``geometry.square_size``).
"""
_LEAST_COSINE = 0.8
"""Least cosine between the rows of an image and the right-left axis, as for a slice and its plane
(``case_image``).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Mark of one of several readers on the slice.

    Attributes:
        box: smallest box around it, in pixels of the image.
        longest: its longest diameter, in pixels.
    """

    box: Box
    longest: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionGeometry:
    """One region of a case on one slice.

    Attributes:
        region: its number among the regions of the case.
        frames: the slice, as in ``Sample.frames``.
        width: of the image, in pixels.
        height: of the image, in pixels.
        measured: the measurements.
        mask: its pixels as run lengths (``regions.run_lengths``), joined by spaces.
        partial: whether its name implies more parts than the slice shows.
        readings: one for each reader who marked the slice, in their order, if there are several.
        mm_per_pixel: side of a pixel as the files state it, or ``None`` if they state none or
            pixels are not square.
        right_at: side of the image on which the patient's right lies, ``left`` or ``right``, by the
            affine; empty if there is none or the slice has no left-right axis.
        midline: column between the patient's sides; the middle of the image if the body shows none.
        midline_from: ``body``, or ``picture`` if the body reaches the border of the image or is not
            searched for.
    """

    region: int
    frames: str
    width: int
    height: int
    measured: Measurement
    mask: str
    partial: bool
    readings: tuple[Reading, ...]
    mm_per_pixel: float | None
    right_at: str
    midline: float
    midline_from: str


def has_regions(job: RenderJob) -> bool:
    """Whether the images of a case may show a region; side-by-side images have no masks."""
    return len(job.case.images) == 1 and any(concept is not None for concept in job.concepts)


def measure_regions(
    case_image: CaseImage,
    index: int,
    frames: str,
    clean: NDArray[np.uint8],
    masks: Mapping[int, NDArray[np.bool_]],
) -> tuple[RegionGeometry, ...]:
    """Measure every region that a slice shows.

    Args:
        case_image: the only image of a case.
        index: of the slice.
        frames: the slice, as in ``Sample.frames``.
        clean: its clean image, ``(rows, columns)`` or ``(rows, columns, 3)``.
        masks: number of a region -> its mask on the image.
    """
    if not masks:
        return ()
    height, width = clean.shape[:2]
    right_at = right_side_of(case_image.volume, case_image.policy)
    midline = body_midline(clean) if right_at else None
    partial = case_image.untrue_on(index)
    return tuple(
        RegionGeometry(
            region=number,
            frames=frames,
            width=width,
            height=height,
            measured=measure(mask),
            mask=" ".join(map(str, encode_runs(mask))),
            partial=number in partial,
            readings=tuple(
                Reading(box=bounding_box(reading), longest=longest_diameter(reading))
                for reading in case_image.readings_on(number, index)
            ),
            mm_per_pixel=mm_per_pixel(case_image.volume, case_image.policy, (height, width)),
            right_at=right_at,
            midline=width / 2 if midline is None else midline,
            midline_from="picture" if midline is None else "body",
        )
        for number, mask in masks.items()
    )


def mm_per_pixel(volume: Volume, policy: PixelPolicy, size: tuple[int, int]) -> float | None:
    """Return the pixel size in mm of an image, or ``None`` if nothing proves it.

    Args:
        volume: in display order.
        policy: how stored values become an image.
        size: ``(height, width)`` of the image, whose pixels may be closer together than those of
            the volume.
    """
    if volume.spacing is None or not volume.measured or policy.spacing == "square":
        return None
    down, across = (
        step * stored_size / displayed
        for step, stored_size, displayed in zip(
            volume.spacing[1:], volume.slices.shape[1:3], size, strict=True
        )
    )
    if not (0 < down < np.inf and 0 < across < np.inf) or abs(down / across - 1) > _SQUARE_ENOUGH:
        return None
    return round((down + across) / 2, 6)


def right_side_of(volume: Volume, policy: PixelPolicy) -> str:
    """Return the side of the image on which the patient's right lies: ``left``, ``right`` or empty.

    Args:
        volume: in display order.
        policy: how stored values become an image; an affine that the policy ignores proves nothing.
    """
    if volume.affine is None or policy.orient == "stored":
        return ""
    step = volume.affine[:3, 2]
    length = float(np.linalg.norm(step))
    along = float(step[0]) / length if length > 0 else 0.0
    if abs(along) < _LEAST_COSINE:
        return ""
    return "left" if along < 0 else "right"


def region_geometry_of(record: Mapping[str, Any]) -> RegionGeometry:
    """Inverse of ``dataclasses.asdict`` and JSON for a measurement.

    Raises:
        KeyError: an attribute is missing.
        TypeError: there is an unknown attribute.
    """
    measured: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in record["measured"].items()
    }
    measured["ellipse"] = Ellipse(**record["measured"]["ellipse"])
    readings = (
        Reading(box=tuple(reading["box"]), longest=reading["longest"])
        for reading in record["readings"]
    )
    return RegionGeometry(
        **{**record, "measured": Measurement(**measured), "readings": tuple(readings)}
    )

"""Measured values: value and tolerance band of one measure on one image.

A number passes if a reader of the image could have measured it: the band spans the true value, the
measurements of each of several readers, and what a ruler gives on the image itself, widened by the
tolerance of the card, and by at least one pixel on each side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from medrcube.build.stages.geometry_table import Geometry
from medrcube.forms.number import NumberAsk, NumberTarget
from medrcube.sources._framework.card_parts.measures import RATIO, Tolerance

__all__ = ["MeasuredValue", "measured_region", "measured_widths", "number_target"]

_DIGITS = 2
_RATIO_DIGITS = 3
"""Decimals to which ratios are rounded: a hundredth of a mm, a thousandth of a ratio."""
_SLACK = 1e-6
"""Share of the last digit that binary fractions may add to an exact bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredValue:
    """Known values of one measure on one image, in its unit.

    Attributes:
        value: the true value.
        readings: other values that a reader may obtain: other readers, and a ruler on the image.
        step: size of one pixel.
    """

    value: float
    readings: tuple[float, ...] = ()
    step: float = 0.0


def measured_region(row: Geometry, origin: str, ruler_mm: float) -> MeasuredValue:
    """Return the length of one region in millimetres.

    Args:
        row: geometry with a known pixel size.
        origin: ``longest`` or ``circumference``.
        ruler_mm: millimetres per pixel according to the drawn scale bar.

    Raises:
        ValueError: the size of its pixels is unknown.
    """
    if row.mm_per_pixel is None:
        raise ValueError(f"{row.source}/{row.case}: no size of a pixel is known")
    pixels = row.circumference if origin == "circumference" else row.longest
    readers = [float(text) for text in row.readings.split()] if origin == "longest" else []
    return MeasuredValue(
        value=pixels * row.mm_per_pixel,
        readings=(pixels * ruler_mm, *(reader * row.mm_per_pixel for reader in readers)),
        step=row.mm_per_pixel,
    )


def measured_widths(part: Iterable[Geometry], whole: Iterable[Geometry]) -> MeasuredValue:
    """Return the overall width of some regions divided by that of others, across the image."""
    across, over = _width(part), _width(whole)
    return MeasuredValue(value=across / over, step=1 / over)


def number_target(measured: MeasuredValue, tolerance: Tolerance, unit: str) -> NumberTarget:
    """Return the band of a measured value, rounded outwards."""
    digits = _RATIO_DIGITS if unit == RATIO else _DIGITS
    readings = (measured.value, *measured.readings)
    low, high = tolerance.bounds(min(readings), max(readings))
    low = min(low, measured.value - measured.step)
    high = max(high, measured.value + measured.step)
    scale = 10**digits
    return NumberTarget(
        ask=NumberAsk(unit="" if unit == RATIO else unit),
        value=round(measured.value, digits),
        low=max(0.0, math.floor(low * scale + _SLACK) / scale),
        high=math.ceil(high * scale - _SLACK) / scale,
    )


def _width(rows: Iterable[Geometry]) -> int:
    listed: Sequence[Geometry] = tuple(rows)
    return max(row.x1 for row in listed) - min(row.x0 for row in listed)

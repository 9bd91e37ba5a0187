"""Measured values: what geometry and tables say of one measure on one image, and the band around.

A number passes that a reader of the image could have: the band spans the true value, what each of
several readers measured, and what a ruler gives on the image itself, widened by the tolerance of
the card, and by at least a pixel to each side.
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
"""Behind the point, to which targets are rounded: a hundredth of a mm, a thousandth of a ratio."""
_SLACK = 1e-6
"""Of the last digit: what binary fractions add to a bound that is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredValue:
    """What is known of one measure on one image, in its unit.

    Attributes:
        value: the true one.
        readings: what else a reader may find: other readers, and a ruler on the image.
        step: what one pixel is worth.
    """

    value: float
    readings: tuple[float, ...] = ()
    step: float = 0.0


def measured_region(row: Geometry, origin: str, ruler_mm: float) -> MeasuredValue:
    """Length of one region in millimetres.

    Args:
        row: with the size of its pixels.
        origin: ``longest`` or ``circumference``.
        ruler_mm: millimetres per pixel as the drawn bar shows them.

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
    """Greatest width of some regions over the greatest width of others, across the image."""
    across, over = _width(part), _width(whole)
    return MeasuredValue(value=across / over, step=1 / over)


def number_target(measured: MeasuredValue, tolerance: Tolerance, unit: str) -> NumberTarget:
    """The band of a measured value, rounded outwards."""
    digits = _RATIO_DIGITS if unit == RATIO else _DIGITS
    seen = (measured.value, *measured.readings)
    low, high = tolerance.bounds(min(seen), max(seen))
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

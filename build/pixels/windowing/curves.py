"""Window curves: modality values to 0-255 before rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Array, LookupTable
from medrcube.errors import ReadError

__all__ = [
    "NEAR_OVERFLOW",
    "SMALLER",
    "Curve",
    "Numbers",
    "Ramp",
    "TableCurve",
    "look_up",
    "window_curve",
]

NEAR_OVERFLOW = 2.0**1000
SMALLER = 2.0**-40
"""A power of two, so that multiplying by it changes no significant digit."""


Numbers = Mapping[str, float | str]
Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Ramp:
    """Black up to ``low``, white from ``high``; a step if both are equal."""

    low: float
    high: float

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the grey of each value, from 0 to 255, before rounding."""
        if self.high <= self.low:
            return np.where(values > self.low, 255.0, 0.0)
        low, high, inside = self.low, self.high, np.clip(values, self.low, self.high)
        if max(abs(low), abs(high)) > NEAR_OVERFLOW:
            low, high, inside = low * SMALLER, high * SMALLER, inside * SMALLER
        inside -= low
        inside *= 255.0
        inside /= high - low
        return inside


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """Sigmoid around ``centre``, steeper the smaller ``width`` is."""

    centre: float
    width: float

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the grey of each value, from 0 to 255, before rounding."""
        steepness = np.clip(-4.0 * (values - self.centre) / self.width, -700.0, 700.0)
        # exp() may differ in its last bit between platforms; rounding to nine digits hides that.
        return np.round(255.0 / (1.0 + np.exp(steepness)), 9)


@dataclass(frozen=True, slots=True)
class TableCurve:
    """Curve that a VOI LUT states."""

    table: LookupTable

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the grey of each value, from 0 to 255, before rounding."""
        top = float(2**self.table.bits - 1)
        return look_up(self.table, np.floor(values)) * 255.0 / top


def window_curve(function: str, centre: float, width: float) -> tuple[Curve, Numbers]:
    """DICOM PS3.3 C.11.2.1.2 (linear) and C.11.2.1.3 (linear_exact, sigmoid)."""
    numbers: Numbers = {"window": function, "centre": float(centre), "width": float(width)}
    if function == "sigmoid":
        return Sigmoid(centre, width), numbers
    if function == "linear_exact":
        return Ramp(centre - width / 2, centre + width / 2), numbers
    if function != "linear":
        raise ReadError(
            f"VOI function {function!r}: expected linear, linear_exact or sigmoid",
            code="unsupported-format",
        )
    return Ramp(centre - 0.5 - (width - 1) / 2, centre - 0.5 + (width - 1) / 2), numbers


def look_up(table: LookupTable, values: Array) -> NDArray[np.float64]:
    """Return the entry for each value; values outside the table take its first or last entry."""
    place = np.clip(values.astype(np.float64) - table.first, 0, len(table.entries) - 1)
    return table.entries[place.astype(np.intp)].astype(np.float64)

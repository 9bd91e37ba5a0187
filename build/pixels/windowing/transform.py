"""Display transform: stored values to 8-bit grey, the same for every slice of a volume."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Array, PixelSemantics, Volume
from medrcube.build.pixels.windowing.bit_patterns import (
    all_values,
    bit_patterns,
    has_table,
    take_entries,
)
from medrcube.build.pixels.windowing.curves import Curve, Numbers, Ramp, look_up
from medrcube.build.pixels.windowing.order_statistics import row_blocks

__all__ = ["DisplayTransform", "make_transform", "modality_values"]

_AT_ONCE = 1 << 14
"""Values evaluated at a time, so that their float64 copies stay in the CPU cache."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DisplayTransform:
    """Transform from stored values to 8-bit images, the same for every slice of a volume.

    Attributes:
        numbers: parameters of the transform, for the recipe of an image.
        table: grey value of each stored bit pattern; ``None`` for data without a table.
        curve: modality value to 0-255 before rounding; ``None`` leaves 8-bit data unchanged.
        greys: meaning of the stored values, as far as this transform uses it.
    """

    numbers: Numbers
    greys: PixelSemantics
    table: NDArray[np.uint8] | None = None
    curve: Curve | None = None

    def apply(self, stored_values: Array) -> NDArray[np.uint8]:
        """Return the grey image of the same shape; RGB images pass unchanged.

        Args:
            stored_values: values of the type of the volume that this transform was made for.
        """
        if self.table is not None:
            return take_entries(self.table, bit_patterns(stored_values))
        if self.curve is None:
            return stored_values
        picture = np.empty(stored_values.shape, np.uint8)
        parts = (row_blocks(each, _AT_ONCE) for each in (stored_values, picture))
        for source, target in zip(*parts, strict=True):
            target[:] = _render(self.greys, source, self.curve)
        return picture


def modality_values(greys: PixelSemantics, stored_values: Array) -> NDArray[np.float64]:
    """Return stored values in the unit of the modality (HU for CT), as float64 of equal shape."""
    if greys.modality_table is not None:
        return look_up(greys.modality_table, stored_values)
    values = stored_values.astype(np.float64)
    if (greys.slope, greys.intercept) != (1.0, 0.0):
        values *= greys.slope
        values += greys.intercept
    return values


def make_transform(
    volume: Volume, policy: str, greys: PixelSemantics, curve: Curve, curve_numbers: Numbers
) -> DisplayTransform:
    """Return the transform with this curve; ``curve_numbers`` are its parameters."""
    numbers: dict[str, float | str] = {"policy": policy, **curve_numbers}
    if greys.modality_table is not None:
        numbers["modality"] = "table"
    elif (greys.slope, greys.intercept) != (1.0, 0.0):
        numbers |= {"slope": greys.slope, "intercept": greys.intercept}
    if volume.greys.repair:
        numbers["repair"] = volume.greys.repair
    if volume.greys.filled:
        numbers["filled"] = volume.greys.filled
    if greys.inverted:
        numbers["inverted"] = "yes"
    table = None
    if has_table(volume.slices.dtype):
        plain = greys.modality_table is None and isinstance(curve, Ramp)
        make = _plain_table if plain else _table
        bare = PixelSemantics(slope=greys.slope, intercept=greys.intercept, inverted=greys.inverted)
        table = make(bare if plain else greys, volume.slices.dtype, curve)
    return DisplayTransform(
        numbers=MappingProxyType(numbers), greys=greys, table=table, curve=curve
    )


def _table(greys: PixelSemantics, dtype: np.dtype[Any], curve: Curve) -> NDArray[np.uint8]:
    """Return the grey value of every bit pattern of a type."""
    return _render(greys, all_values(dtype), curve)


@lru_cache(maxsize=8)
def _plain_table(greys: PixelSemantics, dtype: np.dtype[Any], curve: Curve) -> NDArray[np.uint8]:
    """Cached ``_table``, reused for the next file: images of one source share their window."""
    table = _table(greys, dtype, curve)
    table.flags.writeable = False
    return table


def _render(greys: PixelSemantics, stored_values: Array, curve: Curve) -> NDArray[np.uint8]:
    shade = curve(modality_values(greys, stored_values))
    if greys.inverted:
        return (255.0 - np.ceil(shade - 0.5)).astype(np.uint8)
    shade += 0.5
    return shade.astype(np.uint8)  # cuts fractions off: no shade is negative

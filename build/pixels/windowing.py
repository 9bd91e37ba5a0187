"""Windowing: stored values to 8-bit grey, one transform per volume.

Integer data of up to 16 bits go through one lookup table over every value of the type. Formulas
multiply before the single division, which IEEE 754 rounds correctly, so that ties are ties on every
platform. Halves are rounded up; inversion (MONOCHROME1) mirrors that, so that both photometric
interpretations of one image give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, isfinite, prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.order_statistics import row_blocks, values_at_ranks
from medrcube.build.pixels.volume import Array, LookupTable, PixelSemantics, Volume
from medrcube.errors import ReadError

__all__ = [
    "CT_PRESETS",
    "NEAR_OVERFLOW",
    "SMALLER",
    "DisplayTransform",
    "display_transform",
    "modality_values",
    "recorded_transform",
]

CT_PRESETS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"ct:lung": (-600.0, 1500.0), "ct:brain": (40.0, 80.0), "ct:mediastinum": (40.0, 400.0)}
)
"""Window centre and width in HU for each ``ct:`` policy."""

NEAR_OVERFLOW = 2.0**1000
SMALLER = 2.0**-40
"""A power of two, so that multiplying by it changes no significant digit."""

_AT_ONCE = 1 << 14
"""Values evaluated at a time, so that their float64 copies stay in the CPU cache."""

Numbers = Mapping[str, float | str]
_PLACES = ("low", "high", "centre", "width")
"""Keys of the numbers that define a window."""
Curve = Callable[[NDArray[np.float64]], NDArray[np.float64]]


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

    def apply(self, stored: Array) -> NDArray[np.uint8]:
        """Return the grey image of the same shape; RGB images pass unchanged.

        Args:
            stored: values of the type of the volume that this transform was made for.
        """
        if self.table is not None:
            return _through(self.table, _patterns(stored))
        if self.curve is None:
            return stored
        picture = np.empty(stored.shape, np.uint8)
        parts = (row_blocks(each, _AT_ONCE) for each in (stored, picture))
        for source, target in zip(*parts, strict=True):
            target[:] = _render(self.greys, source, self.curve)
        return picture


def display_transform(volume: Volume, policy: str) -> DisplayTransform:
    """Return the display transform that a pixel policy (``PixelPolicy.window`` of a card) requests.

    ``header`` follows DICOM: modality transform, VOI table or first valid window, inversion last
    (PS3.3 C.11.1, C.11.2, C.7.6.3.1.2). If the slices of a volume have different windows, their
    median is used for all, and without a VOI the range of the whole volume; this is recorded in
    ``numbers``. Padding counts for neither range nor percentile. A constant volume becomes black.
    RGB passes unchanged if the policy allows it.

    Raises:
        ReadError: code ``not-8-bit`` for ``none`` on other data, ``not-grey`` for a window on
            colour, ``not-integer`` for ``bits`` on floating-point data, ``not-finite`` for a
            transform that overflows.
    """
    if volume.colour:
        return _colour_scale(policy)
    if policy == "none":
        return _stored_scale(volume)
    if policy == "bits":
        low, high = _bit_range(volume)
        named: Numbers = {"window": "bits", "low": low, "high": high}
        return _scale(
            volume, policy, PixelSemantics(inverted=volume.greys.inverted), _Ramp(low, high), named
        )
    if policy in CT_PRESETS:
        centre, width = CT_PRESETS[policy]
        curve, named = _window("linear", centre, width)
        return _scale(volume, policy, volume.greys, curve, named)
    if policy == "header":
        window = _header_curve(volume.greys)
        if window is None:
            return _range_scale(volume, policy, 0, 100)
        curve, named = window
        if volume.greys.median_of and volume.greys.voi_table is None:
            named = {**named, "median_of": volume.greys.median_of}
        return _scale(volume, policy, volume.greys, curve, named)
    match = re.fullmatch(r"percentile:([\d.]+)-([\d.]+)", policy)
    if match is None:
        raise ValueError(f"window policy {policy!r} is not known")
    return _range_scale(volume, policy, Fraction(match[1]), Fraction(match[2]))


def recorded_transform(volume: Volume, numbers: Mapping[str, Any]) -> DisplayTransform | None:
    """Return the display transform that a recipe describes, whatever the current rules are.

    Args:
        volume: volume of the recipe.
        numbers: ``DisplayTransform.numbers`` of the release; untrusted.

    Returns:
        The transform; ``None`` if the numbers do not describe it completely, such as for a table.
    """
    curve = _recorded_curve(numbers)
    slope, intercept = numbers.get("slope", 1.0), numbers.get("intercept", 0.0)
    if volume.colour or curve is None or not (_is_number(slope) and _is_number(intercept)):
        return None
    if numbers.get("modality") == "table" and volume.greys.modality_table is None:
        return None
    greys = replace(
        volume.greys,
        slope=float(slope),
        intercept=float(intercept),
        modality_table=volume.greys.modality_table if "modality" in numbers else None,
        inverted="inverted" in numbers,
    )
    named = {name: numbers[name] for name in ("window", *_PLACES, "median_of") if name in numbers}
    return _scale(volume, str(numbers.get("policy", "")), greys, curve, named)


def modality_values(greys: PixelSemantics, stored: Array) -> NDArray[np.float64]:
    """Return stored values in the unit of the modality (HU for CT), as float64 of equal shape."""
    if greys.modality_table is not None:
        return _look_up(greys.modality_table, stored)
    values = stored.astype(np.float64)
    if (greys.slope, greys.intercept) != (1.0, 0.0):
        values *= greys.slope
        values += greys.intercept
    return values


@dataclass(frozen=True, slots=True)
class _Ramp:
    """Black up to ``low``, white from ``high``; a step if both are equal."""

    low: float
    high: float

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
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
class _Sigmoid:
    centre: float
    width: float

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        steepness = np.clip(-4.0 * (values - self.centre) / self.width, -700.0, 700.0)
        # exp() may differ in its last bit between platforms; rounding to nine digits hides that.
        return np.round(255.0 / (1.0 + np.exp(steepness)), 9)


@dataclass(frozen=True, slots=True)
class _TableCurve:
    table: LookupTable

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        top = float(2**self.table.bits - 1)
        return _look_up(self.table, np.floor(values)) * 255.0 / top


def _colour_scale(policy: str) -> DisplayTransform:
    if policy not in {"none", "header", "bits"}:
        raise ReadError(
            f"the image is RGB, but the card's window policy {policy!r} needs grey values; "
            "use 'none' for coloured images",
            code="not-grey",
        )
    return DisplayTransform(numbers={"policy": policy, "window": "colour"}, greys=PixelSemantics())


def _stored_scale(volume: Volume) -> DisplayTransform:
    if volume.slices.dtype != np.uint8:
        raise ReadError(
            f"stored values are {volume.slices.dtype}, but the card's window policy 'none' "
            "expects images of 8 bit; name a window, percentile or bits in the card",
            code="not-8-bit",
        )
    if volume.greys.inverted:
        return _scale(
            volume, "none", PixelSemantics(inverted=True), _Ramp(0, 255), {"window": "none"}
        )
    return DisplayTransform(numbers={"policy": "none", "window": "none"}, greys=PixelSemantics())


def _range_scale(
    volume: Volume, policy: str, low: Fraction | int, high: Fraction | int
) -> DisplayTransform:
    named = "range" if (low, high) == (0, 100) else "percentile"
    bottom, top = _percentiles(volume, low, high)
    if top <= bottom and named == "percentile":
        named = "range"
        bottom, top = _percentiles(volume, 0, 100)
    if not (isfinite(bottom) and isfinite(top)):
        raise ReadError(
            f"its values range from {bottom:g} to {top:g} once slope and intercept are applied; "
            "expected finite ones",
            code="not-finite",
        )
    if top <= bottom:
        flat = PixelSemantics(slope=volume.greys.slope, intercept=volume.greys.intercept)
        constant: Numbers = {"window": "constant", "low": bottom, "high": top}
        return _scale(volume, policy, flat, _Ramp(np.inf, np.inf), constant)
    numbers: Numbers = {"window": named, "low": bottom, "high": top}
    return _scale(volume, policy, volume.greys, _Ramp(bottom, top), numbers)


def _header_curve(greys: PixelSemantics) -> tuple[Curve, Numbers] | None:
    if greys.voi_table is not None:
        numbers: Numbers = {"window": "table", "first": float(greys.voi_table.first)}
        return _TableCurve(greys.voi_table), numbers
    least = 1 if greys.function == "linear" else 0
    for centre, width in greys.windows:
        if isfinite(centre) and isfinite(width) and width >= least and width > 0:
            return _window(greys.function, centre, width)
    return None


def _window(function: str, centre: float, width: float) -> tuple[Curve, Numbers]:
    """DICOM PS3.3 C.11.2.1.2 (linear) and C.11.2.1.3 (linear_exact, sigmoid)."""
    numbers: Numbers = {"window": function, "centre": float(centre), "width": float(width)}
    if function == "sigmoid":
        return _Sigmoid(centre, width), numbers
    if function == "linear_exact":
        return _Ramp(centre - width / 2, centre + width / 2), numbers
    if function != "linear":
        raise ReadError(
            f"VOI function {function!r}: expected linear, linear_exact or sigmoid",
            code="unsupported-format",
        )
    return _Ramp(centre - 0.5 - (width - 1) / 2, centre - 0.5 + (width - 1) / 2), numbers


def _recorded_curve(numbers: Mapping[str, Any]) -> Curve | None:
    places = {name: numbers[name] for name in _PLACES if name in numbers}
    if not all(map(_is_number, places.values())):
        return None
    match numbers.get("window"), places:
        case "percentile" | "range" | "bits", {"low": low, "high": high}:
            return _Ramp(low, high)
        case "linear" | "linear_exact" | "sigmoid" as function, {"centre": centre, "width": width}:
            return _window(function, centre, width)[0] if width > 0 else None
        case _:
            return None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)


def _bit_range(volume: Volume) -> tuple[float, float]:
    dtype = volume.slices.dtype
    if dtype.kind not in "iu":
        raise ReadError(
            f"stored values are {dtype}, but the card's window policy 'bits' expects integers; "
            "name a percentile in the card",
            code="not-integer",
        )
    bits = volume.greys.bits or 8 * dtype.itemsize
    if dtype.kind == "i":
        return (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)
    return (0.0, 2.0**bits - 1)


def _scale(
    volume: Volume, policy: str, greys: PixelSemantics, curve: Curve, named: Numbers
) -> DisplayTransform:
    numbers: dict[str, float | str] = {"policy": policy, **named}
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
    if _has_table(volume.slices.dtype):
        plain = greys.modality_table is None and isinstance(curve, _Ramp)
        make = _plain_table if plain else _table
        bare = PixelSemantics(slope=greys.slope, intercept=greys.intercept, inverted=greys.inverted)
        table = make(bare if plain else greys, volume.slices.dtype, curve)
    return DisplayTransform(
        numbers=MappingProxyType(numbers), greys=greys, table=table, curve=curve
    )


def _table(greys: PixelSemantics, dtype: np.dtype[Any], curve: Curve) -> NDArray[np.uint8]:
    """Return the grey value of every bit pattern of a type."""
    return _render(greys, _all_values(dtype), curve)


@lru_cache(maxsize=8)
def _plain_table(greys: PixelSemantics, dtype: np.dtype[Any], curve: Curve) -> NDArray[np.uint8]:
    """Cached ``_table``, reused for the next file: images of one source share their window."""
    table = _table(greys, dtype, curve)
    table.flags.writeable = False
    return table


def _render(greys: PixelSemantics, stored: Array, curve: Curve) -> NDArray[np.uint8]:
    shade = curve(modality_values(greys, stored))
    if greys.inverted:
        return (255.0 - np.ceil(shade - 0.5)).astype(np.uint8)
    shade += 0.5
    return shade.astype(np.uint8)  # cuts fractions off: no shade is negative


def _look_up(table: LookupTable, values: Array) -> NDArray[np.float64]:
    place = np.clip(values.astype(np.float64) - table.first, 0, len(table.entries) - 1)
    return table.entries[place.astype(np.intp)].astype(np.float64)


def _through(table: NDArray[np.uint8], patterns: Array) -> NDArray[np.uint8]:
    """Return ``table[patterns]`` in half the time; the table has an entry for every pattern.

    numpy widens indices to 64 bits: this is done in parts that fit in the cache, and without a
    bounds check (``wrap``), since none lies outside.
    """
    picture = np.empty(patterns.shape, np.uint8)
    for source, target in zip(row_blocks(patterns), row_blocks(picture), strict=True):
        np.take(table, source, out=target, mode="wrap")
    return picture


def _has_table(dtype: np.dtype[np.generic]) -> bool:
    return dtype.kind in "iu" and dtype.itemsize <= 2


def _patterns(stored: Array) -> Array:
    """View the values as unsigned integers of the same width, in native byte order."""
    native = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    return native.view(np.dtype(f"u{native.dtype.itemsize}"))


def _all_values(dtype: np.dtype[np.generic]) -> Array:
    """Return every value of an integer type, at the index of its bit pattern."""
    patterns = np.arange(2 ** (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}")
    return patterns.view(dtype.newbyteorder("="))


def _percentiles(volume: Volume, low: Fraction | int, high: Fraction | int) -> tuple[float, float]:
    """Return the modality values below which ``low`` and ``high`` per cent of the volume lie.

    Each is the smallest value whose cumulative share reaches the percentage; without interpolation,
    integer data give exact numbers everywhere.
    """
    if not _has_table(volume.slices.dtype):
        return _float_percentiles(volume, low, high)
    counts = _histogram(volume)
    values = modality_values(volume.greys, _all_values(volume.slices.dtype))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[order])
    bottom, top = (
        float(values[order[np.searchsorted(reached, _rank(share, int(reached[-1])))]])
        for share in (low, high)
    )
    return bottom, top


def _float_percentiles(
    volume: Volume, low: Fraction | int, high: Fraction | int
) -> tuple[float, float]:
    size = prod(volume.slices.shape)
    places = [_rank(share, size) - 1 for share in (low, high)]
    if volume.greys.slope < 0:
        places = [size - 1 - place for place in places]
    bottom, top = modality_values(volume.greys, values_at_ranks(volume.slices, places)).tolist()
    return bottom, top


def _histogram(volume: Volume) -> NDArray[np.int64]:
    """Count each bit pattern; padding counts only if there is nothing else."""
    dtype = volume.slices.dtype
    counts = np.zeros(2 ** (8 * dtype.itemsize), np.int64)
    for k in range(volume.slices.shape[0]):
        for part in row_blocks(_patterns(volume.slices[k])):
            counts += np.bincount(part.ravel(), minlength=len(counts))
    if volume.greys.padding is not None:
        first, last = volume.greys.padding
        stored = _all_values(dtype)
        unpadded = np.where((stored >= first) & (stored <= last), 0, counts)
        if unpadded.any():
            return unpadded
    return counts


def _rank(share: Fraction | int, size: int) -> int:
    return max(1, ceil(Fraction(share) * size / 100))

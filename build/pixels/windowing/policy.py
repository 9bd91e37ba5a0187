"""Window policies of a card: which display transform each of them requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from math import isfinite
from types import MappingProxyType

import numpy as np

from medrcube.build.pixels.volume import PixelSemantics, Volume
from medrcube.build.pixels.windowing.curves import Curve, Numbers, Ramp, TableCurve, window_curve
from medrcube.build.pixels.windowing.percentiles import percentiles
from medrcube.build.pixels.windowing.transform import DisplayTransform, make_transform
from medrcube.errors import ReadError

__all__ = [
    "CT_PRESETS",
    "display_transform",
]

CT_PRESETS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"ct:lung": (-600.0, 1500.0), "ct:brain": (40.0, 80.0), "ct:mediastinum": (40.0, 400.0)}
)
"""Window centre and width in HU for each ``ct:`` policy."""


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
        numbers: Numbers = {"window": "bits", "low": low, "high": high}
        return make_transform(
            volume, policy, PixelSemantics(inverted=volume.greys.inverted), Ramp(low, high), numbers
        )
    if policy in CT_PRESETS:
        centre, width = CT_PRESETS[policy]
        curve, numbers = window_curve("linear", centre, width)
        return make_transform(volume, policy, volume.greys, curve, numbers)
    if policy == "header":
        window = _header_curve(volume.greys)
        if window is None:
            return _range_scale(volume, policy, 0, 100)
        curve, numbers = window
        if volume.greys.median_of and volume.greys.voi_table is None:
            numbers = {**numbers, "median_of": volume.greys.median_of}
        return make_transform(volume, policy, volume.greys, curve, numbers)
    match = re.fullmatch(r"percentile:([\d.]+)-([\d.]+)", policy)
    if match is None:
        raise ValueError(f"window policy {policy!r} is not known")
    return _range_scale(volume, policy, Fraction(match[1]), Fraction(match[2]))


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
        return make_transform(
            volume, "none", PixelSemantics(inverted=True), Ramp(0, 255), {"window": "none"}
        )
    return DisplayTransform(numbers={"policy": "none", "window": "none"}, greys=PixelSemantics())


def _range_scale(
    volume: Volume, policy: str, low: Fraction | int, high: Fraction | int
) -> DisplayTransform:
    window = "range" if (low, high) == (0, 100) else "percentile"
    bottom, top = percentiles(volume, low, high)
    if top <= bottom and window == "percentile":
        window = "range"
        bottom, top = percentiles(volume, 0, 100)
    if not (isfinite(bottom) and isfinite(top)):
        raise ReadError(
            f"its values range from {bottom:g} to {top:g} once slope and intercept are applied; "
            "expected finite ones",
            code="not-finite",
        )
    if top <= bottom:
        flat = PixelSemantics(slope=volume.greys.slope, intercept=volume.greys.intercept)
        constant: Numbers = {"window": "constant", "low": bottom, "high": top}
        return make_transform(volume, policy, flat, Ramp(np.inf, np.inf), constant)
    numbers: Numbers = {"window": window, "low": bottom, "high": top}
    return make_transform(volume, policy, volume.greys, Ramp(bottom, top), numbers)


def _header_curve(greys: PixelSemantics) -> tuple[Curve, Numbers] | None:
    if greys.voi_table is not None:
        numbers: Numbers = {"window": "table", "first": float(greys.voi_table.first)}
        return TableCurve(greys.voi_table), numbers
    least = 1 if greys.function == "linear" else 0
    for centre, width in greys.windows:
        if isfinite(centre) and isfinite(width) and width >= least and width > 0:
            return window_curve(greys.function, centre, width)
    return None


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

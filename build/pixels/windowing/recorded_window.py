"""Recorded windows: the display transform that the recipe of a release describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from medrcube.build.pixels.volume import Volume
from medrcube.build.pixels.windowing.curves import Curve, Ramp, window_curve
from medrcube.build.pixels.windowing.transform import DisplayTransform, make_transform

__all__ = ["recorded_transform"]

_PLACES = ("low", "high", "centre", "width")
"""Keys of the numbers that define a window."""


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
    curve_numbers = {
        name: numbers[name] for name in ("window", *_PLACES, "median_of") if name in numbers
    }
    return make_transform(volume, str(numbers.get("policy", "")), greys, curve, curve_numbers)


def _recorded_curve(numbers: Mapping[str, Any]) -> Curve | None:
    places = {name: numbers[name] for name in _PLACES if name in numbers}
    if not all(map(_is_number, places.values())):
        return None
    match numbers.get("window"), places:
        case "percentile" | "range" | "bits", {"low": low, "high": high}:
            return Ramp(low, high)
        case "linear" | "linear_exact" | "sigmoid" as function, {"centre": centre, "width": width}:
            return window_curve(function, centre, width)[0] if width > 0 else None
        case _:
            return None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and isfinite(value)

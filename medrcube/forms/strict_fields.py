"""Strict readers for the fields of a target: exact keys, finite numbers, non-empty texts."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

from medrcube.forms.protocol import TargetError

__all__ = ["read_box", "read_fields", "read_number", "read_size", "read_texts"]

_LARGEST_SIDE = 100_000
_LONGEST_LIST = 20
_LONGEST_TEXT = 2_000


def read_fields(name: str, value: object, required: Collection[str]) -> Mapping[str, Any]:
    """Read an object with exactly these fields.

    Raises:
        TargetError: it is not an object, lacks a field, or has an unknown one.
    """
    if not isinstance(value, dict):
        raise TargetError(f"{name} is a {type(value).__name__}; expected an object")
    missing = [field for field in required if field not in value]
    unknown = sorted(map(repr, set(value) - {*required}))
    if missing or unknown:
        problem = f"has no {missing[0]!r}" if missing else f"has the field {unknown[0][:60]}"
        expected = ", ".join(required) or "no field"
        raise TargetError(f"{name} {problem}; expected {expected}")
    return value


def read_number(
    name: str, value: object, *, least: float = -math.inf, most: float = math.inf
) -> float:
    """Read a finite number within bounds.

    Raises:
        TargetError: it is not such a number.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number) and least <= number <= most:
            return number
    bounds = f" from {least:g} to {most:g}" if math.isfinite(least) or math.isfinite(most) else ""
    raise TargetError(f"{name} is {str(value)[:60]!r}; expected a number{bounds}")


def read_size(name: str, value: object) -> tuple[int, int]:
    """Read width and height in pixels.

    Raises:
        TargetError: it is not a valid size.
    """
    if isinstance(value, list) and len(value) == 2 and all(type(side) is int for side in value):
        width, height = value
        if 0 < width <= _LARGEST_SIDE and 0 < height <= _LARGEST_SIDE:
            return width, height
    raise TargetError(f"{name} is {str(value)[:60]!r}; expected [width, height] in pixels")


def read_box(name: str, value: object, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Read a box ``[left, top, right, bottom]`` in pixels, within an image.

    Raises:
        TargetError: it is not a box, is empty, or extends beyond the image.
    """
    if not isinstance(value, list) or len(value) != 4:
        raise TargetError(
            f"{name} is {str(value)[:60]!r}; expected [left, top, right, bottom] in pixels"
        )
    left, top, right, bottom = (read_number(name, side) for side in value)
    width, height = size
    if not (0 <= left < right <= width and 0 <= top < bottom <= height):
        raise TargetError(f"{name} is {value}; expected a box within {width} x {height} pixels")
    return left, top, right, bottom


def read_texts(name: str, value: object, *, least: int, most: int = _LONGEST_LIST) -> list[str]:
    """Read a list of distinct one-line texts.

    Raises:
        TargetError: it is not such a list.
    """
    count = str(least) if least == most else f"{least} to {most}"
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise TargetError(f"{name} is {str(value)[:60]!r}; expected a list of {count} texts")
    for text in value:
        if not isinstance(text, str) or not text.strip() or not text.isprintable():
            raise TargetError(f"{name} holds {str(text)[:60]!r}; expected texts of one line")
        if len(text) > _LONGEST_TEXT:
            raise TargetError(
                f"{name} holds {len(text):,} characters; expected at most {_LONGEST_TEXT:,}"
            )
    if len({" ".join(text.split()).casefold() for text in value}) < len(value):
        raise TargetError(f"{name} holds one text twice: {value}")
    return list(value)

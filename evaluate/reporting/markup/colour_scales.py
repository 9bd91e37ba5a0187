"""Colour scales of heat maps: brown below chance or zero, neutral at it, teal above.

Brown and teal are distinguishable with all common types of colour vision (ColorBrewer's BrBG); each
shade has a light and a dark variant, with the text colour of higher contrast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Rgb", "Shade", "shade", "signed_shade"]

Rgb = tuple[int, int, int]


class Shade(NamedTuple):
    """Background and text colour on a light and on a dark page, as ``#rrggbb``."""

    light: str
    light_text: str
    dark: str
    dark_text: str


def shade(accuracy: float, chance: float) -> Shade:
    """Return the shade of an accuracy in [0, 1] relative to chance, which may be 1."""
    distance = 0.0
    if accuracy != chance:
        distance = (accuracy - chance) / (chance if accuracy < chance else 1 - chance)
    light = _mix(_LIGHT, distance)
    dark = _mix(_DARK, distance)
    return Shade(_hex(light), _text_on(light), _hex(dark), _text_on(dark))


def signed_shade(value: float, most: float = 1.0) -> Shade:
    """Return the shade of a signed value, neutral at 0 and full at ``most``."""
    return shade(min(1.0, max(0.0, 0.5 + value / (2 * most))), 0.5)


_LIGHT: tuple[Rgb, ...] = (
    (140, 81, 10), (216, 179, 101), (246, 232, 195), (244, 244, 241),
    (199, 234, 229), (90, 180, 172), (1, 102, 94),
)  # fmt: skip
_DARK: tuple[Rgb, ...] = (
    (240, 178, 92), (164, 110, 42), (88, 66, 40), (46, 51, 58),
    (30, 78, 78), (34, 134, 126), (112, 226, 210),
)  # fmt: skip


def _mix(stops: Sequence[Rgb], distance: float) -> Rgb:
    place = (min(1.0, max(-1.0, distance)) + 1) / 2 * (len(stops) - 1)
    index = min(int(place), len(stops) - 2)
    part = place - index
    first, second = stops[index], stops[index + 1]
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(first, second, strict=True))
    return red, green, blue


def _text_on(colour: Rgb) -> str:
    """Return black or white, by contrast (WCAG 2.2, relative luminance)."""
    linear = [
        c / 12.92 if (c := value / 255) <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for value in colour
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) / 0.05 >= 1.05 / (luminance + 0.05) else "#ffffff"


def _hex(colour: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)

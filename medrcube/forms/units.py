"""Units of quantities: dimension, size, and spellings in replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medrcube.forms.protocol import TargetError

__all__ = ["UNITS", "Unit", "convert", "find_unit", "unit_names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A unit of measurement.

    Attributes:
        name: symbol in releases and prompts; empty for a ratio or a count.
        dimension: what it measures; only units of the same dimension convert.
        size: its size in base units of its dimension.
        spellings: further spellings accepted in replies, case-folded.
        target: whether an item may ask for it.
    """

    name: str
    dimension: str
    size: float
    spellings: tuple[str, ...] = ()
    target: bool = True


_DAYS_OF_YEAR = 365.25
_MICRONS = ("um", "\u03bcm", "micron", "micrometer", "micrometre")
_MILLILITRES = ("milliliter", "millilitre", "cc", "ccm", "cm3", "cm^3", "cubic centimeter")

UNITS: tuple[Unit, ...] = (
    Unit(name="mm", dimension="length", size=1, spellings=("millimeter", "millimetre")),
    Unit(name="cm", dimension="length", size=10, spellings=("centimeter", "centimetre")),
    Unit(name="m", dimension="length", size=1000, spellings=("meter", "metre"), target=False),
    Unit(name="\u00b5m", dimension="length", size=0.001, spellings=_MICRONS, target=False),
    Unit(name="inch", dimension="length", size=25.4, spellings=("inches",), target=False),
    Unit(name="ft", dimension="length", size=304.8, spellings=("foot", "feet"), target=False),
    Unit(name="px", dimension="pixels", size=1, spellings=("pixel",), target=False),
    Unit(name="mm2", dimension="area", size=1, spellings=("mm^2", "sq mm", "square millimeter")),
    Unit(name="cm2", dimension="area", size=100, spellings=("cm^2", "sq cm", "square centimeter")),
    Unit(name="ml", dimension="volume", size=1, spellings=_MILLILITRES),
    Unit(name="mm3", dimension="volume", size=0.001, spellings=("mm^3", "cubic millimeter")),
    Unit(name="dl", dimension="volume", size=100, spellings=("deciliter",), target=False),
    Unit(name="l", dimension="volume", size=1000, spellings=("liter", "litre"), target=False),
    Unit(name="", dimension="share", size=1),
    Unit(name="%", dimension="share", size=0.01, spellings=("percent", "per cent", "pct")),
    Unit(name="days", dimension="time", size=1, spellings=("day",)),
    Unit(name="weeks", dimension="time", size=7, spellings=("week",)),
    Unit(name="months", dimension="time", size=_DAYS_OF_YEAR / 12, spellings=("month",)),
    Unit(name="years", dimension="time", size=_DAYS_OF_YEAR, spellings=("year",)),
    Unit(name="degrees", dimension="angle", size=1, spellings=("degree", "\u00b0", "deg")),
    Unit(name="bpm", dimension="rate", size=1, spellings=("beats per minute",)),
    Unit(name="ms", dimension="interval", size=1, spellings=("msec", "millisecond")),
    Unit(name="g", dimension="mass", size=1, spellings=("gram",)),
    Unit(name="kg", dimension="mass", size=1000, spellings=("kilogram",), target=False),
    Unit(name="mg", dimension="mass", size=0.001, spellings=("milligram",), target=False),
    Unit(name="mmhg", dimension="pressure", size=1, spellings=("mm hg",), target=False),
    Unit(name="kpa", dimension="pressure", size=7.50062, target=False),
    Unit(name="hu", dimension="attenuation", size=1, spellings=("hounsfield unit",), target=False),
    Unit(name="hz", dimension="frequency", size=1, spellings=("hertz",), target=False),
    Unit(name="mhz", dimension="frequency", size=1e6, spellings=("megahertz",), target=False),
    Unit(name="hours", dimension="time", size=1 / 24, spellings=("hour",), target=False),
    Unit(name="minutes", dimension="time", size=1 / 1440, spellings=("minute",), target=False),
    Unit(
        name="seconds", dimension="interval", size=1000, spellings=("second", "sec"), target=False
    ),
    Unit(name="db", dimension="level", size=1, spellings=("decibel",), target=False),
)
"""Every unit recognised in replies; a plural "s" is accepted too."""

_TARGETS: Mapping[str, Unit] = {unit.name: unit for unit in UNITS if unit.target}
_PLURAL = 4
_SPELLINGS: Mapping[str, Unit] = {
    text: unit
    for unit in UNITS
    for spelling in (unit.name.casefold(), *unit.spellings)
    for text in (spelling, *((f"{spelling}s",) if len(spelling) >= _PLURAL else ()))
}


def find_unit(name: object) -> Unit:
    """Return a unit that an item may ask for.

    Raises:
        TargetError: there is no such unit.
    """
    if isinstance(name, str) and name in _TARGETS:
        return _TARGETS[name]
    units = ", ".join(repr(unit) for unit in _TARGETS)
    raise TargetError(f"unit is {str(name)[:60]!r}; expected one of: {units}")


def unit_names() -> Mapping[str, Unit]:
    """Return units by every case-folded spelling in replies, excluding the empty one."""
    return {spelling: unit for spelling, unit in _SPELLINGS.items() if spelling}


def convert(value: float, unit: Unit, target: Unit) -> float | None:
    """Convert a value to another unit; ``None`` if the dimensions differ."""
    if unit.dimension != target.dimension:
        return None
    return value if unit is target else value * unit.size / target.size

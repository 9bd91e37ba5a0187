"""Parse one number with its unit from a text, or abstain.

Ranges, bounds, fractions, products of dimensions and several different numbers yield none. A value
in parentheses after another is an aside, unless it contradicts it by a power of ten. Uncertainty,
confidence, the length of the scale bar, list ordinals and references such as "Figure 2" are
ignored; for an equation, the result counts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from medrcube.evaluate.answer_parsing.markup_removal import strip_markup
from medrcube.evaluate.answer_parsing.open_forms.part_reading import PartReading
from medrcube.forms.number import NumberAsk
from medrcube.forms.units import Unit, convert, find_unit, unit_names

__all__ = ["read_number_part"]


def read_number_part(text: str, ask: NumberAsk) -> PartReading:
    """Parse the number in a part of a reply, in the unit of the item."""
    unit = find_unit(ask.unit)
    plain = _without_side_numbers(_plain(text))
    outside = _BRACKETS.sub(" ", plain)
    values = list(_values(outside))
    aside = list(_values(plain)) if values else []
    if not values:
        outside, values = plain, list(_values(plain))
    if not values:
        return PartReading(None, "")
    if problem := _problem(outside):
        return PartReading(None, problem)
    readings, explicit = _in_unit(values, unit)
    if not readings:
        return PartReading(None, "other-unit")
    first = readings[0]
    if any(not math.isclose(first, other, rel_tol=1e-6) for other in readings):
        return PartReading(None, "several-numbers")
    if explicit and _contradicts(first, _in_unit(aside, unit, strict=True)[0]):
        return PartReading(None, "contradiction")
    return PartReading(first, "")


class _Value(NamedTuple):
    number: float
    unit: Unit | None


_UNITS = unit_names()
_SPELLED = "|".join(
    re.escape(spelling).replace(r"\ ", r"\s+") for spelling in sorted(_UNITS, key=len, reverse=True)
)
_UNIT = rf"(?:{_SPELLED})(?![A-Za-z0-9])"
_NUMBER = (
    r"(?:\d{1,3}(?:[,']\d{3}){1,9}(?:\.\d{1,30})?(?![\d,])|\d{1,3}(?:\.\d{3}){1,9},\d{1,30}"
    r"|\d{1,30}[.,]\d{1,30}|\d{1,30}|\.\d{1,30})"
    r"(?:[eE][-+\u2212]?\d{1,2}(?!\d))?(?!\d|[.,]\d)"
)
_TOKEN = re.compile(
    rf"(?<![\w.,/^])(?P<sign>[-+\u2212]?)(?P<number>{_NUMBER})"
    rf"(?:[\s-]*\\?(?P<unit>{_UNIT})|(?![A-Za-z_\u00b5\u03bc]))",
    re.IGNORECASE,
)
_AMOUNT = rf"{_NUMBER}(?:[\s-]*\\?{_UNIT})?"
_OPERATOR = r"(?:[x\u00d7\u00b7/\u00f7+\u2212-]|\\times|\\div|\\cdot|times|divided\s+by|over)"
_EQUATION = re.compile(
    rf"(?<![\w.,])\(?{_AMOUNT}\)?(?:\s*{_OPERATOR}\s*\(?{_AMOUNT}\)?){{1,20}}\s*"
    r"(?:=|\u2248|\\approx|equals|gives)",
    re.IGNORECASE,
)
_UNCERTAINTY = re.compile(rf"(?:\u00b1|\+\s?/\s?[-\u2212]|\\pm)\s*{_NUMBER}", re.IGNORECASE)
_CONFIDENCE = re.compile(
    rf"\bconfidence\W{{0,10}}(?:is|of|level|interval)?\W{{0,5}}{_NUMBER}\s*\\?%?"
    rf"|{_NUMBER}\s*\\?%\s*(?:confiden|certain|sure\b|CI\b)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    rf"\b(?:not|rather\s+than|instead\s+of)\s+(?:about\s+|approximately\s+)?{_AMOUNT}",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\b(?:steps?|figures?|fig|images?|pictures?|options?|slices?|series|grade|stage|question|box"
    r"|region|phase|type|frame|no|version|method|line|segment|zone|level)\.?\s*#?\s*\d{1,3}"
    rf"(?![\d.,]*\d)(?!\s*{_UNIT})",
    re.IGNORECASE,
)
_BAR = re.compile(
    rf"\bbar\b[^.\n\d]{{0,30}}{_AMOUNT}|{_AMOUNT}[\s-]+(?:long\s+)?(?:scale[\s-]*)?bar\b",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"^[ \t]*\(?(\d{1,2})[.)](?=[ \t]+\S)", re.MULTILINE)
_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_PRODUCT = re.compile(rf"{_AMOUNT}\s*(?:[x\u00d7]|\\times|by)\s*{_AMOUNT}", re.IGNORECASE)
_RANGE = re.compile(
    rf"{_AMOUNT}\s*(?:[-\u2010-\u2015\u2212]|to|through|or)\s*{_AMOUNT}|\bbetween\s+{_AMOUNT}\s+and\b",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:[<>\u2264\u2265]|\b(?:(?:less|more|greater|larger|smaller|higher|lower|longer|shorter)\s+than"
    r"|at\s+least|at\s+most|up\s+to|under|below|above|exceed(?:s|ing)?|no\s+more\s+than))\s*"
    rf"(?:about\s+|approximately\s+)?{_NUMBER}",
    re.IGNORECASE,
)
_FRACTION = re.compile(r"(?<![\d.])\d+(?:\.\d+)?\s*/\s*\d+")
_SUPERSCRIPT = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079\u207b", "0123456789-"
)
_POWER = re.compile("(?<=10)[\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207b]+")
_SCIENTIFIC = re.compile(
    r"(\d)\s*(?:[x\u00d7\u00b7]|\\times|\\cdot)\s*10\s*\^\s*[{(]?\s*([-+\u2212]?\d{1,2})(?:\s*[})])?"
)
_QUOTED_BOUND = re.compile(r"^[ \t]*>\s*(?=\d)", re.MULTILINE)
_THIN_SPACE = re.compile("(?<=\\d)[\u00a0\u202f\u2009](?=\\d{3}(?!\\d))")
_TEXT_COMMANDS = re.compile(r"\\(?:text|mathrm|rm|operatorname)\s*\{([^{}]*)\}")


def _plain(text: str) -> str:
    """Return plain text; signs between numbers that markup removal would drop become words."""
    text = _POWER.sub(lambda match: "^" + match[0].translate(_SUPERSCRIPT), text)
    text = _THIN_SPACE.sub("", text)
    text = re.sub(r"(?<=\d)\s*\*\*\s*(?=[-\d])", "^", text)
    text = re.sub(r"(?<=\d)\s*\*\s*(?=\d)", " \u00d7 ", text)
    text = _SCIENTIFIC.sub(r"\1e\2", text)
    text = _QUOTED_BOUND.sub("more than ", text)
    text = re.sub(r"(?<=\d)\s*[~\uff5e]\s*(?=\d)", " to ", text)
    text = _TEXT_COMMANDS.sub(r" \1", text)
    return strip_markup(text)


def _without_side_numbers(text: str) -> str:
    """Remove numbers that are not values of the answer."""
    ordinals = [int(match[1]) for match in _ORDINAL.finditer(text)]
    if ordinals[:1] == [1]:
        text = _ORDINAL.sub(" ", text)
    for pattern in (_UNCERTAINTY, _CONFIDENCE, _NEGATED, _REFERENCE, _EQUATION, _BAR):
        text = pattern.sub(" ", text)
    return text


def _values(text: str) -> Iterator[_Value]:
    for match in _TOKEN.finditer(text):
        number = _parse(match["number"])
        if number is None:
            continue
        spelled = match["unit"]
        unit = None if spelled is None else _UNITS[_fold(spelled)]
        yield _Value(-number if match["sign"] in {"-", "\u2212"} else number, unit)


def _fold(spelled: str) -> str:
    """Normalise a unit spelling as in ``unit_names``; patterns also match Turkish forms of i."""
    plain = spelled.replace("\u0130", "i").replace("\u0131", "i")
    return " ".join(plain.casefold().split())


def _parse(text: str) -> float | None:
    """Parse a number token: a comma before three digits separates thousands, except after 0."""
    digits = re.match(r"[\d.,']+", text)
    if digits is None:
        return None
    mantissa, rest = digits[0], text[digits.end() :]
    power = int(rest[1:].replace("\u2212", "-")) if rest else 0
    mantissa = mantissa.replace("'", "")
    if "," in mantissa and "." in mantissa:
        decimal = max(mantissa.rfind(","), mantissa.rfind("."))
        whole = mantissa[:decimal].replace(",", "").replace(".", "")
        mantissa = f"{whole}.{mantissa[decimal + 1 :]}"
    elif re.fullmatch(r"[1-9]\d{0,2}(?:,\d{3})+", mantissa):
        mantissa = mantissa.replace(",", "")
    else:
        mantissa = mantissa.replace(",", ".")
    try:
        number = float(mantissa) * 10.0**power
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _problem(text: str) -> str:
    """Return why the numbers in a text are not a single value; empty if they are."""
    for name, pattern in (
        ("dimensions", _PRODUCT),
        ("range", _RANGE),
        ("bound", _BOUND),
        ("fraction", _FRACTION),
    ):
        if pattern.search(text):
            return name
    return ""


def _in_unit(values: list[_Value], unit: Unit, *, strict: bool = False) -> tuple[list[float], bool]:
    """Return the values in the wanted unit, and whether one states its unit.

    A number without a unit is taken to be in the wanted unit. Values of another dimension are
    ignored; if there are only such values, nothing is returned.
    """
    readings, explicit = [], False
    for value in values:
        if value.unit is None:
            if not strict:
                readings.append(value.number)
        elif (converted := convert(value.number, value.unit, unit)) is not None:
            readings.append(converted)
            explicit = True
    foreign = any(value.unit and value.unit.dimension != unit.dimension for value in values)
    if foreign and not explicit and unit.name:
        return [], False
    return readings, explicit


def _contradicts(value: float, others: list[float]) -> bool:
    """Whether another value is this one times a power of ten, as after a wrong conversion."""
    for other in others:
        if value > 0 and other > 0:
            power = math.log10(other / value)
            if round(power) != 0 and abs(power - round(power)) < 0.01:
                return True
    return False

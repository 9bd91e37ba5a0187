"""Item-writing rules on figures in options and their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

from medrcube.ontologies.item_rules.rule_types import ERROR, WARNING, ItemRule, ItemText

__all__ = ["NUMBER_RULES"]

_UNIT = r"%|percent|mm|cm|ml|mL|HU|years?|weeks?|days?|degrees?|bpm|mmHg"
_FIGURE = r"(\d+(?:\.\d+)?)"
# Does not match the digits of T1, COVID-19 or BI-RADS 4A, which are names.
_MEASURED = re.compile(rf"(?<![\w.*-]){_FIGURE}\s*({_UNIT})(?!\w)")
_RANGE = re.compile(rf"(?<![\w.*]){_FIGURE}\s*(?:{_UNIT})?\s*(?:to|-|\u2013)\s*{_FIGURE}(?![\w.])")
_LEAST = re.compile(
    rf"(?:(?:more than|over|above|at least|greater than|>=?|\u2265)\s*{_FIGURE})"
    rf"|(?:{_FIGURE}\s*(?:{_UNIT})?\s*(?:or|and) (?:more|above|over))"
)
_MOST = re.compile(
    rf"(?:(?:less than|under|below|at most|up to|<=?|\u2264)\s*{_FIGURE})"
    rf"|(?:{_FIGURE}\s*(?:{_UNIT})?\s*(?:or|and) (?:less|below|under))"
)
_LEADING = re.compile(rf"^(\D*?)(?<![A-Za-z\d*]){_FIGURE}([A-Za-z]?)(?![\w])")
_LADDERS = (
    ("no", "none", "normal", "absent"),
    ("minimal", "trace", "slight"),
    ("mild", "low"),
    ("moderate", "intermediate"),
    ("severe", "marked", "high"),
)


def _numbers(draft: ItemText) -> Iterator[str]:
    measured = [_MEASURED.findall(option) for option in draft.options]
    figures = [option_figures for option_figures in measured if option_figures]
    units = {_unit(unit) for option_figures in figures for _, unit in option_figures}
    if len(figures) > 1 and len(units) > 1:
        yield f"numbers in several units ({', '.join(sorted(units))}); use one unit"
    places = {
        len(figure.partition(".")[2]) for option_figures in figures for figure, _ in option_figures
    }
    if len(figures) > 1 and len(places) > 1:
        yield "numbers of different precision; use the same number of decimals"
    spans = [
        (option, span) for option in draft.options if (span := parse_interval(option)) is not None
    ]
    for (option, a), (other, b) in combinations(spans, 2):
        if _subject(option) == _subject(other) and max(a[0], b[0]) < min(a[1], b[1]):
            yield (
                f"the ranges of {option!r} and {other!r} overlap; make them meet at most at an end"
            )


def parse_interval(text: str) -> tuple[float, float] | None:
    """Parse the range that a text states, such as 40 to 54; ``None`` if it states none."""
    for pattern, bounds in _INTERVALS:
        match = pattern.search(text)
        if match:
            return bounds([float(part) for part in match.groups() if part])
    return None


_INTERVALS: Sequence[tuple[re.Pattern[str], Callable[[list[float]], tuple[float, float]]]] = (
    (_RANGE, lambda ends: (min(ends), max(ends))),
    (_LEAST, lambda ends: (ends[0], float("inf"))),
    (_MOST, lambda ends: (float("-inf"), ends[0])),
)


def _subject(text: str) -> frozenset[str]:
    """Return what a range measures: its unit or, without one, the words before it."""
    units = frozenset(_unit(unit) for _, unit in _MEASURED.findall(text))
    return units or frozenset(re.findall(r"[a-z]+", re.split(r"\d", text.casefold())[0]))


def _unit(text: str) -> str:
    return {"percent": "%", "mL": "ml"}.get(text, text.removesuffix("s"))


def _order(draft: ItemText) -> Iterator[str]:
    places: Sequence[float | tuple[float, str]] | None = draft.ranks or (
        _graded(draft.options) or _counted(draft.options)
    )
    if places and any(a > b for a, b in pairwise(_comparable(places))):
        yield (
            "options with a natural order are not in that order; sort numbers in ascending order "
            "and grades by their scale"
        )


def _comparable(places: Sequence[float | tuple[float, str]]) -> list[tuple[float, str]]:
    return [place if isinstance(place, tuple) else (place, "") for place in places]


def _counted(options: Sequence[str]) -> list[tuple[float, str]] | None:
    """Return the numbers that follow the same words in every option: BI-RADS 2, BI-RADS 4A."""
    matches = [_LEADING.match(option) for option in options]
    heads = {match.group(1).casefold() for match in matches if match}
    if len(heads) != 1 or not all(matches):
        return None
    return [(float(match.group(2)), match.group(3)) for match in matches if match]


def _graded(options: Sequence[str]) -> list[float] | None:
    """Return the severity grades, if every option has exactly one."""
    steps = [
        [step for step, words in enumerate(_LADDERS) if not set(words).isdisjoint(_words(option))]
        for option in options
    ]
    if any(len(grades) != 1 for grades in steps) or len({grades[0] for grades in steps}) < len(
        steps
    ):
        return None
    return [float(grades[0]) for grades in steps]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.casefold())


NUMBER_RULES = (
    ItemRule(
        id="numbers",
        level=ERROR,
        asks="Numbers have one unit and one precision, and ranges do not overlap.",
        flaw="Numbers differ in unit or precision, or ranges overlap.",
        check=_numbers,
    ),
    ItemRule(
        id="order",
        level=WARNING,
        asks="Numbers are in ascending order, grades in the order of their scale.",
        flaw="Numbers are not in ascending order, or grades not in the order of their scale.",
        check=_order,
    ),
)

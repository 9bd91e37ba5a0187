"""Accuracies and intervals in words, with units or the reason why there is no interval.

An incomplete run has no accuracy: questions without a reply are neither wrong nor missing at
random. Bounds of the accuracy are shown instead: all missing replies wrong, or all correct.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from medrcube.evaluate.outcomes import LOST, AnswerOutcome
from medrcube.evaluate.statistics.units import units_text

__all__ = [
    "TOO_FEW",
    "accuracy_line",
    "accuracy_text",
    "accuracy_words",
    "interval_or_few",
    "interval_text",
    "is_too_few",
    "lost_text",
    "span",
]

TOO_FEW = "too few to tell"
_SURE = 0.995
_TO = " to "
"""Between the ends of an interval: a dash would look like a sign before a negative end."""


def is_too_few(row: Mapping[str, Any]) -> bool:
    """Whether a row is uninformative about the model: few items, or a chance of 1.

    The chance of items is 1 if their cell has so few patients that one blind answer passes for all
    of them.
    """
    return bool(row["small"]) or (row.get("chance") or 0.0) >= _SURE


def interval_or_few(row: Mapping[str, Any]) -> str:
    """Return the interval of a row in per cent, or a note that there is too little data."""
    return TOO_FEW if is_too_few(row) else span(row["interval"])


def interval_text(row: Mapping[str, Any]) -> str:
    """Return an interval in words, or why there is none.

    Such as ``95 % interval 40.1 to 60.2, 31 patients`` or ``no interval: fewer than 5 units``.
    """
    units = units_text(row["unit_kinds"])
    few = f"; {TOO_FEW}" if is_too_few(row) else ""
    if row["interval"] is None:
        return f"no interval: {row['interval_reason']} ({units}){few}"
    return f"95 % interval {span(row['interval'])}, {units}{few}"


def accuracy_text(row: Mapping[str, Any], digits: int = 1) -> str:
    """Return the accuracy in per cent; for an incomplete run its bounds."""
    if row["accuracy"] is not None:
        return f"{100 * row['accuracy']:.{digits}f}"
    low, high = (f"{100 * bound:.{digits}f}" for bound in row["bounds"])
    return low if low == high else f"{low}{_TO}{high}"


def accuracy_words(row: Mapping[str, Any], digits: int = 1) -> str:
    """Return the accuracy with its unit, in words: ``30.0 %`` or ``between 2.1 and 95.8 %``."""
    text = accuracy_text(row, digits)
    low, to, high = text.partition(_TO)
    return f"between {low} and {high} %" if to else f"{text} %"


def accuracy_line(row: Mapping[str, Any]) -> str:
    """Return the accuracy of a group with interval and units, in words."""
    return f"accuracy of all items {accuracy_words(row)} ({interval_text(row)})"


def lost_text(group: Mapping[str, Any]) -> str:
    """Return questions without a reply by outcome: ``3 failed and 400 not asked``."""
    counts = {outcome: group["outcomes"][outcome] for outcome in AnswerOutcome if outcome in LOST}
    parts = [f"{count:,} {outcome.words}" for outcome, count in counts.items() if count]
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def span(interval: Sequence[float] | None) -> str:
    """Return the interval of a proportion in per cent; a dash without one."""
    if interval is None:
        return "\u2013"
    return f"{100 * interval[0]:.1f}{_TO}{100 * interval[1]:.1f}"

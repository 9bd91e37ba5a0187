"""Conclusions of a comparison of two runs, in words, with their limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medrcube.console.counts import counted
from medrcube.evaluate.statistics.grouping import COLUMNS, Axis
from medrcube.evaluate.statistics.intervals import SMALL
from medrcube.evaluate.statistics.power import FEWEST_FOR_POWER
from medrcube.evaluate.statistics.units import units_text
from medrcube.taxonomy import Task

__all__ = ["LIST_LIMIT", "conclusions", "name_of", "p_text", "points", "points_span", "short_name"]

LIST_LIMIT = 5
"""Number of groups listed in a sentence; the table has all."""


def conclusions(comparison: Mapping[str, Any]) -> list[str]:
    """Return sentences on the result of ``compare_two``: the verdict, then its limits."""
    first, second = (run["label"] for run in comparison["runs"])
    row = comparison["overall"]
    lines = [_verdict(row, first, second), _power(row)]
    lines += [_family(axis, rows, first, second) for axis, rows in comparison["families"].items()]
    if comparison["sets"]:
        lines.append(_wholes("set", "item", comparison["sets"], first, second))
    if comparison["chains"]:
        lines.append(_wholes("chain", "step", comparison["chains"], first, second))
    lines.append(
        "This holds for these questions and images, each asked once. It says nothing about "
        "other data, another prompt or another version of a model."
    )
    return lines


def points(value: float | None, *, sign: bool = False) -> str:
    """Format a proportion as percentage points, with one digit."""
    if value is None:
        return "\u2013"
    return f"{100 * value:+.1f}" if sign else f"{100 * value:.1f}"


def points_span(interval: list[float] | None) -> str:
    """Format an interval of a difference in points."""
    if interval is None:
        return "\u2013"
    return f"{points(interval[0], sign=True)} to {points(interval[1], sign=True)}"


def p_text(p: float | None) -> str:
    """Format a p value."""
    if p is None:
        return "\u2013"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def name_of(axis: Axis, row: Mapping[str, Any]) -> str:
    """Return the name of a slice."""
    return " / ".join(row[column] for column in COLUMNS[axis])


def short_name(axis: Axis, row: Mapping[str, Any]) -> str:
    """Return the name of a slice for a narrow table: a cell by the abbreviation of its task."""
    if axis != "voxel":
        return name_of(axis, row)
    return f"{Task(row['task']).abbreviation} {row['modality']} {row['parts']}"


def _verdict(row: Mapping[str, Any], first: str, second: str) -> str:
    row = _winner_first(row)
    numbers = (
        f"{points(row['first'])} % against {points(row['second'])} %, "
        f"{points(row['difference'], sign=True)} points ({_interval(row)}, "
        f"exact McNemar p {_equals(row['mcnemar_p'])}, {row['n']:,} questions on "
        f"{units_text(row['unit_kinds'])})"
    )
    if row["verdict"] != "unclear":
        better, worse = (first, second) if row["verdict"] == "first" else (second, first)
        return f"{better} is right more often than {worse} on these questions: {numbers}."
    if row["interval"] is None:
        return (
            "No verdict, since the uncertainty of the difference is unknown "
            f"({row['interval_reason']}): {numbers}."
        )
    low, high = row["interval"]
    if low <= 0 <= high:
        reach = points(max(-low, high))
        remark = f"This does not prove equality: up to {reach} points either way are possible"
        return f"No difference is shown between {first} and {second}: {numbers}. {remark}."
    return (
        "Unclear: the interval excludes 0, but the exact test is not significant at 5 %: "
        f"{numbers}. "
        f"More questions would be needed to tell {first} and {second} apart."
    )


def _power(row: Mapping[str, Any]) -> str:
    effect = row["minimum_detectable_effect"]
    differing = row["only_first"] + row["only_second"]
    if row["units"] < FEWEST_FOR_POWER:
        return (
            f"{differing:,} of {row['n']:,} questions are right in only one run. The detectable "
            f"difference is not stated for fewer than {FEWEST_FOR_POWER} units."
        )
    if effect is None:
        return (
            f"Only {differing:,} of {row['n']:,} questions are right in only one run: too few "
            "for any difference to be detected reliably."
        )
    return (
        f"{differing:,} of {row['n']:,} questions are right in only one run. With so many, a true "
        f"difference of {points(effect)} points would be detected in 8 of 10 such comparisons; a "
        "smaller one may well be missed."
    )


def _wholes(noun: str, part: str, row: Mapping[str, Any], first: str, second: str) -> str:
    """Return sentences on items that are scored together: sets, or chains."""
    row = _winner_first(row)
    numbers = (
        f"{points(row['first'])} % against {points(row['second'])} % of "
        f"{counted(row['n'], noun)}, {points(row['difference'], sign=True)} points ("
        f"{_interval(row)}, McNemar p {_equals(row['mcnemar_p'])})"
    )
    if row["verdict"] == "unclear":
        return (
            f"{noun.capitalize()}s, right where all their {part}s are: no difference is shown: "
            f"{numbers}."
        )
    better, worse = (first, second) if row["verdict"] == "first" else (second, first)
    return f"{better} has more whole {noun}s right than {worse}: {numbers}."


def _family(axis: Axis, rows: list[Mapping[str, Any]], first: str, second: str) -> str:
    tested = [row for row in rows if not row["small"]]
    clear = [row for row in tested if row["verdict"] != "unclear"]
    small = len(rows) - len(tested)
    noun = "group" if axis == "parts" else axis
    if not tested:
        return f"By {axis}: no {noun} has the {SMALL} pairs needed for a test."
    text = f"By {axis}: of {counted(len(tested), noun)} tested together (Holm), "
    if clear:
        largest = sorted(clear, key=lambda row: -abs(row["difference"]))
        groups = "; ".join(
            f"{name_of(axis, row)} for {first if row['verdict'] == 'first' else second} "
            f"({points(abs(row['difference']), sign=True)})"
            for row in largest[:LIST_LIMIT]
        )
        text += f"{len(clear)} {'differs' if len(clear) == 1 else 'differ'}"
        text += f", most of all: {groups}." if len(clear) > LIST_LIMIT else f": {groups}."
    else:
        text += "none is shown to differ; that does not prove that all are equal."
    if clear and len(clear) < len(tested):
        text += " For the others no difference is shown, which does not prove that there is none."
    if small:
        text += f" {counted(small, noun)} of fewer than {SMALL} pairs left untested."
    return text


def _winner_first(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the row with the figures of the better run first, if one is shown to be better."""
    if row["verdict"] != "second":
        return row
    low, high = row["interval"]
    return {
        **row,
        "first": row["second"],
        "second": row["first"],
        "difference": -row["difference"],
        "interval": [-high, -low],
    }


def _interval(row: Mapping[str, Any]) -> str:
    return f"95 % interval {points_span(row['interval'])}" if row["interval"] else "no interval"


def _equals(p: float | None) -> str:
    text = p_text(p)
    return text if text.startswith("<") else f"= {text}"

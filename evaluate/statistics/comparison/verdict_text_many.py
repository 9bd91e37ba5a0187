"""Conclusions of a comparison of several runs, in words, with their limits."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from medrcube.evaluate.statistics.comparison.verdict_text import LIST_LIMIT, points, short_name
from medrcube.evaluate.statistics.grouping import Axis
from medrcube.evaluate.statistics.power import FEWEST_FOR_POWER
from medrcube.evaluate.statistics.units import units_text

__all__ = ["detectable", "many_conclusions"]


def many_conclusions(comparison: Mapping[str, Any]) -> list[str]:
    """Return sentences on the result of ``compare_many``; its limits come last."""
    row, tests = comparison["overall"], comparison["correction"]
    lines = [_groups(row, tests["overall_tests"]), detectable(row)]
    lines.append(_cells(comparison["axis"], comparison["groups"], tests["group_tests"]))
    lines.append(
        "This holds for these questions and images, each asked once. It says nothing about "
        "other data, another prompt or another version of a model."
    )
    return [line for line in lines if line]


def detectable(row: Mapping[str, Any]) -> str:
    """Return the minimum detectable difference of two runs after the correction, in words."""
    if sum(row["unit_kinds"].values()) < FEWEST_FOR_POWER:
        return f"The detectable difference is not stated for fewer than {FEWEST_FOR_POWER} units."
    effects = [pair["minimum_detectable_effect"] for pair in row["pairs"]]
    known_effects = sorted(effect for effect in effects if effect is not None)
    if not known_effects:
        return "The runs differ on too few questions for any difference to be detected reliably."
    low, high = points(known_effects[0]), points(known_effects[-1])
    reach = f"{low} points" if low == high else f"{low} to {high} points"
    middle = "" if low == high else f", {points(statistics.median(known_effects))} in the middle"
    return (
        f"Between two of these runs, a true difference of {reach}{middle} would be detected in 8 "
        "of 10 such comparisons after the correction; a smaller one may well be missed."
    )


def _groups(row: Mapping[str, Any], tests: int) -> str:
    apart = sum(pair["apart"] for pair in row["pairs"])
    on = f"{row['n']:,} questions on {units_text(row['unit_kinds'])}"
    if not apart:
        return (
            f"No two of {len(row['runs'])} runs are distinguishable on {on} ({tests:,} pairs, "
            "exact McNemar test of whole units, Holm). This does not prove that they are equal."
        )
    first = [run["label"] for run in row["runs"] if "a" in _letters(run["letters"])]
    best = first[0] if len(first) == 1 else f"none of {', '.join(first)}"
    lead = (
        f"{best} is right more often than every other run"
        if len(first) == 1
        else f"{best} is distinguishable from the best"
    )
    return (
        f"{apart:,} of {tests:,} pairs of runs are distinguishable on {on} (exact McNemar test of "
        f"whole units, Holm over all pairs): {lead}. Runs that share a letter are not "
        "distinguishable, which does not prove that they are equal."
    )


def _letters(text: str) -> Sequence[str]:
    """Split the compact letters of a run; ``b1`` is one letter."""
    letters: list[str] = []
    for character in text:
        if character.isdigit() and letters:
            letters[-1] += character
        else:
            letters.append(character)
    return letters


def _cells(axis: Axis, groups: Sequence[Mapping[str, Any]], tests: int) -> str:
    if not tests:
        return ""
    tested = [group for group in groups if not group["small"]]
    clear = [group for group in tested if any(pair["apart"] for pair in group["pairs"])]
    small = len(groups) - len(tested)
    text = f"By {axis}: {tests:,} tests of pairs of runs in {len(tested)} groups, adjusted "
    text += "together (Holm): "
    if clear:
        cells = "; ".join(
            f"{short_name(axis, group)} ({_widest(group)})" for group in clear[:LIST_LIMIT]
        )
        text += f"in {len(clear)} of the groups runs are distinguishable"
        text += f", such as {cells}." if len(clear) > LIST_LIMIT else f": {cells}."
    else:
        text += "in none are two runs distinguishable, which does not prove that all are equal."
    if small:
        text += f" {small} of fewer than 10 questions left untested."
    return text


def _widest(group: Mapping[str, Any]) -> str:
    pair = max(
        (pair for pair in group["pairs"] if pair["apart"]),
        key=lambda tested: abs(tested["difference"]),
    )
    first, second = pair["first"], pair["second"]
    if pair["difference"] < 0:
        first, second = second, first
    return f"{first} over {second} by {points(abs(pair['difference']))} points"

"""Report section on credibility: accuracy against shortcut probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medrcube.evaluate.reporting.markup import svg
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.evaluate.statistics.correlations.across_models import shortcut_reliance
from medrcube.taxonomy import Level

__all__ = ["FEWEST_RUNS", "Credibility", "Point", "Row", "credibility_section"]

Row = Mapping[str, Any]

FEWEST_RUNS = 3
"""Minimum number of runs for a correlation."""

_WIDTH, _HEIGHT = 460.0, 380.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 54.0, 14.0, 14.0, 48.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One run.

    Attributes:
        accuracy: accuracy of the high tier, or ``None``.
        interval: interval of that accuracy, clustered by unit.
        row: its row of ``credibility.pair_metrics``.
    """

    accuracy: float | None
    interval: Sequence[float] | None
    row: Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Credibility:
    """Values of the section.

    Attributes:
        picture: plot of high-tier accuracy against shortcut probability.
        rows: (run, point) in the order of the runs.
        task_pairs: (run, rows by pair of tasks).
        correlation: their correlation over the runs, in words; empty for fewer than three.
    """

    picture: Markup
    rows: Sequence[tuple[ScoredRun, Point]]
    task_pairs: Sequence[tuple[ScoredRun, Sequence[Row]]]
    correlation: str


def credibility_section(runs: Sequence[ScoredRun]) -> Credibility | None:
    """Return the section, or ``None`` if no run has questions of different tiers on one image."""
    rows = [
        (run, _point(run))
        for run in runs
        if not run.incomplete
        and run.metrics.get("credibility", {})
        .get("view_counted", {})
        .get("by_pair", {})
        .get("pairs")
    ]
    if not rows:
        return None
    return Credibility(
        picture=_draw(rows),
        rows=rows,
        task_pairs=[(run, run.metrics["credibility"]["by_task_pair"]) for run, _ in rows],
        correlation=_correlation([run for run, _ in rows]),
    )


def _correlation(runs: Sequence[ScoredRun]) -> str:
    if len(runs) < FEWEST_RUNS:
        return ""
    try:
        correlations = shortcut_reliance({run.label: run.metrics for run in runs})
    except ImportError as error:
        return f"The correlation over models needs {error.name}, which is not installed here."
    shortcut, grounding = correlations["published"], correlations["grounding"]
    if shortcut["r"] is None:
        return ""
    sentence = (
        f"Over {shortcut['n']} models, accuracy of the high tier and shortcut probability have "
        f"{_r(shortcut)}. Published: r = 0.693 over 33 models. Such a correlation is expected even "
        "of models that never look, because both rise with what they know"
    )
    return sentence + (
        "." if grounding["r"] is None else f"; with grounding it is {_r(grounding)}."
    )


def _r(correlation: Mapping[str, Any]) -> str:
    interval = correlation["fisher_interval"]
    between = f" (95 % interval {interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
    return f"r = {correlation['r']:.2f}{between}".replace("-", "\u2212")


def _point(run: ScoredRun) -> Point:
    resting = [level for level in Level if level.rests_on]
    high = run.metrics["slices"]["level"].get(resting[-1].value) if resting else None
    return Point(
        accuracy=high["accuracy"] if high else None,
        interval=high["interval"] if high else None,
        row=run.metrics["credibility"]["view_counted"]["by_pair"],
    )


def _draw(rows: Sequence[tuple[ScoredRun, Point]]) -> Markup:
    parts = [*_frame()]
    chances = [value for _, point in rows if (value := point.row["shortcut_probability"]["chance"])]
    if chances:
        x = _x(sum(chances) / len(chances))
        parts.append(svg.line((x, _TOP), (x, _HEIGHT - _BOTTOM), "chance"))
        parts.append(svg.text((x + 5, _TOP + 12), "guesser", "tick", "start"))
    for number, (run, point) in enumerate(rows):
        parts += _labelled_point(run, point, number)
    if not any(point.row["shortcut_probability"]["value"] is not None for _, point in rows):
        parts.append(svg.text((_x(0.5), _y(0.5)), "undefined: no wrong basis", "label"))
    title = (
        "Accuracy of high-tier questions against shortcut probability, one mark per model; the "
        "table beside it has the same numbers"
    )
    return svg.drawing(_WIDTH, _HEIGHT, title, parts)


def _labelled_point(run: ScoredRun, point: Point, number: int) -> list[Markup]:
    shortcut = point.row["shortcut_probability"]
    if point.accuracy is None or shortcut["value"] is None:
        return []
    x, y = _x(shortcut["value"]), _y(point.accuracy)
    css = f"r{number % 6}"
    parts = []
    if shortcut["interval"]:
        low, high = shortcut["interval"]
        parts.append(svg.line((_x(low), y), (_x(high), y), f"whisker {css}"))
    if point.interval:
        low, high = point.interval
        parts.append(svg.line((x, _y(low)), (x, _y(high)), f"whisker {css}"))
    title = (
        f"{run.label}: high tier {100 * point.accuracy:.1f} %, "
        f"shortcut probability {100 * shortcut['value']:.1f} %"
    )
    return [*parts, svg.mark((x, y), number, f"point {css}", title)]


def _frame() -> list[Markup]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for step in range(0, 101, 25):
        x, y = _x(step / 100), _y(step / 100)
        parts.append(svg.line((x, _TOP), (x, bottom), "ring"))
        parts.append(svg.line((_LEFT, y), (right, y), "ring"))
        parts.append(svg.text((x, bottom + 17), f"{step}", "tick"))
        parts.append(svg.text((_LEFT - 8, y + 4), f"{step}", "tick", "end"))
    middle = (_LEFT + right) / 2
    parts.append(svg.text((middle, _HEIGHT - 8), "shortcut probability %", "label"))
    parts.append(svg.turned((14, (_TOP + bottom) / 2), "accuracy of the high tier %", "label"))
    return parts


def _x(value: float) -> float:
    return _LEFT + value * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float) -> float:
    return _TOP + (1 - value) * (_HEIGHT - _TOP - _BOTTOM)

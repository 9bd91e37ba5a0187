"""Radar chart of accuracy by task, with a dashed ring at chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from medrcube.evaluate.outcomes import lost
from medrcube.evaluate.reporting.markup import svg
from medrcube.evaluate.reporting.scored_runs import ScoredRun
from medrcube.taxonomy import Task

__all__ = ["MOST_RUNS", "Radar", "radar"]

MOST_RUNS = 6
"""Maximum number of polygons drawn; more would be indistinguishable."""

_WIDTH, _HEIGHT, _RADIUS = 440.0, 400.0, 165.0
_CENTRE = (_WIDTH / 2, _HEIGHT / 2)
_RINGS = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Radar:
    """Radar chart, with its numbers for a table.

    Attributes:
        picture: the SVG.
        runs: the runs drawn.
        rows: (task, chance, accuracy of each run drawn, ``None`` if unknown).
    """

    picture: Markup
    runs: Sequence[ScoredRun]
    rows: Sequence[tuple[Task, float, Sequence[float | None]]]


def radar(runs: Sequence[ScoredRun]) -> Radar | None:
    """Return the chart of the first ``MOST_RUNS`` runs; ``None`` with fewer than three tasks."""
    runs = runs[:MOST_RUNS]
    groups = [run.metrics["slices"]["task"] for run in runs]
    rows = []
    for task in Task:
        of_task = [group.get(task.value) for group in groups]
        known_groups = [group for group in of_task if group]
        if known_groups:
            chance = min(group["chance"] for group in known_groups)
            rows.append((task, chance, [_accuracy(group) for group in of_task]))
    if len(rows) < 3:
        return None
    return Radar(picture=_draw(runs, rows), runs=runs, rows=rows)


def _accuracy(group: Mapping[str, Any] | None) -> float | None:
    if group is None or group["accuracy"] is None or lost(group) == group["n"]:
        return None
    return float(group["accuracy"])


def _draw(
    runs: Sequence[ScoredRun], rows: Sequence[tuple[Task, float, Sequence[float | None]]]
) -> Markup:
    count = len(rows)
    parts = [svg.polygon([_at(i, count, ring) for i in range(count)], "ring") for ring in _RINGS]
    parts += [svg.line(_CENTRE, _at(i, count, 1.0), "spoke") for i in range(count)]
    chances = [_at(i, count, chance) for i, (_, chance, _) in enumerate(rows)]
    parts.append(svg.polygon(chances, "chance"))
    for number, run in enumerate(runs):
        places = [
            (_at(i, count, value), task, value)
            for i, (task, _, values) in enumerate(rows)
            if (value := values[number]) is not None
        ]
        if len(places) == count:
            parts.append(
                svg.polygon(
                    [place for place, _, _ in places],
                    f"{'area' if len(runs) <= 2 else 'outline'} r{number}",
                )
            )
        parts += [
            svg.mark(place, number, f"point r{number}", f"{run.label}, {task}: {100 * value:.1f} %")
            for place, task, value in places
        ]
    parts += [
        # Halfway between two axes, since marks lie on the axes.
        svg.text(_between(count, ring), f"{100 * ring:.0f} %", "tick", "middle")
        for ring in _RINGS[1:3]
    ]
    for i, (task, _, _) in enumerate(rows):
        x, y = _at(i, count, 1.12)
        parts.append(svg.text((x, y + 5), task.abbreviation, "label", _anchor(x)))
    title = "Accuracy by task as a radar; the table beside it has the same numbers"
    return svg.drawing(_WIDTH, _HEIGHT, title, parts)


def _at(index: int, count: int, value: float) -> svg.Point:
    turn = 2 * math.pi * index / count
    return (
        _CENTRE[0] + _RADIUS * value * math.sin(turn),
        _CENTRE[1] - _RADIUS * value * math.cos(turn),
    )


def _between(count: int, ring: float) -> svg.Point:
    """Return the middle of a ring's side between the first two axes, for its label."""
    (x, y), (other_x, other_y) = _at(0, count, ring), _at(1, count, ring)
    return (x + other_x) / 2, (y + other_y) / 2 + 4


def _anchor(x: float) -> str:
    if abs(x - _CENTRE[0]) < 10:
        return "middle"
    return "start" if x > _CENTRE[0] else "end"

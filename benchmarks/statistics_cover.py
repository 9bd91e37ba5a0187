"""Do the intervals and verdicts of an evaluation hold what they promise?

Usage: ``python benchmarks/statistics_cover.py [--release RELEASE] [--rounds N]``, with the release
of ``medrcube demo``. Answers are drawn with an effect of each unit (patient, else case) of 1.5
logits, on the demo and on a release of the shape of a full one, and go through the code of an
evaluation. Writes ``benchmarks/statistics_cover.json`` and the block of
``docs/explanation/statistics.md`` that is made from it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.statistics.clustered_inference import (
    FEWEST_UNITS,
    UnitTally,
    difference_interval,
    share_interval,
    sign_test,
)
from medrcube.evaluate.statistics.intervals import wilson
from medrcube.evaluate.statistics.paired_tests import AnswerPair, paired_metrics

_HERE = Path(__file__).resolve().parent
RESULT = _HERE / "statistics_cover.json"
PAGE = _HERE.parent / "docs" / "explanation" / "statistics.md"
BEGIN, END = "<!-- simulation: begin -->", "<!-- simulation: end -->"

SD = 1.5
"""Logits by which units differ."""

SHIFT = 0.4
SPREAD = 0.7
"""Logits: middle of a question, and how far tasks of sources lie apart."""

FULL = 7626
CELL = (10, 30)
LEVELS = ("overall", "task", "source", "cell")
POWER_ROUNDS = {"demo": 4, "full": 2.5}
"""Draws in which a true difference is looked for, for each draw of all answers."""

_EFFECTS = 300
"""Draws that tell the middle of the minimum detectable effects."""

_SEED = 14
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(60)


@dataclass(frozen=True, slots=True)
class Shape:
    """Questions of a release: unit, source, task and cell of each."""

    units: np.ndarray
    groups: dict[tuple[str, str], np.ndarray]
    middles: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[tuple[str, BenchmarkItem]], rng: np.random.Generator) -> Shape:
        places: dict[str, int] = {}
        units = np.array([places.setdefault(unit, len(places)) for unit, _ in rows])
        groups: dict[tuple[str, str], list[int]] = defaultdict(list)
        effects: dict[tuple[str, str], float] = {}
        middles = []
        for place, (_, item) in enumerate(rows):
            cell = f"{item.task}/{item.modality}/{item.parts}"
            for level, name in zip(LEVELS, ("", item.task, item.dataset, cell), strict=True):
                groups[level, name].append(place)
            key = (item.dataset, item.task)
            middles.append(effects.setdefault(key, SHIFT + rng.normal(0, SPREAD)))
        kinds = {
            key: np.array(members)
            for key, members in groups.items()
            if len(members) >= CELL[0] and (key[0] != "cell" or len(members) <= CELL[1])
        }
        return cls(units, kinds, np.array(middles))


def demo_rows(release: Path) -> list[tuple[str, BenchmarkItem]]:
    return [(item.unit, item) for item in load_benchmark(release).items]


def full_rows(
    rows: Sequence[tuple[str, BenchmarkItem]], rng: np.random.Generator
) -> list[tuple[str, BenchmarkItem]]:
    """Units of the demo drawn anew, source by source, in unequal shares, to the published size."""
    by_source: dict[str, dict[str, list[BenchmarkItem]]] = defaultdict(lambda: defaultdict(list))
    for unit, item in rows:
        by_source[item.dataset][unit].append(item)
    shares = rng.dirichlet(np.full(len(by_source), 1.5))
    draws: list[tuple[str, BenchmarkItem]] = []
    for share, units in zip(shares, by_source.values(), strict=True):
        least, names = max(10, round(FULL * share)), list(units)
        begun = len(draws)
        while len(draws) - begun < least:
            rows_of_unit = units[names[rng.integers(len(names))]]
            draws += [(f"u{len(draws)}", item) for item in rows_of_unit[:1]]
            draws += [(draws[-1][0], item) for item in rows_of_unit[1:]]
    return draws


def truth(middles: np.ndarray) -> float:
    """Expected accuracy over all units that might have been drawn."""
    chances = 1 / (1 + np.exp(-(middles[:, None] + SD * _NODES)))
    return float((chances @ (_WEIGHTS / _WEIGHTS.sum())).mean())


def answers(shape: Shape, rng: np.random.Generator, shift: float = 0.0) -> np.ndarray:
    effects = rng.normal(0, SD, shape.units.max() + 1)
    return _drawn_effects(shape, rng, effects, shift)


def two_models(
    shape: Shape, rng: np.random.Generator, shift: float, shared: float = 0.5
) -> tuple[np.ndarray, np.ndarray]:
    """Two models that find half of what makes a unit hard hard together."""
    count = shape.units.max() + 1
    common = rng.normal(0, 1, count)
    first, second = (
        SD * (math.sqrt(shared) * common + math.sqrt(1 - shared) * rng.normal(0, 1, count))
        for _ in range(2)
    )
    return _drawn_effects(shape, rng, first, shift), _drawn_effects(shape, rng, second, 0.0)


def _drawn_effects(
    shape: Shape, rng: np.random.Generator, effects: np.ndarray, shift: float
) -> np.ndarray:
    chances = 1 / (1 + np.exp(-(shape.middles + shift + effects[shape.units])))
    return rng.random(len(chances)) < chances


def units_of(shape: Shape, members: np.ndarray, values: np.ndarray) -> list[UnitTally]:
    sizes = np.bincount(shape.units[members])
    totals = np.bincount(shape.units[members], weights=values[members])
    there = sizes > 0
    return [
        UnitTally(int(total), size)
        for total, size in zip(totals[there].tolist(), sizes[there].tolist(), strict=True)
    ]


def cover(shape: Shape, rounds: int, rng: np.random.Generator) -> dict[str, Any]:
    """By level: groups, how often the interval holds the truth, groups without one."""
    counts_by_key: dict[tuple[str, str], list[int]] = {key: [0, 0, 0, 0] for key in shape.groups}
    truths = {key: truth(shape.middles[members]) for key, members in shape.groups.items()}
    for _ in range(rounds):
        right = answers(shape, rng)
        for key, members in shape.groups.items():
            units = units_of(shape, members, right)
            expected, interval = truths[key], share_interval(units)
            counts = counts_by_key[key]
            naive = wilson(sum(unit.total for unit in units), len(members))
            counts[3] += naive.low <= expected <= naive.high
            if interval is None:
                counts[2] += 1
            else:
                counts[0] += interval.low <= expected <= interval.high
                counts[1] += 1
    return {level: _level(counts_by_key, level, rounds) for level in LEVELS}


def _level(
    counts_by_key: dict[tuple[str, str], list[int]], level: str, rounds: int
) -> dict[str, Any]:
    groups = [counts for (name, _), counts in counts_by_key.items() if name == level]
    covered = [counts for counts in groups if counts[1]]
    shares = [counts[0] / counts[1] for counts in covered]
    return {
        "groups": len(groups),
        "without": sum(not counts[1] for counts in groups),
        "cover": sum(c[0] for c in covered) / max(1, sum(c[1] for c in covered)),
        "least": min(shares, default=None),
        "most": max(shares, default=None),
        "naive": sum(c[3] for c in groups) / (rounds * max(1, len(groups))),
    }


def verdicts(shape: Shape, rounds: int, rng: np.random.Generator) -> dict[str, Any]:
    """By level, between equal models: how often a winner is named, and the interval holds 0."""
    tallies: dict[str, list[int]] = {level: [0, 0, 0, 0] for level in LEVELS}
    for _ in range(rounds):
        first, second = two_models(shape, rng, 0.0)
        change = first.astype(int) - second
        for (level, _), members in shape.groups.items():
            units = units_of(shape, members, change)
            interval = difference_interval(units)
            counts = tallies[level]
            counts[0] += 1
            if interval is not None:
                outside = not interval.low <= 0 <= interval.high
                counts[1] += outside and sign_test(units) < 0.05
                counts[2] += 1
                counts[3] += not outside
    return {
        level: {"named": c[1] / max(1, c[0]), "cover": c[3] / max(1, c[2])}
        for level, c in tallies.items()
    }


def promised_power(shape: Shape, rounds: int, rng: np.random.Generator) -> dict[str, Any]:
    """How often a difference is found that is as large as ``minimum_detectable_effect`` says."""
    members = next(iter(shape.groups.values()))
    effect = _median_effect(shape, 0.0, rng)
    for _ in range(2):
        shift = _shift_for(shape.middles[members], effect)
        effect = _median_effect(shape, shift, rng)
    shift = _shift_for(shape.middles[members], effect)
    detected = sum(_is_found(shape, shift, rng) for _ in range(rounds))
    return {"effect": effect, "found": detected / rounds}


def _row(shape: Shape, shift: float, rng: np.random.Generator) -> dict[str, Any]:
    first, second = two_models(shape, rng, shift)
    units = (str(unit) for unit in shape.units)
    return paired_metrics(
        [AnswerPair(u, bool(a), bool(b)) for u, a, b in zip(units, first, second, strict=True)]
    )


def _is_found(shape: Shape, shift: float, rng: np.random.Generator) -> bool:
    row = _row(shape, shift, rng)
    interval = row["interval"]
    return row["mcnemar_p"] < 0.05 and not interval[0] <= 0 <= interval[1]


def _median_effect(shape: Shape, shift: float, rng: np.random.Generator) -> float:
    return float(
        np.median([_row(shape, shift, rng)["minimum_detectable_effect"] for _ in range(_EFFECTS)])
    )


def _shift_for(middles: np.ndarray, effect: float) -> float:
    low, high = 0.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        less = truth(middles + middle) - truth(middles) < effect
        low, high = (middle, high) if less else (low, middle)
    return high


def few_units(rounds: int, rng: np.random.Generator) -> dict[str, Any]:
    """What the interval would hold with few units of four questions, for the bound."""
    result = {}
    for count in (3, 5, 8, 12):
        shape = Shape(np.repeat(np.arange(count), 4), {}, np.full(4 * count, SHIFT))
        members, expected = np.arange(4 * count), truth(np.array([SHIFT]))
        covered_count = widths = intervals = 0.0
        for _ in range(rounds):
            interval = share_interval(units_of(shape, members, answers(shape, rng)))
            if interval is not None:
                intervals += 1
                covered_count += interval.low <= expected <= interval.high
                widths += interval.high - interval.low
        result[str(count)] = {
            "cover": covered_count / intervals if intervals else None,
            "width": widths / intervals if intervals else None,
        }
    return result


def simulate(release: Path, rounds: int) -> dict[str, Any]:
    rows = demo_rows(release)
    rng = np.random.default_rng(_SEED)
    shapes: dict[str, Callable[[np.random.Generator], Shape]] = {
        "demo": lambda rng: Shape.of(rows, rng),
        "full": lambda rng: Shape.of(full_rows(rows, rng), rng),
    }
    result: dict[str, Any] = {"rounds": rounds, "sd": SD, "fewest_units": FEWEST_UNITS}
    for name, make in shapes.items():
        shape = make(rng)
        anew = np.random.default_rng(_SEED)
        result[name] = {
            "items": len(shape.units),
            "units": int(shape.units.max()) + 1,
            "cover": cover(shape, rounds, rng),
            "equal": verdicts(shape, rounds, rng),
            "power": promised_power(make(anew), round(POWER_ROUNDS[name] * rounds), anew),
        }
    return {**result, "few": few_units(2 * rounds, rng)}


_COLUMNS = ("Groups", "Coverage", "Range over groups", "Naive", "False winner")
_NAMES = {
    "overall": "all questions",
    "task": "by task",
    "source": "by source, 10 questions or more",
    "cell": "cells of 10 to 30 questions",
}


def block(result: dict[str, Any]) -> str:
    """The generated block of the page."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: dict[str, Any]) -> Iterator[str]:
    yield (
        f"Answers were simulated {result['rounds']:,} times with a unit effect of {result['sd']} "
        f"logits (standard deviation). *Demo*: {result['demo']['items']:,} questions on "
        f"{result['demo']['units']:,} patients or cases. *Full size*: {result['full']['items']:,} "
        f"on {result['full']['units']:,}, units of the demo resampled with unequal shares of "
        "the sources. *Naive* is Wilson's interval with questions treated as independent; *False "
        "winner* is the share of comparisons of two equal models in which one was declared better."
    )
    yield ""
    yield f"| | | {' | '.join(_COLUMNS)} |"
    yield "|---|---|---|---|---|---|---|"
    for name, title in (("demo", "Demo"), ("full", "Full size")):
        for level, words in _NAMES.items():
            row, equal = result[name]["cover"][level], result[name]["equal"][level]
            groups = f"{row['groups']}" + (
                f" ({row['without']} without an interval)" if row["without"] else ""
            )
            yield (
                f"| {title} | {words} | {groups} | {_percent(row['cover'])} | "
                f"{_percent(row['least'])} to {_percent(row['most'])} | {_percent(row['naive'])} | "
                f"{_percent(equal['named'])} |"
            )
    yield ""
    detectable = "; ".join(
        f"{title} {100 * result[name]['power']['effect']:.1f} points, detected in "
        f"{_percent(result[name]['power']['found'])}, precise to "
        f"{100 * unsure(result, name):.1f} points"
        for name, title in (("demo", "demo"), ("full", "full size"))
    )
    yield (
        "A true difference as large as the minimum detectable effect, expected power 80 %: "
        f"{detectable}."
    )
    yield ""
    few = "; ".join(
        f"{count} units: {_percent(row['cover'])} at a width of {100 * row['width']:.0f} points"
        if row["cover"] is not None
        else f"{count} units: none"
        for count, row in result["few"].items()
    )
    yield (
        f"Coverage with few units of four questions each: {few}. Below {result['fewest_units']} "
        "units the reason is printed in place of an interval."
    )


def unsure(result: dict[str, Any], name: str) -> float:
    """Two standard errors of the share of differences that were found in so many draws."""
    return 2 * math.sqrt(0.8 * 0.2 / (POWER_ROUNDS[name] * result["rounds"]))


def _percent(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else f"{100 * value:.1f} %"


def page_with(page: str, result: dict[str, Any]) -> str:
    """The page with its block made anew."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{block(result)}\n{END}{tail}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path, help="of  medrcube demo;  none: only the page")
    parser.add_argument("--rounds", type=int, default=1000, help="draws of all answers")
    args = parser.parse_args()
    if args.release is not None:
        text = json.dumps(simulate(args.release, args.rounds), indent=1)
        RESULT.write_text(text + "\n", encoding="utf-8")
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")


if __name__ == "__main__":
    main()

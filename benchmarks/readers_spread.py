"""How far do readers of one lung nodule differ in box, point and longest diameter?

Usage: ``python benchmarks/readers_spread.py FOLDER``, with the folder ``tcia-lidc-xml`` of
LIDC-IDRI's ``LIDC-XML-only``. Only the XML is read: marks are matched as the adapter does, with the
least distance of two slices of a file as thickness and 0.7 mm as pixel spacing, which no file
states; boxes and diameters are compared in pixels, as ratios. Writes
``benchmarks/readers_spread.json`` and the block of ``docs/explanation/tolerances.md`` made from it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.volume import Volume
from medrcube.build.regions.measure import Measurement, measure
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import Outline, Polygons
from medrcube.sources._formats.annotations.lidc_xml import (
    NoduleMark,
    SeriesReading,
    has_one_mark_per_reader,
    largest_slice,
    match_marks,
    read_reading,
)

_HERE = Path(__file__).resolve().parent
RESULT = _HERE / "readers_spread.json"
PAGE = _HERE.parent / "docs" / "explanation" / "tolerances.md"
BEGIN, END = "<!-- readers: begin -->", "<!-- readers: end -->"

SIDE, SPACING, THICKNESS = 512, 0.7, 2.5
"""Pixels of a slice; mm of a pixel and of a slice where a file shows a nodule on one slice only."""

READERS, LEAST_READERS = 4, 3
BARS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9)
TOLERANCES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5)
SIZES = (("below 8", 0, 8), ("8 to 16", 8, 16), ("16 and more", 16, math.inf))
QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
_DRAWS, _SEED = 2000, 17


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one reader marked on the slice of a nodule."""

    mask: NDArray[np.bool_]
    measured: Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One reader against another, or against the majority of the others.

    Attributes:
        scan: number of the scan.
        size: longest diameter of the other one, in pixels.
        iou: of the two boxes.
        hit: whether the point inside one lies in the other one.
        away: pixels from that point to the nearest pixel of the other one; 0 for a hit.
        log_ratio: natural logarithm of the ratio of the longest diameters.
    """

    scan: int
    size: float
    iou: float
    hit: bool
    away: float
    log_ratio: float


def main() -> None:
    """Measure, and write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    counts: Counter[str] = Counter()
    pairs: list[Comparison] = []
    majority: list[Comparison] = []
    for number, scan in enumerate(_scans(folder, counts)):
        for readings in _nodules(scan, counts):
            counts["readings"] += len(readings)
            pairs += [_compare(number, a, b) for a, b in combinations(readings, 2)]
            majority += _against_majority(number, readings)
    result = {
        "counts": dict(counts),
        "pairs": _figures(pairs),
        "against the majority of the others": _figures(majority),
        "by size": {
            name: {
                "pairs": _figures([pair for pair in pairs if low <= pair.size < high]),
                "against the majority of the others": _figures(
                    [pair for pair in majority if low <= pair.size < high]
                ),
            }
            for name, low, high in SIZES
        },
    }
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.partition(BEGIN)[0], page.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n\n{block(result)}\n{END}{after}", encoding="utf-8")


def _scans(folder: Path, counts: Counter[str]) -> Iterator[SeriesReading]:
    """One reading of each series, in order of the files."""
    series_ids: set[str] = set()
    for path in sorted(folder.rglob("*.xml")):
        counts["files"] += 1
        reading = read_reading(path)
        if not isinstance(reading, SeriesReading) or reading.series in series_ids:
            continue
        series_ids.add(reading.series)
        counts["scans"] += 1
        if reading.readers == READERS:
            yield reading


def _nodules(scan: SeriesReading, counts: Counter[str]) -> Iterator[list[Reading]]:
    """Readings of each nodule that three or four readers marked, on its largest slice."""
    heights = sorted({contour.z for mark in scan.marks for contour in mark.contours})
    steps = [b - a for a, b in pairwise(heights) if b - a > 0.1]
    thickness = min(steps, default=THICKNESS)
    for nodule in match_marks(scan.marks, spacing=SPACING, thickness=thickness, readers=READERS):
        if not has_one_mark_per_reader(nodule):
            counts["nodules marked twice by a reader"] += 1
            continue
        counts[f"nodules marked by {len(nodule)}"] += 1
        if len(nodule) < LEAST_READERS:
            continue
        uid = largest_slice(nodule)
        readings = [reading for mark in nodule if (reading := _reading(mark, uid)) is not None]
        if len(readings) >= LEAST_READERS:
            counts["nodules compared"] += 1
            yield readings
        else:
            counts["nodules whose slice fewer than three marked"] += 1


def _reading(mark: NoduleMark, uid: str) -> Reading | None:
    outlines = tuple(
        Outline(points=contour.points, slice=uid, hole=contour.hole, edge=False)
        for contour in mark.contours
        if contour.slice == uid and len(contour.points) > 2
    )
    if not outlines:
        return None
    volume = Volume(slices=np.zeros((1, SIDE, SIDE), np.uint8), slice_ids={uid: 0})
    mask = rasterise(Polygons(outlines=outlines), volume)[0]
    return Reading(mask=mask, measured=measure(mask)) if mask.any() else None


def _compare(scan: int, answer: Reading, truth: Reading) -> Comparison:
    column, row = answer.measured.inside
    rows, columns = np.nonzero(truth.mask)
    away = math.sqrt(float(((rows - row) ** 2 + (columns - column) ** 2).min()))
    return Comparison(
        scan=scan,
        size=truth.measured.diameter,
        iou=_iou(answer.measured.box, truth.measured.box),
        hit=bool(truth.mask[row, column]),
        away=away,
        log_ratio=math.log(answer.measured.diameter / truth.measured.diameter),
    )


def _against_majority(scan: int, readings: Sequence[Reading]) -> Iterator[Comparison]:
    for reading in readings:
        others = [other for other in readings if other is not reading]
        votes = np.sum([other.mask for other in others], axis=0)
        mask = 2 * votes >= len(others)
        yield _compare(scan, reading, Reading(mask=mask, measured=measure(mask)))


def _iou(a: Sequence[int], b: Sequence[int]) -> float:
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    height = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    both = width * height
    return both / (sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)) - both)


def _figures(rows: Sequence[Comparison]) -> dict[str, Any]:
    """Shares and quantiles, each with its 95 % interval by a bootstrap of scans."""
    if not rows:
        return {"n": 0}
    scans = np.array([row.scan for row in rows])
    iou, away = (np.array([getattr(row, name) for row in rows]) for name in ("iou", "away"))
    hits = np.array([row.hit for row in rows])
    off = np.abs(np.expm1(np.abs([row.log_ratio for row in rows])))
    draws = _draws(scans)

    def share(passes: NDArray[np.bool_]) -> list[float]:
        return _interval(passes, draws, np.mean)

    return {
        "n": len(rows),
        "scans": len(set(scans.tolist())),
        "box IoU": {"quantiles": _quantiles(iou), "median": _interval(iou, draws, np.median)}
        | {f"at least {bar}": share(iou >= bar) for bar in BARS},
        "point": {"inside": share(hits), "pixels away": _quantiles(away)}
        | {f"within {margin} px": share(away <= margin) for margin in (1, 2, 3)},
        "diameter": {"quantiles": _quantiles(off), "median": _interval(off, draws, np.median)}
        | {f"within {bar:.0%}": share(off <= bar) for bar in TOLERANCES},
    }


def _draws(scans: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Rows of each draw of as many scans, with repeats."""
    generator = np.random.default_rng(_SEED)
    names, where = np.unique(scans, return_inverse=True)
    rows = [np.flatnonzero(where == number) for number in range(len(names))]
    return [
        np.concatenate([rows[k] for k in generator.integers(len(names), size=len(names))])
        for _ in range(_DRAWS)
    ]


def _interval(
    values: NDArray[Any], draws: Sequence[NDArray[np.intp]], figure: Callable[..., Any]
) -> list[float]:
    """A figure and the ends of its interval."""
    again = [float(figure(values[draw])) for draw in draws]
    low, high = np.quantile(again, (0.025, 0.975))
    return [round(float(figure(values)), 4), round(float(low), 4), round(float(high), 4)]


def _quantiles(values: NDArray[np.float64]) -> dict[str, float]:
    return {f"{q:g}": round(float(np.quantile(values, q)), 3) for q in QUANTILES}


def block(result: dict[str, Any]) -> str:
    """The part of the page that is made from the figures."""
    counts, kinds = result["counts"], ("pairs", "against the majority of the others")
    text = (
        f"{counts['scans']:,} CT scans, of which "
        f"{result['pairs']['scans']:,} hold a nodule that three or four readers outlined: "
        f"{counts['nodules compared']:,} nodules, {counts['readings']:,} readings, "
        f"{result['pairs']['n']:,} pairs of readers. In brackets: 95 % interval, bootstrap of "
        "scans.\n\n| | " + " | ".join(kinds) + " |\n|---|---|---|\n"
    )
    lines = [
        ("box: median IoU", ("box IoU", "median"), "{:.2f}"),
        *(
            (f"box: IoU at least {bar}", ("box IoU", f"at least {bar}"), "{:.1%}")
            for bar in (0.3, 0.5, 0.6, 0.7, 0.75)
        ),
        ("point of one inside the other", ("point", "inside"), "{:.1%}"),
        ("point within 1 pixel of the other", ("point", "within 1 px"), "{:.1%}"),
        ("longest diameter: median difference", ("diameter", "median"), "{:.1%}"),
        *(
            (
                f"longest diameter within {100 * bar:.0f} %",
                ("diameter", f"within {bar:.0%}"),
                "{:.1%}",
            )
            for bar in (0.1, 0.2, 0.25, 0.3, 0.5)
        ),
    ]
    for name, (part, key), form in lines:
        cells = [_cell(result[kind][part][key], form) for kind in kinds]
        text += f"| {name} | {' | '.join(cells)} |\n"
    text += (
        "\nBy longest diameter in pixels, against the majority of the others:\n\n"
        "| diameter | n | IoU at least 0.5 | point inside | diameter: median, 90 % within |\n"
        "|---|---|---|---|---|\n"
    )
    for name, figures in result["by size"].items():
        row = figures[kinds[1]]
        if row["n"]:
            text += (
                f"| {name} | {row['n']:,} | {_cell(row['box IoU']['at least 0.5'], '{:.1%}')} | "
                f"{_cell(row['point']['inside'], '{:.1%}')} | "
                f"{_cell(row['diameter']['median'], '{:.1%}')}, "
                f"{100 * row['diameter']['quantiles']['0.9']:.0f} % |\n"
            )
    return text


def _cell(figure: Sequence[float], form: str) -> str:
    middle, low, high = (form.format(number).replace("%", " %") for number in figure)
    return f"{middle} ({low} to {high})"


if __name__ == "__main__":
    main()

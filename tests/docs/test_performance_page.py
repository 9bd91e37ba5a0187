"""The page on performance shows what was recorded, and says what was missed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from libjpeg import decode

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmarks() -> Iterator[dict[str, ModuleType]]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        from speed import jpeg_lossless, page, rows  # noqa: PLC0415

        yield {"page": page, "rows": rows, "jpeg": jpeg_lossless}
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def figures(**changes: float | str) -> dict[str, float | str]:
    same = {"used": 5.0, "best": 2.0, "least": 0.9, "decoder": 0.95, "best_wall": 2.0}
    return {"when": "2026-11-28 04:00", "load": 0.5, **same, "spread": 0.01, "rounds": 5} | changes


def record(rows: dict[str, list[dict[str, float | str]]]) -> dict[str, object]:
    machine = dict.fromkeys(("processor", "cores", "memory", "system", "python"), "a")
    return {"machine": machine, "versions": {}, "rows": rows, "stages": {}}


def test_every_row_that_was_measured_is_in_the_table(benchmarks: dict[str, ModuleType]) -> None:
    rows = benchmarks["rows"].ROWS
    page = benchmarks["page"].page_of(record({row.key: [figures()] for row in rows}), rows)
    assert all(f"| {row.name} | {row.peer.name} |" in page for row in rows)
    assert "missed**" not in page


@pytest.mark.parametrize("name", ["best", "least", "decoder"])
def test_what_was_missed_is_named(benchmarks: dict[str, ModuleType], name: str) -> None:
    rows = [row for row in benchmarks["rows"].ROWS if row.limit and row.decoder][:1]
    rows_on_record = {rows[0].key: [figures(**{name: 0.5})]}
    page = benchmarks["page"].page_of(record(rows_on_record), rows)
    assert page.count("**missed**") == 1
    assert "0.50, wanted" in page


@pytest.mark.parametrize(
    ("name", "figure", "cell", "miss"),
    [
        ("best", 1.798, "| 1.798 |", "at its best 1.798, wanted 1.80"),
        ("best", 1.79996, "| 1.79996 |", "at its best 1.79996, wanted 1.80"),
        ("least", 0.846, "| 84.6 % |", "of the least work 0.846, wanted 0.85"),
        ("decoder", 0.8996, "| 89.96 % |", "of the bare decoder 0.8996, wanted 0.90"),
    ],
)
def test_a_figure_just_below_the_wanted_one_is_not_rounded_up_to_it(
    benchmarks: dict[str, ModuleType], name: str, figure: float, cell: str, miss: str
) -> None:
    row = replace(benchmarks["rows"].ROWS[0], best=1.8, limit=0.85, decoder=0.9)
    page = benchmarks["page"].page_of(record({row.key: [figures(**{name: figure})]}), [row])
    assert cell in page
    assert miss in page


def test_a_figure_that_equals_the_wanted_one_is_not_missed(
    benchmarks: dict[str, ModuleType],
) -> None:
    row = replace(benchmarks["rows"].ROWS[0], best=1.8, limit=0.85, decoder=0.9)
    reached = figures(best=1.8, least=0.85, decoder=0.9)
    page = benchmarks["page"].page_of(record({row.key: [reached]}), [row])
    assert "| 1.80 | 85 % | 90 % |" in page
    assert "missed" not in page.casefold()


def test_a_second_run_says_how_far_it_differs(benchmarks: dict[str, ModuleType]) -> None:
    rows = benchmarks["rows"].ROWS[:1]
    rows_on_record = {rows[0].key: [figures(), figures(best=1.6, when="2026-11-27 04:00")]}
    page = benchmarks["page"].page_of(record(rows_on_record), rows)
    assert "1 rows were measured before (2026-11-27 04:00)" in page
    assert "25 % at most" in page


def test_the_page_is_that_of_the_record(benchmarks: dict[str, ModuleType]) -> None:
    speed_record = json.loads((ROOT / "benchmarks" / "speed.json").read_text("utf-8"))
    page = (ROOT / "docs" / "reference" / "performance.md").read_text("utf-8")
    for row in benchmarks["rows"].ROWS:
        if row.key in speed_record["rows"]:
            assert (
                f"| {row.name} | {row.peer.name} | {speed_record['rows'][row.key][0]['used']:.2f} |"
                in page
            )


def test_the_lossless_jpeg_of_the_benchmark_decodes_to_its_pixels(
    benchmarks: dict[str, ModuleType],
) -> None:
    pixels = np.random.default_rng(1).integers(0, 1 << 12, (9, 13)).astype(np.uint16)
    coded = benchmarks["jpeg"].encode_jpeg_lossless(pixels, 12)
    assert np.array_equal(np.asarray(decode(coded)).reshape(9, 13), pixels)

"""The figures of the bounds on docs/reference/audit.md are those that the benchmark has written."""

import importlib.util
import json
from pathlib import Path

import pytest

from medrcube.build.audit.leakage.box_geometry import BOUND_SE, MODEL_BOUND_SE
from medrcube.build.audit.shortcuts.number_shortcuts import BOUND_SE as NUMBER_SE
from medrcube.build.audit.shortcuts.place_prior import BOUND_SE as PLACE_SE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/audit.md").read_text("utf-8")


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("bounds", ROOT / "benchmarks/audit_bounds.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_tables_of_the_result(benchmark):
    result = json.loads(benchmark.RESULT.read_text("utf-8"))
    assert list(result) == [part.__name__ for part in benchmark.PARTS]
    table = PAGE.split(benchmark.BEGIN)[1].split(benchmark.END)[0].strip()
    assert table == benchmark.block(result)


def test_the_page_states_the_bounds_in_use():
    words = " ".join(PAGE.split("## False alarms and power of the bounds")[1].split())
    assert (
        f"shortcuts are tested at {BOUND_SE:g} standard errors, the model at {MODEL_BOUND_SE:.2g}"
        in words
    )
    assert (
        f"Locations are tested at {PLACE_SE:g} standard errors, numbers at {NUMBER_SE:g}" in words
    )


def test_a_leak_in_every_item_is_refused_and_a_cell_without_one_is_not(benchmark):
    for leak, within in ((0.0, True), (1.0, False)):
        draws = benchmark._draws("test", leak)
        items, samples = benchmark._cell(draws, benchmark._number, 30, leak, halved=False)
        (row,) = benchmark.constant_numbers(items, samples)
        assert row["within"] is within

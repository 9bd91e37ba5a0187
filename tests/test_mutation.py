"""The mutation score: which faults it plants, and what the page says of the last measurement."""

import ast
import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

LEAST = 2


class Rule:
    def allows(self, count: "int | None" = 3) -> bool:
        if count is None:
            return False
        return not count < LEAST and count + 1 == 5
"""


@pytest.fixture(scope="module")
def benchmark():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield importlib.import_module
    finally:
        sys.path.pop(0)


@pytest.fixture(scope="module")
def planted(benchmark):
    return benchmark("mutants").mutants_of("rule.py", SOURCE)


@pytest.fixture(scope="module")
def mutation(benchmark):
    return benchmark("mutation")


def test_comparisons_branches_numbers_and_operators_are_changed(planted):
    assert {(mutant.before, mutant.after) for mutant in planted} == {
        ("2", "3"),
        ("3", "4"),
        ("if count is None", "if True"),
        ("if count is None", "if False"),
        ("count is None", "count is not None"),
        ("False", "True"),
        ("not count < LEAST", "+bool(count < LEAST)"),
        ("count < LEAST", "count <= LEAST"),
        ("count + 1 == 5", "count + 1 != 5"),
        ("count + 1", "count - 1"),
        ("1", "2"),
        ("5", "6"),
        (
            "not count < LEAST and count + 1 == 5",
            "not count < LEAST or count + 1 == 5",
        ),
        (
            "not count < LEAST and count + 1 == 5",
            "count + 1 == 5 and count + 1 == 5",
        ),
    }


def test_each_mutant_is_the_module_with_one_other_line(planted):
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in planted:
        lines = ast.unparse(mutant.tree(SOURCE)).splitlines()
        assert sum(a != b for a, b in zip(plain, lines, strict=True)) == 1


def test_a_constant_is_reached_by_the_lines_that_name_it(planted):
    (least,) = [mutant for mutant in planted if mutant.before == "2"]
    assert (least.at_import, least.lines, least.place) == (True, (13,), "")


def test_a_default_is_changed_at_import_and_a_branch_is_not(planted):
    at_import = {mutant.before: mutant.at_import for mutant in planted}
    assert at_import["3"]
    assert not at_import["if count is None"]


def test_modules_and_tests_of_each_part_exist(mutation):
    paths = [path for part in mutation.PARTS.values() for path in (*part.modules, *part.tests)]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_page_tells_the_last_measurement(mutation):
    results = json.loads(mutation.RESULT.read_text(encoding="utf-8"))
    assert mutation.page(results) == mutation.PAGE.read_text(encoding="utf-8")


def test_each_survivor_of_the_last_measurement_has_a_reason(mutation):
    results = json.loads(mutation.RESULT.read_text(encoding="utf-8"))
    assert results.keys() <= mutation.PARTS.keys()
    assert all(row["drawn"] >= min(40, row["mutants"]) for row in results.values())
    assert mutation.UNEXPLAINED not in mutation.page(results)

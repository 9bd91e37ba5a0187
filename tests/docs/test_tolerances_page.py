"""docs/explanation/tolerances.md against the declarations, rules and cards of the open tasks."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from medrcube.sources.registry import find_sources
from medrcube.tasks.declaration import BlindBar
from medrcube.taxonomy import Task

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/tolerances.md").read_text("utf-8")
SECTION = PAGE.split("## Every limit of the open tasks")[1].split("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("|")
][2:]
STATED = {row[3].strip("`"): row for row in ROWS}
OPEN_TASKS = [task for task in Task if task.declaration.rule]
RULES = [*sorted(ROOT.glob("tasks/*/rule.py")), *sorted(ROOT.glob("build/open_items/**/*.py"))]
NO_LIMITS = {
    "build/open_items/chance/blind_chance.py: _MOST",  # constants that are tried
    "build/open_items/chance/even_lots.py: _CAPS",  # caps that are tried
    "build/open_items/measured_values.py: _DIGITS",
    "build/open_items/measured_values.py: _RATIO_DIGITS",
    "build/open_items/measured_values.py: _SLACK",
    "build/open_items/pairing/pairs.py: _CANDIDATES",  # partners that are compared
    "build/open_items/authoring/task_check.py: WORDINGS",
    "build/open_items/authoring/trial_views.py: _BESIDE",
    "build/open_items/authoring/trial_views.py: _ZEROS",
    "build/open_items/authoring/trial_views.py: _BOX",
    "build/open_items/authoring/trial_views.py: _SIDE",
    "tasks/presence/rule.py: _MOST",  # entries of a cache
}
"""Numbers of rules that decide neither what is asked nor what passes."""


def numbers(value):
    """All numbers of a value, in order; none where it holds anything else but names."""
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers(part)]
    if isinstance(value, (tuple, list)):
        return [number for part in value for number in numbers(part)]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return [float(value)] if is_number else []


def constants(path):
    """Name -> numbers of each constant of a module."""
    values = {}
    for node in ast.parse(path.read_text("utf-8")).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not (isinstance(target, ast.Name) and re.fullmatch("_?[A-Z][A-Z_]*", target.id)):
            continue
        try:
            value = numbers(ast.literal_eval(node.value))
        except ValueError:
            continue
        if value:
            values[target.id] = value
    return values


def of_cards(kind, task):
    """Different tolerances of one kind that cards state for a task."""
    settings = (
        measure.task_settings
        for source in find_sources().values()
        for measure in source.card.measures.values()
    )
    return {
        getattr(question.tolerance, kind)
        for question in settings
        if question is not None and str(question.task) == task
    }


def declared(place):
    """What the place that a row names states."""
    path, _, name = place.partition(": ")
    if path.startswith("sources/*/"):
        kind, _, task = name.removeprefix("tolerance.").partition(" of ")
        return sorted(of_cards(kind, task))
    if name == "BlindBar":
        return [BlindBar().drop, BlindBar().warn]
    if path.endswith(".toml"):
        value = tomllib.loads((ROOT / path).read_text("utf-8"))
        for key in name.split("."):
            value = value[key]
        return numbers(value)
    return constants(ROOT / path)[name]


@pytest.mark.parametrize("place", STATED)
def test_a_limit_on_the_page_is_the_one_in_use(place):
    value = [float(number) for number in STATED[place][2].split(", ")]
    assert declared(place) == value


def test_every_limit_has_a_basis_and_a_place_of_its_own():
    assert len(STATED) == len(ROWS)
    assert [
        row[3] for row in ROWS if not re.search("reader|choice|measured|half|ends", row[4])
    ] == []


@pytest.mark.parametrize("task", OPEN_TASKS, ids=lambda task: task.declaration.folder.name)
def test_every_number_that_a_task_declares_is_on_the_page(task):
    folder = task.declaration.folder
    table = tomllib.loads((folder / "task.toml").read_text("utf-8"))
    places = {
        f"settings.{key}" for key, value in table.get("settings", {}).items() if numbers(value)
    }
    places |= {"blind", "per_patient"} & {*table}
    assert {f"tasks/{folder.name}/task.toml: {place}" for place in places} <= set(STATED)


def test_every_tolerance_of_a_card_is_on_the_page():
    for task in OPEN_TASKS:
        for kind in ("share", "points"):
            if any(of_cards(kind, str(task))):
                assert f"sources/*/card.toml: tolerance.{kind} of {task}" in STATED


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_number_of_a_rule_is_on_the_page(path):
    name = path.relative_to(ROOT).as_posix()
    assert {f"{name}: {constant}" for constant in constants(path)} <= set(STATED) | NO_LIMITS

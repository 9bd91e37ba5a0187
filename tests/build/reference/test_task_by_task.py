"""The page of all tasks cannot drift from their declarations and the cards."""

from pathlib import Path

import pytest

from medrcube.build.open_items.authoring.task_check import sources_of
from medrcube.build.reference.task_by_task import PASS_CRITERIA, task_by_task_page
from medrcube.forms import OPEN_FORMS, OPTION
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

PAGE = Path(__file__).parents[3] / "docs/reference/task-by-task.md"
CARDS = [source.card for source in find_sources().values()]


@pytest.fixture(scope="module")
def page():
    return task_by_task_page(CARDS)


def test_the_committed_page_is_what_the_declarations_say(page):
    assert PAGE.read_text(encoding="utf-8") == page, "run  make reference"


def test_every_task_has_a_row_and_a_section_with_what_its_declaration_says(page):
    overview = page.partition("## Overview")[2].partition("\n## ")[0]
    for task in Task:
        declared = task.declaration
        (row,) = [line for line in overview.splitlines() if line.startswith(f"| [{task}](")]
        assert f"| {task.abbreviation} | {task.level} |" in row
        section = page.partition(f"\n## {task}\n")[2].partition("\n## ")[0]
        guideline = declared.guideline
        for text in (declared.measures, declared.example, PASS_CRITERIA[declared.form]):
            assert text in section
        for text in (guideline.asks, guideline.accept, guideline.refuse):
            assert text in section


@pytest.mark.parametrize("name", ["Presence", "Severity Grading", "Abstention"])
def test_the_sources_of_a_section_are_those_that_support_the_task(page, name):
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    ids = sorted(sources_of(Task.parse(name), CARDS))
    assert f"- **Sources** ({len(ids)} of {len(CARDS)}). `{'`, `'.join(ids)}`" in section


def test_every_answer_form_has_a_criterion():
    assert set(PASS_CRITERIA) == {OPTION, *OPEN_FORMS}


def test_limits_are_those_of_the_declaration(page):
    sections = dict(part.split("\n", 1) for part in page.split("\n## ")[1:])
    assert "in more than 75 %; the build warns above 60 %" in sections["Which Image"]
    assert "At most 2 sets of a patient." in sections["Relative Position"]
    assert "`least_area = 0.0002`" in sections["Presence"]
    assert "One breast view, not asked: " in sections["Abstention"]

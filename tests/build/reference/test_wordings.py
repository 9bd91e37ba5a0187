"""The page of wordings cannot drift from templates and cards, and reads as English."""

import re
from pathlib import Path

import pytest

from medrcube.build.reference.wordings import wordings_page
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import cube_tasks

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "wordings.md"
CARDS = [source.card for source in find_sources().values()]
LINES = [line[2:] for line in wordings_page(CARDS).splitlines() if line.startswith("- ")]


def test_the_committed_page_is_what_templates_and_cards_say():
    assert PAGE.read_text(encoding="utf-8") == wordings_page(CARDS), "run  make reference"


def test_every_task_has_three_wordings_on_the_page():
    text = wordings_page(CARDS)
    for task in cube_tasks():
        assert len(re.findall(rf"^### {task}: ", text, re.MULTILINE)) >= 3


@pytest.mark.parametrize(
    "fault",
    [
        r"\ba (?=[aeiou](?!ni|ne))",
        r"\ban (?=[bcdfgjklmnpqrstvwxyz])",
        r"\bthe (?:cardiomegaly|atelectasis|consolidation|calcifications?)\b",
        r"\b(\w+) \1\b",
        r"\b(?:MRI image|X-ray image|picture|judging)\b",
        r"\bthis \w+ (?:images|radiographs|mammograms)\b",
        r"^(?!The appearance of ).*\bimages (?:was|is)\b|\bthis [a-z ]+ were\b",
        r"colour|tumour|oedema|  | \?|\.\?",
    ],
)
def test_no_line_holds_a_fault_of_grammar_or_spelling(fault):
    assert [line for line in LINES if re.search(fault, line)] == []


def test_no_radiograph_of_the_head_is_called_one_of_the_chest():
    assert not [line for line in LINES if "chest radiograph" in line and "brain" in line]

"""The pages that are made from the cards cannot drift from them."""

import re
from pathlib import Path

import pytest

from medrcube.build.reference.formats import formats_page
from medrcube.build.reference.yields import yields_of
from medrcube.sources._framework.reference_page import cube_picture, sources_page
from medrcube.sources.registry import find_sources

DOCS = Path(__file__).parents[2] / "docs"
CARDS = [source.card for source in find_sources().values()]


def _sources_page(cards):
    yields = yields_of(cards)
    return sources_page(cards, yields.items, yields.section)


@pytest.mark.parametrize(
    ("file", "make"), [("reference/sources.md", _sources_page), ("images/cube.svg", cube_picture)]
)
def test_the_committed_page_is_what_the_cards_say(file, make):
    assert (DOCS / file).read_text(encoding="utf-8") == make(CARDS), "run  make reference"


def test_the_page_of_shared_formats_is_what_the_adapters_import():
    page = formats_page(find_sources())
    assert (DOCS / "reference/formats.md").read_text(encoding="utf-8") == page, "make reference"
    forms = page.partition("## All parsers")[0].splitlines()
    assert not [line for line in forms if line.endswith("| none |")]
    assert any("COCO" in line and "tbx11k" in line for line in forms)


def test_every_source_has_a_row_and_says_whether_it_may_be_passed_on():
    lines = _sources_page(CARDS).splitlines()
    for card in CARDS:
        (row,) = [line for line in lines if line.startswith(f"| [`{card.id}`]")]
        assert row.split(" | ")[3] == card.access.passed_on


def test_the_picture_counts_the_sources_of_every_cell():
    figures = re.findall(r'text-anchor="middle" fill="#\w+">(\d+)</text>', cube_picture(CARDS))
    assert sum(map(int, figures)) == sum(len(card.voxels) for card in CARDS)


def test_the_rights_of_every_source_stand_with_what_they_rest_on():
    lines = _sources_page(CARDS).splitlines()
    for card in CARDS:
        assert any(line.endswith(f" | {card.access.describe()} |") for line in lines), card.id
    by_row = {card.id for card in CARDS if card.access.passed_on == "by row"}
    assert by_row == {"covid-chestxray", "pocus-lung"}

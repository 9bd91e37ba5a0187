"""What all sources come to beside a profile, whichever of them a workspace holds."""

from dataclasses import replace
from random import Random

import pytest

from medrcube.build.profile.full_size import expected_margins, full_size_of
from medrcube.build.profile.profile import load_profile
from medrcube.build.profile.yields import expected_items
from medrcube.sources.registry import find_sources

PROFILE = """\
name = "small"
[margins.task]
"Disease Diagnosis" = 3
"ROI Grounding" = 3
[margins.modality]
Ultrasound = 6
"""


@pytest.fixture(scope="module")
def cards():
    sources = find_sources()
    return [sources[name].card for name in ("busi", "bus-bra", "figshare-brain-tumor")]


@pytest.fixture
def profile(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(PROFILE)
    return load_profile(str(file))


@pytest.mark.thorough
def test_the_order_of_sources_changes_no_figure():
    cards = [source.card for source in find_sources().values()]
    expectations = {card.id: expected_items(card) for card in cards}
    published = load_profile("medrcube")
    margins = expected_margins(cards, expectations, published)
    assert expected_margins(cards[::-1], expectations, published) == margins
    for seed in range(5):
        Random(seed).shuffle(cards)
        assert expected_margins(cards, expectations, published) == margins


def test_a_source_gives_nothing_to_the_margin_of_a_task_in_a_modality_that_is_not_wanted(
    cards, profile
):
    breast = [card for card in cards if card.anatomy == "Breast"]
    _, margins = full_size_of(cards, profile)
    assert margins == full_size_of(breast, profile)[1]
    assert sum(n for (axis, _), n in margins.items() if axis == "task") == pytest.approx(
        margins["modality", "Ultrasound"], abs=1
    )


def test_a_source_that_is_switched_off_gives_nothing_and_is_not_counted(cards, profile):
    off = replace(profile, off=frozenset({"busi"}))
    without = [card for card in cards if card.id != "busi"]
    assert full_size_of(cards, off) == full_size_of(without, profile)
    assert full_size_of(cards, off)[0].sources == 2


def test_unknown_counts_are_zero_and_their_number_is_reported(cards, profile):
    silent = [replace(card, counts=()) for card in cards]
    whole, margins = full_size_of(silent, profile)
    assert whole.items == sum(margins.values()) == 0
    assert whole.unknown > full_size_of(cards, profile)[0].unknown
    assert whole.describe(6) == (
        "all sources at full size (3, without those switched off): 0 of 6 items (0.0 %) within all "
        "margins; upper bounds by the image counts of the cards; unknown counts are taken as zero "
        f"({whole.unknown} fields)"
    )

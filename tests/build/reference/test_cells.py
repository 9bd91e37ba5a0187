import pytest

from medrcube.build.profile.full_size import reachable_at_full_size
from medrcube.build.profile.profile import load_profile
from medrcube.build.profile.yields import expected_items
from medrcube.build.reference.cells import CellReach, reach_of_cells
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Voxel

PROFILE = load_profile("medrcube")
CELL = Voxel("Brain", "MRI", "Disease Diagnosis")


@pytest.fixture(scope="module")
def cards():
    sources = find_sources()
    return [sources[name].card for name in ("acdc", "mmwhs", "isles2022", "ixi", "camus")]


@pytest.fixture(scope="module")
def expectations(cards):
    return {card.id: expected_items(card) for card in cards}


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"a": 2, "b": 3}, ""),
        ({}, "no source declares this task"),
        ({"a": 4}, "one source"),
        ({"a": 1}, "one key in a"),
        ({"a": 2, "b": 1}, "only a has 2 or more keys; one key in b"),
        ({"a": 2, "b": 0}, "only a has 2 or more keys; nothing that may be asked in b"),
        ({"a": 0, "b": 1}, "one key in b; nothing that may be asked in a"),
    ],
)
def test_a_cell_stands_on_two_sources_with_two_keys_or_says_why_not(keys, why):
    assert CellReach(cell=CELL, keys=keys, needed=2).why_not == why


def test_every_task_of_each_pair_of_region_and_modality_with_a_source_is_looked_at(
    cards, expectations
):
    reaches = {reach.cell: reach for reach in reach_of_cells(cards, expectations, PROFILE)}
    assert len(reaches) == 8 * 4  # Brain MRI, Heart CT, Heart MRI, Heart ultrasound
    assert all(cell in reaches for card in cards for cell in card.voxels)
    heart = reaches[Voxel("Heart", "MRI", "View Recognition")]
    assert dict(heart.keys) == {"acdc": 1, "mmwhs": 3}
    assert reaches[Voxel("Heart", "CT", "Severity Grading")].why_not


def test_where_the_cell_is_the_answer_one_key_of_each_source_is_enough(cards, expectations):
    reaches = {reach.cell: reach for reach in reach_of_cells(cards, expectations, PROFILE)}
    heart = reaches[Voxel("Heart", "MRI", "Modality Recognition")]
    assert dict(heart.keys) == {"acdc": 1, "mmwhs": 1}
    assert not heart.why_not


def test_what_is_known_to_have_no_image_is_no_key(cards, expectations):
    tasks = expectations["ixi"]
    image_counts = {task: sum(map(len, _counted(entry))) for task, entry in tasks.items()}
    assert all(len(entry.keys) >= 1 for task, entry in tasks.items() if image_counts[task])


def _counted(entry):
    return [+answers.counts for answers in entry.block_groups.values()]


def test_the_yields_reach_no_more_than_a_profile_wants_and_no_source_that_is_off(
    cards, expectations
):
    most = reachable_at_full_size(cards, expectations, PROFILE)
    without = [card for card in cards if card.id != "camus"]  # the profile switches it off
    assert (
        0
        < most
        <= PROFILE.margins["anatomy"]["Heart"]
        + PROFILE.margins["anatomy"]["Brain"]
        + (
            PROFILE.margins["task"]["View Recognition"]
            + PROFILE.margins["task"]["Imaging Protocols Recognition"]
        )
    )
    assert reachable_at_full_size(without, expectations, PROFILE) == most
    assert reachable_at_full_size(cards, expectations, PROFILE.times(2)) >= most

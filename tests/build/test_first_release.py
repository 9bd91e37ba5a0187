"""A release of the first format is valid, and gives its images and scores."""

import hashlib
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from medrcube.build.execution.local import LocalEngine
from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.build.reconstruction.outcomes import Status
from medrcube.build.reconstruction.recipes import read_recipes
from medrcube.build.reconstruction.reconstruct import reconstruct
from medrcube.build.reconstruction.recorded_marks import draw_first_boxes, draw_recorded_boxes
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.stored_scores import read_metrics
from medrcube.sources.registry import find_sources

HOLDS = Path(__file__).with_name("first_release") / "public_and_raw.tar.xz"
SOURCES = ("chexpert", "fetal-planes-db")


@pytest.fixture
def first(tmp_path):
    """Where the public edition and its raw data lie, for this test alone."""
    with tarfile.open(HOLDS) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def again(first, quiet):
    """Reconstruct: ``again()`` -> outcome of each image, by its path."""
    sources = {name: source for name, source in find_sources().items() if name in SOURCES}

    def run():
        roots = {name: first / "raw" / name for name in SOURCES}
        reconstruction = reconstruct(first / "release", roots, sources, LocalEngine(1), quiet)
        return {
            picture.image: picture
            for source in reconstruction.sources
            for picture in source.pictures
        }

    return run


def test_it_is_valid_and_parts_of_later_formats_are_no_faults(first, check):
    validation = check(first / "release")
    assert (validation.findings, validation.items, validation.restricted) == ((), 40, 28)
    assert [entry.partition(" (")[2] for entry in validation.unchecked] == [
        "items.csv is not in format 1)",
        "sets.json is not in format 1)",
    ]


def test_a_fault_of_it_is_still_one(first, faults):
    (first / "release/licences.csv").unlink()
    edition = first / "release/data/chexpert/test-00000.parquet"
    rows = pq.read_table(edition)
    pq.write_table(rows.slice(1), edition)
    assert faults(first / "release") == {
        "digest",
        "edition-differs",
        "file-missing",
        "proof-missing",
    }


def test_all_its_images_are_made_again_byte_for_byte(first, again):
    tree = first / "release"
    outcomes = again()
    assert {outcome.status for outcome in outcomes.values()} == {
        Status.ALREADY_THERE,
        Status.REBUILT,
    }
    lines = (tree / "SHA256SUMS.restricted").read_text().splitlines()
    listed = dict(reversed(line.split("  ")) for line in lines)
    mark = hashlib.sha256((tree / "PRIVATE.md").read_bytes()).hexdigest()
    assert mark == listed["PRIVATE.md"]
    pictures = [line.split("  ") for line in lines if line.endswith(".png")]
    assert len(pictures) == 18
    assert sum(".boxes-" in name for _, name in pictures) == 12
    for digest, name in pictures:
        assert hashlib.sha256((tree / name).read_bytes()).hexdigest() == digest


def test_it_is_valid_as_a_private_tree_once_its_images_are_made_again(first, again, check):
    again()
    validation = check(first / "release")
    assert (validation.findings, validation.private, validation.without_picture) == ((), True, 0)


def test_an_image_that_cannot_be_made_again_is_named_with_both_digests_of_its_card(first, again):
    path = first / "release/recipes.jsonl"
    recipes = [json.loads(line) for line in path.read_text().splitlines()]
    lost = next(
        recipe
        for recipe in recipes
        if recipe["source"] == "chexpert" and not recipe["mark"]["boxes"]
    )
    lost["origin"]["policy"]["window"] = "ct:liver"
    lost["pixel_sha256"] = "0" * 64
    path.write_text("".join(json.dumps(recipe) + "\n" for recipe in recipes))
    outcomes = again()
    outcome = outcomes.pop(lost["image"])
    assert (outcome.status, outcome.stage) == (Status.HASH_DIFFERS, "card")
    assert "'ct:liver' in the release, 'none' now" in outcome.detail
    then, now = lost["origin"]["card"], find_sources()["chexpert"].card.fingerprint[:16]
    reason = (
        f"the card of chexpert has changed since the release: digest {then!r} then, {now!r} now"
    )
    assert reason in outcome.detail
    assert {entry.status for entry in outcomes.values()} == {Status.ALREADY_THERE, Status.REBUILT}


def test_a_run_on_it_is_scored(first, again, tmp_path):
    again()
    benchmark = load_benchmark(first / "release")
    run = tmp_path / "run"
    state = run_evaluation(benchmark, open_model("baseline/first"), run)
    assert (state.answered, state.missing) == (40, 0)
    assert read_metrics(run)["global"]["n"] == 40


@pytest.mark.parametrize(
    "boxes", [[[0, 0, 9, 9], [4, 4, 400, 9]], [[0, 0, 0, 9]], [[0.5, 0, 9, 9]], ["x"], {}, None]
)
def test_boxes_of_a_recipe_that_cannot_be_draw_nothing(boxes, first):
    clean = np.full((64, 64), 90, np.uint8)
    recipe = next(
        candidate
        for candidate in read_recipes(first / "release")
        if candidate.artefact.kind == "boxes"
    )
    recipe.record["mark"]["boxes"] = boxes
    assert draw_recorded_boxes(recipe, clean) is None


def test_boxes_are_taken_only_in_a_style_that_gives_the_published_pixels(first):
    clean = np.full((64, 64), 90, np.uint8)
    recipe = next(
        candidate
        for candidate in read_recipes(first / "release")
        if candidate.artefact.kind == "boxes"
    )
    boxes = [[4, 30, 20, 50], [40, 30, 56, 50]]
    recipe.record["mark"]["boxes"] = boxes
    assert draw_recorded_boxes(recipe, clean) is None
    pixels = draw_first_boxes(clean, [tuple(box) for box in boxes])
    recipe = replace(recipe, pixel_sha256=pixel_hash(pixels))
    assert np.array_equal(draw_recorded_boxes(recipe, clean), pixels)

"""Numbered boxes: nothing but the picture tells the right one, and each number has one reading."""

from dataclasses import replace

import numpy as np
import pytest
from truth.geometry import Puzzle, learnt, score, tricks
from truth.numbers import DIGITS, RED, pixels_of, read_tags, reading_faults

pytestmark = [pytest.mark.thorough, pytest.mark.untraced]
VARIANTS = ("demo", "hard", "easy", "whole")
BOUND = 3
"""Standard errors above chance that luck is allowed."""
LEARNERS = 5


def boxed(build):
    """Samples that are asked for a box."""
    samples = build.oracle.samples
    sample_ids = {item.sample for item in build.items if item.task == "ROI Grounding"}
    return [samples[name] for name in sorted(sample_ids)]


def picture(build, sample):
    """Pixels of a sample."""
    return pixels_of(build.oracle._root / sample.image)


@pytest.fixture(scope="module")
def puzzles(demo):
    """Name of a variant -> its boxes without their pictures."""
    return {
        name: [
            Puzzle(
                f"{sample.source} {sample.patient or sample.case}",
                *picture(build, sample).shape[1::-1],
                tuple(build.oracle.boxes[sample.id]),
                int(sample.truth) - 1,
            )
            for sample in boxed(build)
        ]
        for name, build in demo.items()
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_trick_finds_the_right_box_without_the_picture(puzzles, variant):
    mine = puzzles[variant]
    gains = {name: score(mine, [trick(entry) for entry in mine]).gain for name, trick in tricks()}
    assert {name: gain for name, gain in gains.items() if gain > BOUND} == {}


@pytest.mark.parametrize("variant", VARIANTS)
def test_no_learner_finds_the_right_box_without_the_picture(puzzles, variant):
    mine = puzzles[variant]
    assert len(mine) > 50
    # Pseudonyms of patients are new in every build, and so are the folds: one fit is half luck.
    gains = [score(mine, learnt(mine, seed)).gain for seed in range(LEARNERS)]
    assert abs(np.median(gains)) < BOUND, gains


def test_every_number_of_every_picture_has_one_reading(demo):
    build = demo["demo"]
    texts = [
        f"{sample.source} {sample.case} {sample.marked}: {fault}"
        for sample in build.oracle.samples.values()
        if sample.artefact == "boxes"
        for fault in reading_faults(picture(build, sample), build.oracle.boxes[sample.id])
    ]
    assert not texts, f"{len(texts)} faults, such as:\n" + "\n".join(texts[:20])


@pytest.fixture
def neutral(puzzles):
    """Boxes of the demo under keys drawn by lot: by themselves they tell nothing."""
    luck = np.random.default_rng(7)
    return [replace(entry, key=int(luck.integers(len(entry.boxes)))) for entry in puzzles["whole"]]


def moved(puzzle, move):
    """A puzzle whose wrong boxes have been moved."""
    boxes = tuple(
        box if place == puzzle.key else move(puzzle, box) for place, box in enumerate(puzzle.boxes)
    )
    return replace(puzzle, boxes=boxes)


def on_lattice(puzzle, box):
    """The corner nearest to a box on a lattice of thirteen steps across what is free."""
    x0, y0, x1, y1 = box
    wide, high = x1 - x0, y1 - y0
    dx, dy = puzzle.width / 13, puzzle.height / 13
    x, y = round(round(x0 / dx) * dx), round(round(y0 / dy) * dy)
    return x, y, x + wide, y + high


def off_margin(puzzle, box):
    """A box that keeps away from the border of the picture by a sixth."""
    x0, y0, x1, y1 = box
    wide, high = x1 - x0, y1 - y0
    x = min(max(x0, puzzle.width // 6), max(puzzle.width - puzzle.width // 6 - wide, 0))
    y = min(max(y0, puzzle.height // 6), max(puzzle.height - puzzle.height // 6 - high, 0))
    return x, y, x + wide, y + high


def test_boxes_under_keys_by_lot_tell_nothing(neutral):
    assert abs(score(neutral, learnt(neutral)).gain) < BOUND


@pytest.mark.parametrize("move", [on_lattice, off_margin])
def test_wrong_boxes_that_are_placed_by_another_rule_are_found(neutral, move):
    planted = [moved(entry, move) for entry in neutral]
    assert score(planted, learnt(planted)).gain > BOUND


def test_an_order_of_numbers_is_found(neutral):
    planted = [replace(entry, key=0) if n % 3 else entry for n, entry in enumerate(neutral)]
    assert score(planted, learnt(planted)).gain > BOUND
    gains = {
        name: score(planted, [trick(entry) for entry in planted]).gain for name, trick in tricks()
    }
    assert gains["least number"] > BOUND


@pytest.fixture
def drawing(demo):
    """A sound picture with three boxes or more: its pixels, which may be changed, and its boxes."""
    build = demo["whole"]
    for sample in boxed(build):
        pixels, boxes = picture(build, sample).copy(), build.oracle.boxes[sample.id]
        if len(boxes) > 2 and not list(reading_faults(pixels, boxes)):
            return pixels, boxes
    raise AssertionError("no picture of the demo is sound")


def test_swapped_tags_are_found(drawing):
    pixels, boxes = drawing
    first, second = read_tags(pixels)[:2]
    plates = [pixels[slice(*tag.place[1::2]), slice(*tag.place[::2])] for tag in (first, second)]
    plates[0][:], plates[1][:] = plates[1].copy(), plates[0].copy()
    assert any("is nearer to its box" in fault for fault in reading_faults(pixels, boxes))


def test_a_tag_at_a_foreign_frame_is_found(drawing):
    pixels, boxes = drawing
    tag = read_tags(pixels)[0]
    x0, y0, x1, y1 = tag.place
    plate = pixels[y0:y1, x0:x1].copy()
    pixels[y0:y1, x0:x1] = 0
    foreign = boxes[tag.number % len(boxes)]
    pixels[foreign[1] : foreign[1] + y1 - y0, foreign[0] : foreign[0] + x1 - x0] = plate
    assert list(reading_faults(pixels, boxes))


def test_a_number_that_is_missing_or_twice_is_found(drawing):
    pixels, boxes = drawing
    x0, y0, x1, y1 = read_tags(pixels)[0].place
    pixels[y0:y1, x0:x1] = 0
    assert any("the numbers" in fault for fault in reading_faults(pixels, boxes))


def test_a_frame_that_runs_through_a_box_is_found(drawing):
    pixels, boxes = drawing
    x0, y0, x1, y1 = boxes[0]
    pixels[(y0 + y1) // 2, x0:x1] = RED
    assert "something is drawn inside box 1" in list(reading_faults(pixels, boxes))


@pytest.mark.parametrize("number", DIGITS)
@pytest.mark.parametrize("dot", [1, 2, 5])
def test_every_digit_is_read_in_every_size(number, dot):
    pixels = np.zeros((20 * dot, 20 * dot, 3), np.uint8)
    pixels[4 * dot : 13 * dot, 6 * dot : 13 * dot] = RED
    shape = np.array([[spot == "#" for spot in row] for row in DIGITS[number].split()])
    pixels[5 * dot : 12 * dot, 7 * dot : 12 * dot][np.kron(shape, np.ones((dot, dot), bool))] = 255
    (tag,) = read_tags(pixels)
    assert (tag.number, tag.place) == (number, (6 * dot, 4 * dot, 13 * dot, 13 * dot))

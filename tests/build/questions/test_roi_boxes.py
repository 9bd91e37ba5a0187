from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from medrcube.build.questions.box_exchangeability import SeededDraws
from medrcube.build.questions.roi_boxes import candidate_boxes
from medrcube.build.regions.draw_shapes import bounding_box

PICTURE = np.random.default_rng(0).integers(60, 200, (128, 160)).astype(np.uint8)


def _region(x, y, width, height, shape=PICTURE.shape):
    mask = np.zeros(shape, np.bool_)
    mask[y : y + height, x : x + width] = True
    return mask


def _apart(a, b):
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def _whole(candidates):
    """Boxes in pixels of the whole picture."""
    left, top, *_ = candidates.window
    return [(x0 + left, y0 + top, x1 + left, y1 + top) for x0, y0, x1, y1 in candidates.boxes]


def _wrong(candidates):
    return [box for n, box in enumerate(_whole(candidates), 1) if n != candidates.truth]


@given(
    x=st.integers(0, 120),
    y=st.integers(0, 90),
    width=st.integers(1, 40),
    height=st.integers(1, 38),
    seed=st.text(max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_exactly_one_box_encloses_the_region_and_no_two_touch(x, y, width, height, seed):
    region = _region(x, y, width, height)
    candidates = candidate_boxes(PICTURE, region, [], seed=seed)
    assume(candidates is not None)
    target = bounding_box(region)
    boxes = _whole(candidates)
    enclosing = [
        n
        for n, box in enumerate(boxes, 1)
        if box[0] <= target[0]
        and box[1] <= target[1]
        and box[2] >= target[2]
        and box[3] >= target[3]
    ]
    assert enclosing == [candidates.truth]
    assert all(_apart(box, target) for box in _wrong(candidates))
    assert 2 <= len(boxes) <= 4
    assert all(_apart(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
    left, top, right, bottom = candidates.window
    assert all(x0 >= left and y0 >= top for x0, y0, *_ in boxes)
    assert all(x1 <= right and y1 <= bottom for *_, x1, y1 in boxes)
    assert (right - left) * 2 >= PICTURE.shape[1]
    assert (bottom - top) * 2 >= PICTURE.shape[0]


def test_a_region_of_one_pixel_lies_in_a_box_that_does_not_hide_it():
    candidates = candidate_boxes(PICTURE, _region(80, 64, 1, 1), [], seed="s")
    x0, y0, x1, y1 = _whole(candidates)[candidates.truth - 1]
    assert x0 < 80 < x1 - 1
    assert y0 < 64 < y1 - 1
    assert min(x1 - x0, y1 - y0) >= 8


def test_all_boxes_have_one_size():
    candidates = candidate_boxes(PICTURE, _region(60, 50, 20, 16), [], seed="s")
    assert len({(b[2] - b[0], b[3] - b[1]) for b in candidates.boxes}) == 1


@pytest.mark.thorough
def test_a_region_in_the_middle_lies_at_every_place_of_its_boxes_equally_often():
    """Where lesions lie is known; among the boxes of a picture it must tell nothing."""
    ranks = Counter()
    for seed in range(300):
        candidates = candidate_boxes(PICTURE, _region(68, 54, 24, 20), [], seed=str(seed))
        assert len(candidates.boxes) == 4
        own = candidates.boxes[candidates.truth - 1]
        ranks[
            own[0] > min(b[0] for b in candidates.boxes),
            own[1] > min(b[1] for b in candidates.boxes),
        ] += 1
    assert len(ranks) == 4
    assert min(ranks.values()) > 45  # 75 due, 7.5 as their standard deviation


@pytest.mark.thorough
def test_a_region_on_one_side_lies_on_either_side_of_its_boxes_equally_often():
    first = Counter()
    for seed in range(300):
        candidates = candidate_boxes(PICTURE, _region(40, 60, 16, 12), [], seed=str(seed))
        first[
            candidates.boxes[candidates.truth - 1][0] > min(box[0] for box in candidates.boxes)
        ] += 1
    assert min(first.values()) > 110  # 150 due, 8.7 as their standard deviation


def test_wrong_boxes_keep_off_other_regions():
    other = _region(0, 0, 60, 128)
    candidates = candidate_boxes(PICTURE, _region(90, 50, 20, 16), [other], seed="s")
    assert _wrong(candidates)
    assert all(_apart(box, bounding_box(other)) for box in _wrong(candidates))


def test_wrong_boxes_keep_off_empty_background():
    picture = np.zeros((128, 160), np.uint8)
    picture[:, 50:] = 120
    candidates = candidate_boxes(picture, _region(90, 60, 20, 16), [], seed="s")
    assert all((picture[y0:y1, x0:x1] > 0).mean() >= 0.5 for x0, y0, x1, y1 in _whole(candidates))


def test_wrong_boxes_keep_off_the_air_around_a_body():
    """In a lung window the air outside is grey, not black."""
    picture = np.full((128, 160), 60, np.uint8)
    picture[20:108, 30:130] = 180
    candidates = candidate_boxes(picture, _region(60, 50, 20, 16), [], seed="s")
    assert all(
        (picture[y0:y1, x0:x1] == 180).mean() >= 0.5 for x0, y0, x1, y1 in _whole(candidates)
    )


def test_wrong_boxes_lie_in_the_organ_of_the_region_where_it_is_marked():
    organ = _region(30, 20, 100, 60)
    candidates = candidate_boxes(PICTURE, _region(60, 46, 10, 10), [], ground=organ, seed="s")
    assert all(organ[y0:y1, x0:x1].mean() >= 0.5 for x0, y0, x1, y1 in _whole(candidates))


def test_a_region_as_large_as_the_picture_leaves_no_room():
    assert candidate_boxes(PICTURE, _region(5, 5, 150, 118), [], seed="s") is None


def test_a_region_with_room_on_one_side_alone_is_refused():
    """Were it asked, the wrong box would lie on that side in every such picture."""
    assert candidate_boxes(PICTURE, _region(2, 2, 50, 40), [], seed="s") is None


def test_the_same_seed_gives_the_same_boxes_and_numbers_vary_over_seeds():
    region = _region(68, 54, 20, 16)
    assert candidate_boxes(PICTURE, region, [], seed="a") == candidate_boxes(
        PICTURE, region, [], seed="a"
    )
    truths = {candidate_boxes(PICTURE, region, [], seed=str(n)).truth for n in range(40)}
    assert truths == {1, 2, 3, 4}


def test_a_lot_is_the_same_on_every_platform():
    lot = SeededDraws("seed")
    assert [lot.draw(0, 99) for _ in range(4)] == [79, 93, 68, 89]


ROWS, COLUMNS = np.mgrid[-48:48, -48:48]
BODIES = {
    "round": np.hypot(ROWS, COLUMNS) < 40,
    "longer along a diagonal": (abs(ROWS) < 40) & (abs(COLUMNS) < 40) & (abs(ROWS - COLUMNS) < 36),
}


@pytest.mark.thorough
@pytest.mark.few(1)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_place_of_a_box_on_a_body_does_not_tell_whether_it_is_the_true_one(body):
    """Sound places lie on tissue; asked for the true place alone, they would tell it."""
    picture = np.where(body, 120, 0).astype(np.uint8)
    luck = np.random.default_rng(0)
    gains = {(trick, count): [] for trick in ("middle", "line") for count in (2, 3, 4)}
    for seed in range(600):
        x, y = luck.integers(24, 64, 2)
        candidates = candidate_boxes(picture, _region(x, y, 9, 8, body.shape), [], seed=str(seed))
        if candidates is None:
            continue
        corners, count = np.array(candidates.boxes, float), len(candidates.boxes)
        left, top, right, bottom = candidates.window
        centres = (corners[:, :2] + corners[:, 2:]) / 2 - np.array([right - left, bottom - top]) / 2
        inner = np.linalg.norm(centres, axis=1)
        in_line = (corners[:, None] == corners).sum(axis=(1, 2)).astype(float)
        for trick, rank in (("middle", -inner), ("line", in_line)):
            best = np.flatnonzero(rank == rank.max())
            gains[trick, count].append((candidates.truth - 1 in best) / len(best) - 1 / count)
    for (trick, count), mine in gains.items():
        assert len(mine) > 30, count
        assert abs(np.sum(mine)) <= 3.5 * np.linalg.norm(mine), (trick, count)

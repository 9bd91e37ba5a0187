import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.pixels.overlay import bounding_box
from medrcube.build.questions.grounding import MOST_BOXES, candidate_boxes

PICTURE = np.random.default_rng(0).integers(60, 200, (128, 160)).astype(np.uint8)


def _region(x, y, width, height):
    mask = np.zeros(PICTURE.shape, np.bool_)
    mask[y : y + height, x : x + width] = True
    return mask


def _apart(a, b):
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


@given(
    x=st.integers(0, 120),
    y=st.integers(0, 90),
    width=st.integers(4, 40),
    height=st.integers(4, 38),
    seed=st.text(max_size=5),
)
def test_exactly_one_box_encloses_the_region_and_no_two_touch(x, y, width, height, seed):
    region = _region(x, y, width, height)
    found = candidate_boxes(PICTURE, region, [], seed=seed)
    if found is None:
        return
    target = bounding_box(region)
    enclosing = [
        n
        for n, box in enumerate(found.boxes, 1)
        if box[0] <= target[0]
        and box[1] <= target[1]
        and box[2] >= target[2]
        and box[3] >= target[3]
    ]
    assert enclosing == [found.truth]
    assert 2 <= len(found.boxes) <= MOST_BOXES
    pairs = [(a, b) for i, a in enumerate(found.boxes) for b in found.boxes[:i]]
    assert all(_apart(a, b) for a, b in pairs)


def test_wrong_boxes_have_the_size_of_the_right_one():
    found = candidate_boxes(PICTURE, _region(60, 50, 20, 16), [], seed="s")
    assert len({(b[2] - b[0], b[3] - b[1]) for b in found.boxes}) == 1


def test_wrong_boxes_keep_off_other_regions():
    other = _region(0, 0, 80, 128)
    found = candidate_boxes(PICTURE, _region(100, 50, 20, 16), [other], seed="s")
    wrong = [box for n, box in enumerate(found.boxes, 1) if n != found.truth]
    assert wrong
    assert all(_apart(box, bounding_box(other)) for box in wrong)


def test_wrong_boxes_keep_off_empty_background():
    picture = np.zeros((128, 160), np.uint8)
    picture[:, 80:] = 120
    found = candidate_boxes(picture, _region(120, 60, 20, 16), [], seed="s")
    assert all(picture[b[1] : b[3], b[0] : b[2]].any() for b in found.boxes)


def test_wrong_boxes_keep_off_the_air_around_a_body():
    """In a lung window the air outside is grey, not black."""
    picture = np.full((128, 160), 60, np.uint8)
    picture[20:108, 30:130] = 180
    found = candidate_boxes(picture, _region(60, 50, 20, 16), [], seed="s")
    assert all((picture[b[1] : b[3], b[0] : b[2]] == 180).mean() >= 0.5 for b in found.boxes)


def test_a_region_as_large_as_the_picture_leaves_no_room():
    assert candidate_boxes(PICTURE, _region(5, 5, 150, 118), [], seed="s") is None


def test_the_same_seed_gives_the_same_boxes_and_numbers_vary_over_seeds():
    region = _region(60, 50, 20, 16)
    assert candidate_boxes(PICTURE, region, [], seed="a") == candidate_boxes(
        PICTURE, region, [], seed="a"
    )
    truths = {candidate_boxes(PICTURE, region, [], seed=str(n)).truth for n in range(40)}
    assert truths == {1, 2, 3, 4}

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.regions.draw_shapes import RED, bounding_box, draw_boxes, draw_outline


@pytest.fixture
def picture():
    return np.full((64, 80), 100, np.uint8)


@pytest.fixture
def mask():
    region = np.zeros((64, 80), np.bool_)
    region[20:40, 30:50] = True
    return region


def _red(pixels):
    return (pixels == RED).all(axis=2)


def test_an_outline_surrounds_the_region_and_covers_none_of_it(picture, mask):
    red = _red(draw_outline(picture, mask))
    assert not (red & mask).any()
    assert red[19, 30:50].all()
    assert red[40, 30:50].all()
    assert red[20:40, 29].all()
    assert red[20:40, 50].all()
    assert red.sum() == 80


@given(
    corner=st.tuples(st.integers(0, 39), st.integers(0, 29)),
    size=st.tuples(st.integers(1, 40), st.integers(1, 30)),
)
def test_an_outline_is_every_pixel_beside_the_region_also_at_the_border(corner, size):
    mask = np.zeros((40, 30), np.bool_)
    mask[corner[0] : corner[0] + size[0], corner[1] : corner[1] + size[1]] = True
    around = np.pad(mask, 1)
    beside = around[:-2, 1:-1] | around[2:, 1:-1] | around[1:-1, :-2] | around[1:-1, 2:]
    canvas = draw_outline(np.zeros((40, 30), np.uint8), mask)
    assert np.array_equal(canvas[..., 0] == RED[0], beside & ~mask)


def test_no_region_has_no_outline():
    picture = np.full((9, 8), 7, np.uint8)
    assert (draw_outline(picture, np.zeros((9, 8), np.bool_)) == 7).all()


def test_drawing_leaves_the_clean_picture_untouched(picture, mask):
    before = picture.copy()
    draw_outline(picture, mask)
    draw_boxes(picture, [(1, 1, 20, 20)])
    assert np.array_equal(picture, before)


def test_everything_but_the_marks_keeps_its_grey(picture, mask):
    canvas = draw_outline(picture, mask)
    assert (canvas[~_red(canvas)] == 100).all()


def test_lines_grow_with_the_picture():
    picture = np.zeros((1024, 512), np.uint8)
    mask = np.zeros((1024, 512), np.bool_)
    mask[400:600, 100:300] = True
    assert _red(draw_outline(picture, mask))[:, 200].sum() == 2 * 4


def test_a_box_is_framed_outside_its_inside(picture):
    canvas = draw_boxes(picture, [(10, 12, 60, 50)])
    red = _red(canvas)
    assert red[11, 10:60].all()
    assert red[50, 10:60].all()
    assert (canvas[40:50, 40:60] == 100).all()


def test_boxes_carry_different_numbers_outside_of_every_box(picture):
    boxes = [(2, 20, 30, 40), (40, 20, 68, 40)]
    canvas = draw_boxes(picture, boxes)
    for x0, y0, x1, y1 in boxes:
        assert (canvas[y0:y1, x0:x1] == 100).all()
    tags = [canvas[10:19, x0 - 1 : x0 + 6] for x0, *_ in boxes]
    assert all((tag == 255).all(axis=2).any() for tag in tags)
    assert not np.array_equal(*tags)


def test_a_box_at_the_border_keeps_its_other_three_sides(picture):
    red = _red(draw_boxes(picture, [(0, 20, 30, 40)]))
    assert red.shape == (64, 80)
    assert red[19, :30].all()
    assert red[40, :30].all()
    assert red[20:40, 30].all()


def test_the_bounding_box_excludes_its_far_edge(mask):
    assert bounding_box(mask) == (30, 20, 50, 40)


def test_colour_pictures_keep_their_colours(mask):
    colour = np.zeros((64, 80, 3), np.uint8)
    colour[..., 1] = 77
    canvas = draw_outline(colour, mask)
    assert (canvas[0, 0] == (0, 77, 0)).all()

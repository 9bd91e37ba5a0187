"""Mirror images: left and right exchanged, but nothing that stands beside the body tells it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.pixels.mirror import mirror

HEIGHT, WIDTH = 80, 100
BODY = (slice(15, 70), slice(20, 90))


def scan():
    """A body in the air, brighter to the left."""
    picture = np.zeros((HEIGHT, WIDTH), np.uint8)
    picture[BODY] = np.linspace(200, 90, 70).astype(np.uint8)
    return picture


@given(st.integers(2, 40), st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_a_picture_that_fills_its_frame_is_exchanged_and_exchanged_back(height, width, seed):
    picture = np.random.default_rng(seed).integers(60, 256, (height, width), np.uint8)
    assert np.array_equal(mirror(picture), picture[:, ::-1])
    assert np.array_equal(mirror(mirror(picture)), picture)


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("rows", [slice(4, 9), slice(-9, -4)])
@pytest.mark.parametrize("columns", [slice(5, 12), slice(-12, -5)])
def test_a_mark_in_a_corner_apart_from_the_body_stands_at_one_place_on_both(rows, columns, colour):
    picture, bare = scan(), scan()
    picture[rows, columns] = 250
    if colour:
        picture, bare = (np.repeat(each[:, :, None], 3, axis=2) for each in (picture, bare))
    turned = mirror(picture)
    assert (turned[rows, columns] == 250).all()
    turned[rows, columns] = 0
    assert np.array_equal(turned, bare[:, ::-1])


def test_a_mark_close_to_the_body_needs_no_square_of_air():
    picture = scan()
    picture[:, 13:-16] = 120
    picture[4:13, 5:11] = 250
    assert (mirror(picture)[4:13, 5:11] == 250).all()


def test_what_belongs_to_the_body_is_exchanged_with_it():
    picture = scan()
    picture[5:15, 18:24] = 180  # reaches the body
    assert np.array_equal(mirror(picture), picture[:, ::-1])


def test_the_picture_itself_is_left_as_it_was():
    picture = scan()
    picture[4:9, 5:12] = 250
    before = picture.copy()
    mirror(picture)
    assert np.array_equal(picture, before)

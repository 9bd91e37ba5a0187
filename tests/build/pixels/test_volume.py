"""Stacks of slices that are made when they are asked for."""

import numpy as np
import pytest

from medrcube.build.pixels.volume import ForwardSlices, PackedSlices

STACK = np.arange(5 * 3 * 4, dtype=np.uint8).reshape(5, 3, 4)


@pytest.fixture
def film():
    """A film, and the numbers of the frames that were decoded."""
    decoded = []

    def frames():
        for number, frame in enumerate(STACK):
            decoded.append(number)
            yield frame

    return ForwardSlices(frames, STACK.shape), decoded


def test_frames_of_a_film_come_in_any_order(film):
    frames, _ = film
    for number in (0, 1, 2, 1, 0, 4, 4, 3):
        assert np.array_equal(frames[number], STACK[number])


def test_each_frame_is_decoded_once_in_ascending_order_and_kept_until_the_next(film):
    frames, decoded = film
    for number in (0, 1, 1, 3):
        assert np.array_equal(frames[number], STACK[number])
    assert decoded == [0, 1, 2, 3]


@pytest.mark.parametrize("number", [-1, 5])
def test_no_frame_lies_beyond_the_film(film, number):
    frames, decoded = film
    with pytest.raises(IndexError):
        frames[number]
    assert not decoded


def test_a_film_that_is_shorter_than_its_header_says_ends():
    short = ForwardSlices(lambda: iter(STACK[:2]), STACK.shape)
    with pytest.raises(IndexError):
        short[2]


def test_packed_slices_come_back_in_type_and_value():
    stack = STACK.astype(np.int16) - 30
    packed = PackedSlices(stack)
    assert (packed.shape, packed.dtype) == (stack.shape, stack.dtype)
    assert all(np.array_equal(packed[k], stack[k]) for k in range(5))

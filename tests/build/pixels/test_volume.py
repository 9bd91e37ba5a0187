"""Stacks of slices that are made when they are asked for."""

import numpy as np
import pytest

from medrcube.build.pixels.volume import (
    ForwardSlices,
    PackedSlices,
    Volume,
    is_grey,
    stack_slices,
    without_equal_channels,
)

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


@pytest.mark.parametrize("channel", [0, 1, 2])
def test_a_picture_is_grey_only_if_all_its_channels_are_equal(channel):
    grey = np.repeat(STACK[0][..., None], 3, axis=-1)
    assert is_grey(grey)
    assert np.array_equal(without_equal_channels(grey), STACK[0])
    coloured = grey.copy()
    coloured[2, 3, channel] += 1
    assert not is_grey(coloured)
    assert without_equal_channels(coloured) is coloured


def test_a_picture_of_one_channel_stays_as_it_is():
    picture = STACK[0]
    assert without_equal_channels(picture) is picture


def test_frames_of_three_channels_give_grey_pictures_where_grey_ones_are_wanted():
    coloured = np.stack([STACK, STACK + 1, STACK + 2], axis=-1)
    grey = ForwardSlices(lambda: iter(coloured), STACK.shape)
    assert grey.dtype == np.uint8
    assert np.array_equal(stack_slices(grey), STACK)
    whole = ForwardSlices(lambda: iter(coloured), coloured.shape)
    assert np.array_equal(stack_slices(whole), coloured)


def test_a_film_starts_over_for_an_earlier_frame_only(film):
    frames, decoded = film
    for number in (2, 4, 1):
        assert np.array_equal(frames[number], STACK[number])
    assert decoded == [0, 1, 2, 3, 4, 0, 1]


@pytest.mark.parametrize("number", [-1, 5])
def test_no_packed_slice_lies_beyond_the_stack(number):
    with pytest.raises(IndexError):
        PackedSlices(STACK)[number]


def test_packed_pictures_of_colour_keep_their_shape():
    coloured = np.stack([STACK, STACK + 1, STACK + 2], axis=-1)[:, ::-1]
    assert np.array_equal(stack_slices(PackedSlices(coloured)), coloured)


def test_what_is_one_array_already_is_not_copied():
    assert stack_slices(STACK) is STACK


def test_a_volume_is_of_colour_if_its_pictures_have_channels():
    assert not Volume(slices=STACK).colour
    assert Volume(slices=np.zeros((2, 3, 4, 3), np.uint8)).colour


def test_a_volume_has_even_slices_in_mm_of_no_body_unless_its_reader_says_otherwise():
    plain = Volume(slices=STACK)
    assert (plain.measured, plain.solid, plain.uneven) == (True, False, False)
    assert (plain.spacing, plain.affine, dict(plain.slice_ids)) == (None, None, {})


def test_stored_values_mean_themselves_unless_a_file_says_otherwise():
    greys = Volume(slices=STACK).greys
    assert (greys.slope, greys.intercept, greys.windows) == (1.0, 0.0, ())
    assert (greys.inverted, greys.padding, greys.bits) == (False, None, None)
    assert (greys.median_of, greys.filled) == (0, 0)

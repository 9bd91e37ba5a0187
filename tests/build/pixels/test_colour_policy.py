import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from medrcube.build.pixels.colour_policy import apply_colour_policy
from medrcube.errors import ReadError

PICTURES = arrays.arrays(np.uint8, st.tuples(st.integers(1, 6), st.integers(1, 6), st.just(3)))
BELOW_HALF = (0, 62, 229)
"""Its luma lies 2**-16 below a half, and no colour's lies closer."""


def luma(picture):
    """ITU-R BT.601 in units of 2**-16, halves rounded up."""
    return (picture.astype(np.uint32) @ np.array([19595, 38470, 7471], np.uint32) + 0x8000) >> 16


@given(picture=PICTURES)
def test_grey_is_the_luma_of_bt_601(picture):
    assert np.array_equal(apply_colour_policy(picture, "grey"), luma(picture))


def test_grey_of_a_large_picture_is_its_luma_in_every_row():
    picture = np.random.default_rng(2).integers(0, 256, (700, 400, 3), np.uint8)
    picture[650, 100] = BELOW_HALF
    assert np.array_equal(apply_colour_policy(picture, "grey"), luma(picture))


def test_kept_pictures_stay_as_they_are():
    picture = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert apply_colour_policy(picture, "keep") is picture


def test_a_colour_photograph_among_grey_pictures_is_refused():
    picture = np.zeros((20, 20, 3), np.uint8)
    picture[:10, :, 0] = 200
    with pytest.raises(ReadError, match="50 % of the pixels are coloured") as excinfo:
        apply_colour_policy(picture, "refuse")
    assert excinfo.value.code == "coloured"


def test_a_small_coloured_mark_and_the_noise_of_jpeg_are_not_colour():
    picture = np.full((20, 20, 3), 100, np.uint8)
    picture[0, 0] = (255, 0, 0)
    picture[..., 2] += 40
    assert apply_colour_policy(picture, "refuse").shape == (20, 20)


@pytest.mark.parametrize(
    ("apart", "pixels", "is_kept"), [(41, 8, True), (41, 9, False), (40, 9, True)]
)
def test_up_to_a_fiftieth_of_the_pixels_may_have_a_colour(apart, pixels, is_kept):
    picture = np.full((20, 20, 3), 100, np.uint8)
    picture.reshape(-1, 3)[:pixels, 1] += apart
    if is_kept:
        assert apply_colour_policy(picture, "refuse").shape == (20, 20)
    else:
        with pytest.raises(ReadError, match="coloured"):
            apply_colour_policy(picture, "refuse")


def test_colour_that_is_made_grey_is_not_refused():
    picture = np.zeros((20, 20, 3), np.uint8)
    picture[..., 0] = 200
    assert (apply_colour_policy(picture, "grey") == 60).all()


@pytest.mark.parametrize(("tint", "coloured"), [(40, False), (41, True)])
def test_a_tint_of_40_counts_as_grey_and_one_of_41_as_colour(tint, coloured):
    picture = np.full((4, 4, 3), 100, np.uint8)
    picture[..., 2] += tint
    if coloured:
        with pytest.raises(ReadError, match="100 % of the pixels"):
            apply_colour_policy(picture, "refuse")
    else:
        assert np.array_equal(apply_colour_policy(picture, "refuse"), luma(picture))

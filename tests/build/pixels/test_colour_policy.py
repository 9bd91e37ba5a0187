import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from medrcube.build.pixels.colour_policy import apply_colour_policy
from medrcube.errors import ReadError

PICTURES = arrays.arrays(np.uint8, st.tuples(st.integers(1, 6), st.integers(1, 6), st.just(3)))


@given(picture=PICTURES)
def test_grey_is_the_luma_that_pillow_makes(picture):
    assert np.array_equal(
        apply_colour_policy(picture, "grey"), np.asarray(Image.fromarray(picture).convert("L"))
    )


def test_kept_pictures_stay_as_they_are():
    picture = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert apply_colour_policy(picture, "keep") is picture


def test_a_colour_photograph_among_grey_pictures_is_refused():
    picture = np.zeros((20, 20, 3), np.uint8)
    picture[:10, :, 0] = 200
    with pytest.raises(ReadError, match="50% of the pixels are coloured") as caught:
        apply_colour_policy(picture, "refuse")
    assert caught.value.code == "coloured"


def test_a_small_coloured_mark_and_the_noise_of_jpeg_are_not_colour():
    picture = np.full((20, 20, 3), 100, np.uint8)
    picture[0, 0] = (255, 0, 0)
    picture[..., 2] += 40
    assert apply_colour_policy(picture, "refuse").shape == (20, 20)

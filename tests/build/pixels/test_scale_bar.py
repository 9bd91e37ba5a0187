"""The bar below a picture is as long as it says, and its length follows from the width alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.pixels.scale_bar import LENGTHS_MM, ScaleBar, add_scale_bar, scale_bar_of


@pytest.mark.parametrize(
    ("width", "mm_per_pixel", "length"),
    [(512, 0.7, 50), (100, 1, 20), (200, 0.3, 20), (200, 0.15, 10), (200, 0.1, None), (60, 1, 20)],
)
def test_the_length_is_the_longest_that_fits(width, mm_per_pixel, length):
    bar = scale_bar_of(width, mm_per_pixel)
    assert (bar and bar.length_mm) == length


@given(width=st.integers(20, 4000), mm_per_pixel=st.floats(0.05, 3))
def test_a_bar_is_true_within_a_fortieth_and_fits(width, mm_per_pixel):
    bar = scale_bar_of(width, mm_per_pixel)
    if bar is not None:
        assert bar.length_mm in LENGTHS_MM
        assert bar.pixels <= 0.4 * width
        assert abs(bar.pixels * mm_per_pixel / bar.length_mm - 1) <= 1 / 40


@pytest.mark.parametrize("shape", [(80, 100), (300, 700, 3), (1024, 1024)])
def test_the_strip_covers_nothing_and_holds_a_bar_of_its_length(shape):
    picture = np.full(shape, 90, np.uint8)
    bar = ScaleBar(length_mm=20, pixels=37)
    canvas = add_scale_bar(picture, bar)
    assert canvas.shape[1:] == picture.shape[1:]
    assert (canvas[: shape[0]] == picture).all()
    strip = canvas[shape[0] :].reshape(-1, shape[1], *shape[2:])
    white = (strip if strip.ndim == 2 else strip[..., 0]) == 255
    longest = max(np.flatnonzero(row).size for row in white)
    columns = np.flatnonzero(white.any(axis=0))
    assert longest == columns[-1] + 1 - columns[0] == bar.pixels
    assert set(np.unique(strip)) == {0, 255}

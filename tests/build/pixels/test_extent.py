from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.build.pixels.extent import body_extent, slice_at_height
from medrcube.build.pixels.volume import Volume


def head(count, first, last, *, noise=20, dtype=np.int16):
    """An ellipsoid over air that is not quite black."""
    rng = np.random.default_rng(first + 100 * last)
    k, row, column = np.indices((count, 24, 20))
    middle, half = (first + last) / 2, (last - first + 1) / 2 + 0.3
    inside = ((k - middle) / half) ** 2 + ((row - 12) / 10) ** 2 + ((column - 10) / 8) ** 2 < 1
    volume = rng.integers(0, noise, k.shape) + inside * (300 + 2 * k)
    return Volume(slices=volume.astype(dtype), solid=True)


@pytest.mark.thorough
@settings(max_examples=40)
@given(
    first=st.integers(0, 20),
    size=st.integers(8, 30),
    above=st.integers(0, 25),
    dtype=st.sampled_from([np.int16, np.uint16, np.float32, np.float64]),
)
def test_the_extent_of_a_head_does_not_depend_on_the_air_around_it(first, size, above, dtype):
    extent = body_extent(head(first + size + above, first, first + size - 1, dtype=dtype))
    assert abs(extent[0] - first) <= 1
    assert abs(extent[1] - (first + size - 1)) <= 1


@pytest.mark.parametrize("height", [Fraction(1, 2), Fraction(58, 100)])
def test_a_height_is_a_share_of_the_head_and_not_of_the_stack(height):
    alone = slice_at_height(head(30, 0, 29), height)
    assert alone == int(30 * height)
    assert slice_at_height(head(60, 25, 54), height) == 25 + alone


def test_a_stack_of_one_grey_value_is_all_body():
    assert body_extent(Volume(slices=np.full((7, 4, 4), 5), solid=True)) == (0, 6)


@pytest.mark.parametrize("shine", [400, 1e6])
def test_a_few_bright_voxels_are_no_body(shine):
    volume = head(40, 10, 29, dtype=np.float64)
    volume.slices[3, 4, 4] = shine
    volume.slices[36, 8:10, 8] = shine
    first, last = body_extent(volume)
    assert first >= 9
    assert last <= 30


def test_both_ends_of_the_body_are_reached():
    volume = head(30, 0, 29)
    assert slice_at_height(volume, Fraction(0)) == 0
    assert slice_at_height(volume, Fraction(1)) == 29


def test_values_near_the_end_of_all_numbers_have_an_extent():
    slices = np.full((6, 8, 8), -1.7e308)
    slices[2:4] = 1.7e308
    assert body_extent(Volume(slices=slices)) == (2, 3)


@given(seed=st.integers(0, 99), first=st.integers(1, 5), size=st.integers(1, 5))
def test_the_body_is_the_brighter_of_the_two_classes_that_differ_most(seed, first, size):
    """Two clusters of grey values, wherever they lie: the threshold falls between them."""
    rng = np.random.default_rng(seed)
    dark, bright = sorted(rng.choice(np.arange(-40, 41) * 25, 2, replace=False))
    slices = rng.integers(dark - 4, dark + 5, (12, 16, 9))
    slices[first : first + size, 3:9, 2:7] = rng.integers(bright - 4, bright + 5, (size, 6, 5))
    assert body_extent(Volume(slices=slices, solid=True)) == (first, first + size - 1)


@pytest.mark.parametrize(("pixels", "is_shown"), [(5, True), (4, False)])
def test_a_slice_shows_the_body_from_a_twentieth_of_the_largest_area_on(pixels, is_shown):
    slices = np.zeros((5, 20, 20), np.int16)
    slices[2, :10, :10] = 500
    slices[4].flat[:pixels] = 500
    assert body_extent(Volume(slices=slices)) == (2, 4 if is_shown else 2)


@given(share=st.fractions(0, 1), first=st.integers(0, 9), size=st.integers(1, 9))
def test_a_height_of_a_solid_block_counts_its_slices(share, first, size):
    slices = np.zeros((20, 4, 4), np.int16)
    slices[first : first + size] = 100
    expected = min(first + int(share * size), first + size - 1)
    assert slice_at_height(Volume(slices=slices), share) == expected


def levels(*greys):
    """A body of one slice for each grey value."""
    slices = np.array(greys, np.int16)[:, None, None].repeat(4, axis=1).repeat(4, axis=2)
    return Volume(slices=slices, solid=True)


def test_the_threshold_parts_two_neighbouring_grey_values():
    """As many values as the histogram has bins, each on a slice of its own."""
    greys = [*range(1024), 1024, 1024, 1024]
    binned = np.minimum(greys, 1023)

    def between(threshold):
        dark, bright = binned[binned < threshold], binned[binned >= threshold]
        return len(dark) * len(bright) * (dark.mean() - bright.mean()) ** 2

    threshold = max(range(1, 1024), key=between)
    assert body_extent(levels(*greys)) == (threshold, len(greys) - 1)


def test_a_stack_of_two_grey_values_has_the_extent_of_the_brighter():
    assert body_extent(levels(5, 6, 6, 5)) == (1, 2)


@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int8, np.uint8, np.int32])
def test_values_at_both_ends_of_their_type_have_an_extent(dtype):
    limits = np.iinfo(dtype)
    slices = np.full((6, 8, 8), limits.min, dtype)
    slices[2:4] = limits.max
    assert body_extent(Volume(slices=slices)) == (2, 3)


def test_rows_below_the_first_block_count():
    slices = np.zeros((3, 40, 4), np.int16)
    slices[1, 35:] = 100
    assert body_extent(Volume(slices=slices)) == (1, 1)

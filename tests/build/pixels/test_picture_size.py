"""Pictures of square pixels, and pictures side by side."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from medrcube.build.pixels.case_image import CaseImage, picture_size
from medrcube.build.pixels.geometry import resample_mask, square_size
from medrcube.build.pixels.panels import hstack_images
from medrcube.build.pixels.volume import Volume
from medrcube.build.readers.read_errors import MOST_PIXELS
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError
from medrcube.sources._framework.card_parts.pixels import PixelPolicy

POLICY = PixelPolicy(
    window="percentile:0-100",
    slice="middle",
    plane="axial",
    orient="affine",
    spacing="header",
    colour="keep",
)
SPACINGS = st.one_of(st.floats(0.1, 10), st.sampled_from([1.0, 1.009, 1.01, 1.011, 0.99, 1 / 1.01]))
GAP = 8


def volume(spacing, shape=(1, 4, 5), dtype=np.uint8):
    return Volume(slices=np.zeros(shape, dtype), spacing=spacing)


@given(height=st.integers(1, 600), width=st.integers(1, 600), rows=SPACINGS, columns=SPACINGS)
@example(height=100, width=200, rows=1.009, columns=1.0)
def test_a_picture_on_its_side_has_the_size_of_the_upright_one_on_its_side(
    height, width, rows, columns
):
    # A hundredth of the height is not one of the width: between the two, one way alone is square.
    assume(not 1.0099 < max(rows, columns) / min(rows, columns) < 1.0102)
    upright = square_size(height, width, rows, columns)
    assert square_size(width, height, columns, rows) == upright[::-1]


@given(rows=SPACINGS, columns=SPACINGS, factor=st.sampled_from([0.25, 2.0, 64.0]))
def test_the_unit_of_the_spacing_does_not_matter(rows, columns, factor):
    assert square_size(90, 70, rows, columns) == square_size(
        90, 70, factor * rows, factor * columns
    )


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        *((number, 1.0) for number in (0.0, -1.0, math.inf, math.nan)),
        *((1.0, number) for number in (0.0, -1.0, math.inf, math.nan)),
        *((number, number) for number in (0.0, -1.0, math.inf, math.nan)),
    ],
)
def test_a_spacing_that_is_no_length_gives_no_picture(rows, columns):
    with pytest.raises(ValueError, match="positive"):
        square_size(4, 5, rows, columns)
    with pytest.raises(ReadError) as excinfo:
        picture_size(volume((1.0, rows, columns)), POLICY, (4, 5))
    assert excinfo.value.code == "unreadable"


@pytest.mark.parametrize(("rows", "columns"), [(4.0, 1.0), (1.0, 4.0), (0.5, 2.0)])
def test_a_picture_may_have_as_many_pixels_as_a_reader_takes_and_no_more(rows, columns):
    assert MOST_PIXELS % 2 == 0
    most = MOST_PIXELS // 4
    size = picture_size(volume((9.0, rows, columns)), POLICY, (1, most))
    assert math.prod(size) <= MOST_PIXELS
    with pytest.raises(ReadError, match="one order of magnitude"):
        picture_size(volume((9.0, rows, columns)), POLICY, (1, most + 1))


def test_rows_and_columns_decide_and_the_distance_of_slices_does_not():
    assert picture_size(volume((9.0, 2.0, 1.0)), POLICY, (4, 5)) == (8, 5)
    assert picture_size(volume((9.0, 1.0, 3.0)), POLICY, (4, 5)) == (4, 15)


def test_pixels_stay_where_the_card_calls_them_square_or_the_file_says_nothing():
    square = replace(POLICY, spacing="square")
    assert picture_size(volume((1.0, 2.0, 1.0)), square, (4, 5)) == (4, 5)
    assert picture_size(volume((1.0, 0.0, 1.0)), square, (4, 5)) == (4, 5)
    assert picture_size(volume(None), POLICY, (4, 5, 3)) == (4, 5)


@given(
    rows=st.sampled_from([0.5, 1.0, 2.0, 3.0]),
    columns=st.sampled_from([0.5, 1.0, 2.0]),
    seed=st.integers(0, 50),
)
def test_marks_lie_on_the_grid_of_the_picture_and_only_where_their_slice_has_some(
    rows, columns, seed
):
    rng = np.random.default_rng(seed)
    shape = (3, 7, 9)
    arrays = rng.random((2, *shape)) < 0.3
    arrays[0, 1] = False
    arrays[:, 2] = False
    masks = {n: Mask.of(shape, enumerate(array)) for n, array in zip((4, 7), arrays, strict=True)}
    image = CaseImage(
        volume=Volume(slices=np.zeros((*shape, 3), np.uint8), spacing=(1.0, rows, columns)),
        greys=None,
        policy=POLICY,
        masks=masks,
        needs={4: (masks[4], masks[7]), 7: (masks[7],)},
        readings={7: (masks[4], masks[7])},
    )
    size = square_size(7, 9, rows, columns)
    for k in range(3):
        on = image.masks_on(k)
        visible = [n for n, array in zip((4, 7), arrays, strict=True) if array[k].any()]
        assert list(on) == visible
        assert len(on) == len(visible)
        assert image.picture(k).shape == (*size, 3)
        for n, array in zip((4, 7), arrays, strict=True):
            if n in visible:
                assert np.array_equal(on[n], resample_mask(array[k], size))
        readings = list(image.readings_on(7, k))
        expected = [resample_mask(array[k], size) for array in arrays if array[k].any()]
        assert len(readings) == len(expected)
        assert all(map(np.array_equal, readings, expected))
        assert not list(image.readings_on(4, k))
        assert image.untrue_on(k) == {4, 7} - ({4} if len(visible) == 2 else set()) - (
            {7} if 7 in visible else set()
        )
    bare = image.without_pixels()
    assert bare.volume.slices.size == 0
    assert np.array_equal(bare.masks_on(0)[7], image.masks_on(0)[7])


@given(
    sizes=st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=4),
    colours=st.lists(st.booleans(), min_size=4, max_size=4),
    seed=st.integers(0, 50),
)
def test_pictures_side_by_side_keep_every_pixel_with_black_between(sizes, colours, seed):
    rng = np.random.default_rng(seed)
    pictures = [
        rng.integers(1, 256, (*size, 3) if colour else size, np.uint8)
        for size, colour in zip(sizes, colours, strict=False)
    ]
    joined = hstack_images(pictures)
    assert joined.shape[0] == max(height for height, _ in sizes)
    assert joined.shape[1] == sum(width for _, width in sizes) + GAP * (len(sizes) - 1)
    assert joined.ndim == max(picture.ndim for picture in pictures)
    left, lit = 0, 0
    for picture in pictures:
        height, width = picture.shape[:2]
        panel = joined[:height, left : left + width]
        expected = picture if picture.ndim == joined.ndim else np.stack([picture] * 3, axis=-1)
        assert np.array_equal(panel, expected)
        left, lit = left + width + GAP, lit + expected.size
    assert np.count_nonzero(joined) == lit


def test_one_picture_alone_stays_as_it_is():
    picture = np.ones((3, 4), np.uint8)
    assert hstack_images([picture]) is picture

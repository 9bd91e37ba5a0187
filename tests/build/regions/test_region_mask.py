from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from medrcube.build.pixels.geometry import Orientation
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.regions.region_mask import Mask

SHAPES = st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(1, 21))
MARKED = SHAPES.flatmap(lambda shape: arrays.arrays(np.bool_, shape))
TURNS = [
    Orientation(axes, flips)
    for axes in permutations(range(3))
    for flips in product([False, True], repeat=3)
]


def packed(marked):
    return Mask.of(marked.shape, enumerate(marked))


@given(marked=MARKED)
def test_what_is_packed_comes_out_again(marked):
    mask = packed(marked)
    assert mask.shape == marked.shape
    assert np.array_equal(stack_slices(mask), marked)
    assert mask.any() == marked.any()
    assert mask.areas().tolist() == marked.sum(axis=(1, 2)).tolist()
    assert [mask.marks(k) for k in range(len(marked))] == marked.any(axis=(1, 2)).tolist()


@given(marked=MARKED, turn=st.sampled_from(TURNS))
def test_a_mask_turns_as_an_image_does(marked, turn):
    turned = packed(marked).turned(turn.axes, turn.flips)
    assert np.array_equal(stack_slices(turned), turn.apply(marked))


@given(marked=MARKED, far=st.integers(1, 30))
def test_pixels_are_looked_up_by_index_and_none_outside_is_marked(marked, far):
    index = np.indices([size + 2 * far for size in marked.shape]) - far
    around = np.pad(marked, far)
    assert np.array_equal(packed(marked).at(*index), around)


def test_marks_of_one_slice_are_joined_in_any_order():
    first, second = np.eye(9, dtype=np.bool_), np.eye(9, dtype=np.bool_)[::-1]
    mask = Mask.of((3, 9, 9), [(2, first), (0, second), (2, second)])
    assert np.array_equal(mask[2], first | second)
    assert np.array_equal(mask[0], second)
    assert not mask[1].any()


@pytest.mark.parametrize("k", [-1, 3])
def test_there_is_no_slice_beyond_the_ends(k):
    with pytest.raises(IndexError):
        packed(np.ones((3, 2, 2), np.bool_))[k]


def test_a_region_takes_a_bit_for_each_pixel_of_its_box():
    marked = np.zeros((40, 512, 512), np.bool_)
    marked[10:20, 100:200, 160:240] = True
    assert packed(marked).bits.nbytes == 10 * 100 * 80 // 8
    assert packed(marked).bits.base is None

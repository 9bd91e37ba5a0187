"""Two grids in space: whether they are one, how one turns into the other, and marks carried over.

What is expected is worked out place by place, without a matrix of the code under test.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.pixels.geometry import (
    Orientation,
    axis_mapping,
    corner_distance_mm,
    index_map,
    nearest_index,
    reorient,
    resample_mask,
    resample_mask_to,
    same_grid,
    same_positions,
    tilt_of,
    turned_affine,
)
from medrcube.build.pixels.volume import Volume, stack_slices
from medrcube.build.regions.region_mask import Mask

SHAPE = (3, 4, 5)
PLACES = list(itertools.product(*map(range, SHAPE)))
ORIENTATIONS = [
    Orientation(axes, flips)
    for axes in itertools.permutations(range(3))
    for flips in itertools.product((False, True), repeat=3)
]


def turned(angles):
    turn = np.eye(4)
    for axis, angle in enumerate(angles):
        step = np.eye(4)
        first, second = (axis + 1) % 3, (axis + 2) % 3
        step[first, first] = step[second, second] = math.cos(angle)
        step[first, second], step[second, first] = -math.sin(angle), math.sin(angle)
        turn = step @ turn
    return turn


@st.composite
def affines(draw, most=0.7):
    """Boxes of unequal sides, turned and moved."""
    sides = draw(st.tuples(*[st.floats(0.4, 6)] * 3))
    affine = turned(draw(st.tuples(*[st.floats(-most, most)] * 3))) @ np.diag([*sides, 1.0])
    affine[:3, 3] = draw(st.tuples(*[st.floats(-300, 300)] * 3))
    return affine


def marks(seed, shape=SHAPE):
    return np.random.default_rng(seed).random(shape) < 0.4


def mask_of(array):
    return Mask.of(array.shape, enumerate(array))


def grid(affine, shape=SHAPE):
    return Volume(slices=np.zeros(shape, np.uint8), affine=affine)


@given(affine=affines(), axis=st.integers(0, 2), share=st.floats(-0.9, 0.9))
def test_grids_are_one_up_to_half_a_voxel_along_any_axis(affine, axis, share):
    moved = affine.copy()
    moved[:, 3] += share * affine[:, axis]
    if abs(abs(share) - 0.5) < 1e-6:
        return
    assert same_positions(affine, moved, SHAPE) is (abs(share) < 0.5)
    assert same_grid(grid(affine), grid(moved)) is (abs(share) < 0.5)


@pytest.mark.parametrize("axis", range(3))
def test_a_grid_of_other_steps_is_another_once_its_last_voxel_lies_half_a_voxel_off(axis):
    for stretch in (0.49, 0.51):
        other = np.eye(4)
        other[axis, axis] += stretch / (SHAPE[axis] - 1)
        assert same_positions(other, np.eye(4), SHAPE) is (stretch < 0.5)


def test_half_a_voxel_is_another_place():
    moved = np.eye(4)
    moved[1, 3] = 0.5
    assert not same_positions(np.eye(4), moved, SHAPE)


@pytest.mark.parametrize("axis", range(3))
def test_grids_of_other_shapes_are_never_one(axis):
    shape = list(SHAPE)
    shape[axis] += 1
    for affine in (np.eye(4), None):
        assert not same_grid(grid(affine), grid(affine, shape))


def test_where_one_of_two_grids_says_no_place_equal_shapes_are_enough():
    far = np.eye(4)
    far[0, 3] = 1000
    assert same_grid(grid(far), grid(None))
    assert same_grid(grid(None), grid(far))
    assert not same_grid(grid(np.eye(4)), grid(far))


def test_colour_is_no_part_of_a_grid():
    grey, coloured = grid(np.eye(4)), grid(np.eye(4), (*SHAPE, 3))
    assert same_grid(grey, coloured)
    assert same_grid(coloured, grey)
    assert same_grid(coloured, coloured)
    assert same_positions(np.eye(4), np.eye(4), (*SHAPE, 3))
    carried = resample_mask_to(mask_of(marks(1)), np.eye(4), grid(np.eye(4), (*SHAPE, 3)))
    assert np.array_equal(stack_slices(carried), marks(1))


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_turn_keeps_every_value_at_its_place_and_is_found_again(orientation):
    values = np.arange(math.prod(SHAPE)).reshape(SHAPE)
    affine = turned((0.2, -0.3, 0.1)) @ np.diag([2.0, 3.0, 5.0, 1.0])
    affine[:3, 3] = (7, -11, 13)
    there = turned_affine(affine, orientation, SHAPE)
    turned_values = orientation.apply(values)
    place_of = {int(values[at]): affine @ (*at, 1) for at in PLACES}
    for at in itertools.product(*map(range, turned_values.shape)):
        assert np.allclose(there @ (*at, 1), place_of[int(turned_values[at])])
    assert axis_mapping(affine, there) == orientation
    back = axis_mapping(there, affine)
    assert np.array_equal(back.apply(turned_values), values)
    assert np.allclose(turned_affine(there, back, turned_values.shape), affine)


def test_an_axis_that_lies_between_those_of_another_grid_has_no_part_there():
    skewed = np.eye(4)
    skewed[:3, :3] = [[1, 0.2, 0], [0.9, 0.3, 0], [0, 0, 1]]
    assert axis_mapping(skewed, np.eye(4)) is None


@given(affine=affines(), shift=st.tuples(*[st.floats(-40, 40)] * 3))
def test_corners_of_a_moved_grid_lie_off_by_the_shift(affine, shift):
    moved = affine.copy()
    moved[:3, 3] += shift
    assert corner_distance_mm(affine, moved, SHAPE) == pytest.approx(math.hypot(*shift), abs=1e-6)
    assert corner_distance_mm(affine, affine, SHAPE) == 0


@given(first=affines(), second=affines())
def test_the_corner_that_lies_furthest_off_counts(first, second):
    corners = itertools.product(*[(0, size - 1) for size in SHAPE])
    apart = [math.dist((first @ (*at, 1))[:3], (second @ (*at, 1))[:3]) for at in corners]
    assert corner_distance_mm(first, second, SHAPE) == pytest.approx(max(apart))
    assert corner_distance_mm(first, second, (*SHAPE, 3)) == pytest.approx(max(apart))


@given(first=affines(), second=affines(), at=st.tuples(*[st.integers(-9, 9)] * 3))
def test_an_index_and_that_of_the_same_place_name_one_place(first, second, at):
    there = index_map(first, second) @ (*at, 1)
    assert np.allclose(second @ there, first @ (*at, 1), atol=1e-6)


@pytest.mark.parametrize(
    ("coordinate", "index"),
    [
        (0, 0),
        (0.499, 0),
        (0.5, 1),
        (0.4999999, 1),
        (0.499999, 0),
        (1.5, 2),
        (-0.5, 0),
        (-0.50000001, 0),
        (-0.51, -1),
        (-1.5, -1),
    ],
)
def test_the_border_between_two_voxels_belongs_to_the_upper_one(coordinate, index):
    assert nearest_index(coordinate) == index


@given(mask_affine=affines(), seed=st.integers(0, 99), data=st.data())
def test_a_mask_on_another_grid_marks_the_voxels_whose_middles_it_holds(mask_affine, seed, data):
    # Moved by less than the grid is long, so that some marks are met.
    inner = turned(data.draw(st.tuples(*[st.floats(-0.5, 0.5)] * 3)))
    inner = inner @ np.diag([*data.draw(st.tuples(*[st.floats(0.5, 2)] * 3)), 1.0])
    inner[:3, 3] = data.draw(st.tuples(*[st.floats(-2, 2)] * 3))
    array, shape = marks(seed), (4, 3, 6)
    carried = resample_mask_to(mask_of(array), mask_affine, grid(mask_affine @ inner, shape))
    assert carried.shape == shape
    stack = stack_slices(carried)
    for at in itertools.product(*map(range, shape)):
        place = (inner @ (*at, 1))[:3]
        if np.abs(place - np.floor(place) - 0.5).min() < 1e-5:
            continue  # on the border between two voxels
        near = tuple(int(x) for x in np.rint(place))
        inside = all(0 <= x < size for x, size in zip(near, SHAPE, strict=True))
        assert stack[at] == (inside and array[near])


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_a_mask_carried_to_a_turn_of_its_grid_is_the_mask_turned(orientation):
    array, affine = marks(3), np.diag([2.0, 3.0, 5.0, 1.0])
    shape = tuple(SHAPE[axis] for axis in orientation.axes)
    there = grid(turned_affine(affine, orientation, SHAPE), shape)
    carried = resample_mask_to(mask_of(array), affine, there)
    assert np.array_equal(stack_slices(carried), orientation.apply(array))


def test_a_mask_has_no_place_on_a_grid_without_one():
    with pytest.raises(ValueError, match="no affine"):
        resample_mask_to(mask_of(marks(1)), np.eye(4), grid(None))
    with pytest.raises(ValueError, match="no affine"):
        tilt_of(grid(None))


@given(angle=st.floats(-44, 44), axis=st.integers(1, 2), sides=st.tuples(*[st.floats(0.5, 4)] * 3))
def test_tilt_is_the_angle_by_which_slices_are_turned_out_of_their_plane(angle, axis, sides):
    turn = [0.0, 0.0, 0.0]
    turn[axis] = math.radians(angle)
    affine = turned(turn) @ np.diag([*sides, 1.0])
    assert tilt_of(grid(affine)) == pytest.approx(abs(angle), abs=1e-4)


def test_slices_whose_stack_is_sheared_are_not_tilted_themselves():
    affine = np.eye(4)
    affine[1, 0] = 0.8
    assert tilt_of(grid(affine)) == pytest.approx(0, abs=1e-6)


@given(
    old=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    new=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    seed=st.integers(0, 99),
)
def test_a_resized_mask_takes_the_pixel_that_holds_the_middle_of_each_new_one(old, new, seed):
    mask = np.random.default_rng(seed).random(old) < 0.5
    resized = resample_mask(mask, new)
    assert resized.shape == new
    for at in itertools.product(*map(range, new)):
        source_index = tuple(
            math.floor((x + 0.5) * before / after)
            for x, before, after in zip(at, old, new, strict=True)
        )
        assert resized[at] == mask[source_index]


def test_a_mask_of_the_size_wanted_is_not_copied():
    mask = np.eye(4, dtype=bool)
    assert resample_mask(mask, (4, 4)) is mask


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("lazy", [False, True])
def test_names_of_slices_follow_the_slices(flip, lazy):
    affine = np.zeros((4, 4))
    affine[[2, 1, 0, 3], [0, 1, 2, 3]] = (-1 if flip else 1, -1, -1, 1)
    values = np.arange(60).reshape(SHAPE)
    ids = {"a": 0, "b": 1, "c": 2, "copy of a": 0}
    stack = Stack(values) if lazy else values
    volume = Volume(slices=stack, affine=affine, spacing=(1.0, 2.0, 3.0), slice_ids=ids)
    view = reorient(volume, "axial")
    for name, k in ids.items():
        assert view.slices[view.slice_ids[name]][0, 0] == values[k, 0, 0]
    assert not reorient(volume, "coronal").slice_ids


class Stack:
    """Slices that no numpy array holds."""

    def __init__(self, values):
        self._values = values
        self.shape = values.shape
        self.dtype = values.dtype

    def __getitem__(self, k):
        return self._values[k]

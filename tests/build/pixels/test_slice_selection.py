from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from medrcube.build.pixels.slice_selection import choose_slices
from medrcube.build.pixels.volume import Volume
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError


def _mask(*areas):
    mask = np.zeros((len(areas), 4, 4), np.bool_)
    for index, area in enumerate(areas):
        mask[index].flat[:area] = True
    return Mask.of(mask.shape, enumerate(mask))


def _film(count):
    return Volume(slices=np.zeros((count, 4, 4), np.uint8))


def _indexes(policy, count, *masks):
    return [choice.index for choice in choose_slices(policy, _film(count), masks)]


def test_a_single_slice_is_always_the_one():
    assert _indexes("largest-mask", 1) == [0]


def test_the_largest_marked_area_wins_over_all_regions_together():
    assert _indexes("largest-mask", 3, _mask(5, 4, 0), _mask(0, 4, 0)) == [1]


def test_a_tie_goes_to_the_slice_nearest_the_middle_then_to_the_lower():
    assert _indexes("largest-mask", 5, _mask(3, 0, 0, 3, 0)) == [3]
    assert _indexes("largest-mask", 4, _mask(0, 3, 3, 0)) == [1]


def test_middle_of_mask_takes_only_slices_that_show_every_region():
    assert _indexes("middle-of-mask", 6, _mask(1, 1, 1, 1, 1, 0), _mask(0, 0, 1, 1, 1, 1)) == [3]


@pytest.mark.parametrize(("count", "middle"), [(2, 1), (5, 2), (10, 5)])
def test_middle_counts_from_the_number_of_slices(count, middle):
    assert _indexes("middle", count) == [middle]


def test_middle_of_a_body_is_that_of_the_slices_that_show_it():
    slices = np.zeros((10, 8, 8), np.int16)
    slices[5:9, 2:6, 2:6] = 300
    body = Volume(slices=slices, solid=True)
    (choice,) = choose_slices("middle", body, [])
    assert (choice.index, choice.reason) == (7, "middle of slices 5 to 8, of 10")


def test_stride_is_centred_and_all_is_all():
    assert _indexes("stride:3", 8) == [0, 3, 6]
    assert _indexes("stride:4", 10) == [0, 4, 8]
    assert _indexes("all", 3) == [0, 1, 2]


@pytest.mark.parametrize(
    ("policy", "masks"),
    [
        ("largest-mask", [_mask(0, 0, 0)]),
        ("largest-mask", []),
        ("middle-of-mask", []),
        ("middle-of-mask", [_mask(1, 0, 0), _mask(0, 0, 1)]),
        ("key-frame", []),
    ],
)
def test_a_policy_that_finds_no_slice_is_an_error_with_a_code(policy, masks):
    with pytest.raises(ReadError) as excinfo:
        choose_slices(policy, _film(3), masks)
    assert excinfo.value.code == "no-slice"


@pytest.mark.parametrize("policy", ["largest-mask", "middle-of-mask"])
def test_a_policy_of_masks_without_a_region_is_told_what_to_do(policy):
    with pytest.raises(ReadError, match=rf'slice = "{policy}" needs a marked region.*unguided'):
        choose_slices(policy, _film(3), [])


def test_the_reason_of_a_choice_is_kept():
    assert choose_slices("largest-mask", _film(2), [_mask(0, 7)])[0].reason == (
        "largest marked area, 7 pixels"
    )


@given(areas=st.lists(st.integers(0, 2), min_size=2, max_size=14).filter(any))
@example(areas=[0, 0, 0, 1, 0, 0, 0, 1, 0])
def test_of_the_slices_with_most_marks_the_one_nearest_the_middle_is_chosen(areas):
    best = [k for k, area in enumerate(areas) if area == max(areas)]
    (index,) = _indexes("largest-mask", len(areas), _mask(*areas))
    middle = Fraction(len(areas) - 1, 2)
    assert index == min(best, key=lambda k: (abs(k - middle), k))


@given(
    areas_by_slice=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=14
    ),
)
def test_the_middle_of_the_slices_that_show_every_region_has_as_many_before_it_as_behind(
    areas_by_slice,
):
    both = [k for k, areas in enumerate(areas_by_slice) if all(areas)]
    if not both:
        return
    masks = [_mask(*areas) for areas in zip(*areas_by_slice, strict=True)]
    (choice,) = choose_slices("middle-of-mask", _film(len(areas_by_slice)), masks)
    before, behind = (sum(k * sign < choice.index * sign for k in both) for sign in (1, -1))
    assert choice.index in both
    assert before - behind in (0, 1)
    assert choice.reason == f"middle of the {len(both)} slices that show every marked region"


@given(count=st.integers(2, 60), step=st.integers(1, 20))
def test_a_stride_leaves_as_much_at_one_end_as_at_the_other(count, step):
    indexes = _indexes(f"stride:{step}", count)
    assert {b - a for a, b in pairwise(indexes)} <= {step}
    first, last = indexes[0], count - 1 - indexes[-1]
    assert last - first in (0, 1)
    assert first < step > last


def test_the_middle_of_pictures_of_colour_counts_slices():
    film = Volume(slices=np.zeros((6, 4, 4, 3), np.uint8), solid=True)
    (choice,) = choose_slices("middle", film, [])
    assert (choice.index, choice.reason) == (3, "middle of 6")


@pytest.mark.parametrize("policy", ["all", "stride:2", "middle", "largest-mask", "key-frame"])
def test_a_file_of_one_slice_needs_no_policy(policy):
    (choice,) = choose_slices(policy, _film(1), [])
    assert (choice.index, choice.reason, choice.instead) == (0, "the only one", None)


def test_the_reasons_of_several_slices_are_told():
    assert {choice.reason for choice in choose_slices("all", _film(3), [])} == {"all slices"}
    strides = choose_slices("stride:2", _film(4), [])
    assert {choice.reason for choice in strides} == {"every 2th slice"}


def test_the_middle_of_an_even_number_of_slices_that_show_a_body_is_the_upper_one():
    slices = np.zeros((10, 8, 8), np.int16)
    slices[2:8, 2:6, 2:6] = 300
    (choice,) = choose_slices("middle", Volume(slices=slices, solid=True), [])
    assert (choice.index, choice.reason) == (5, "middle of slices 2 to 7, of 10")

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.regions.agreement import LEAST, check_agreement, dice, millimetres_between
from medrcube.build.regions.region_mask import Mask
from medrcube.errors import ReadError
from medrcube.facts import Rectangle

SHAPE = (6, 40, 50)
AFFINE = np.array([[0, 0, -0.5, 9], [0, -2.0, 0, 7], [3.0, 0, 0, -40], [0, 0, 0, 1]])
BOX = Rectangle(xyxy=(0, 0, 1, 1))


def block(k, row, column, size=(2, 6, 8)):
    array = np.zeros(SHAPE, np.bool_)
    array[k : k + size[0], row : row + size[1], column : column + size[2]] = True
    return array


def mask(array):
    return Mask.of(SHAPE, enumerate(array))


def check(first, second, affine=AFFINE):
    check_agreement("GTV-1", ((BOX, mask(first)), (BOX, mask(second))), affine)


@given(
    first=st.tuples(st.integers(0, 4), st.integers(0, 34), st.integers(0, 42)),
    second=st.tuples(st.integers(0, 4), st.integers(0, 34), st.integers(0, 42)),
)
def test_overlap_and_distance_are_those_of_whole_arrays(first, second):
    result, other = block(*first), block(*second)
    expected = 2 * (result & other).sum() / (result.sum() + other.sum())
    assert dice(mask(result), mask(other)) == pytest.approx(expected)
    apart = np.linalg.norm(AFFINE[:3, :3] @ np.subtract(first, second))
    assert millimetres_between(mask(result), mask(other), AFFINE) == pytest.approx(apart)


def test_drawings_that_differ_by_their_edges_agree():
    check(block(1, 10, 10), block(1, 10, 11))
    check(block(1, 10, 10), block(1, 10, 10))


def test_drawings_that_contradict_each_other_are_refused_with_the_measure():
    with pytest.raises(
        ReadError, match=rf"Dice .* 0.00 and .* 20.0 mm .* at least {LEAST}"
    ) as excinfo:
        check(block(1, 10, 10), block(1, 20, 10))
    assert excinfo.value.code == "contradicting-marks"


def test_an_empty_drawing_contradicts_one_that_marks_something():
    with pytest.raises(ReadError, match=r"Dice coefficient is 0.00; expected"):
        check(block(1, 10, 10), np.zeros(SHAPE, np.bool_))


def test_a_volume_without_a_place_is_judged_by_overlap_alone():
    with pytest.raises(ReadError, match=r"Dice coefficient is 0.00; expected"):
        check(block(1, 10, 10), block(1, 20, 10), affine=None)

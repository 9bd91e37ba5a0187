"""Left of, right of, or too close to say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.regions.side_by_side import Columns, is_left_of

WIDTH = 200


def columns_at(centroid, first, end):
    return Columns(centroid=centroid, first=first, end=end)


@pytest.mark.parametrize(
    ("region", "other", "left"),
    [
        ((20, 10, 30), (80, 70, 90), True),
        ((80, 70, 90), (20, 10, 30), False),
        ((20, 10, 30), (35, 32, 38), None),  # 7.5 % of the width
        ((20, 10, 30), (36, 32, 40), True),  # 8 %
        ((50, 0, 100), (80, 75, 95), None),  # the narrower lies within the columns of the wider
        ((50, 0, 100), (110, 95, 115), True),  # a quarter of it does
        ((50, 0, 100), (109, 94, 114), None),
    ],
)
def test_regions_are_told_apart_by_centroids_and_columns(region, other, left):
    assert is_left_of(columns_at(*region), columns_at(*other), WIDTH) is left


columns = st.tuples(st.integers(0, 199), st.integers(1, 60)).map(
    lambda at: columns_at(at[0] + at[1] / 2, at[0], at[0] + at[1])
)


def mirrored(region):
    return columns_at(WIDTH - region.centroid, WIDTH - region.end, WIDTH - region.first)


@given(columns, columns)
def test_the_answer_turns_with_the_order_and_with_the_mirror(region, other):
    left = is_left_of(region, other, WIDTH)
    opposite = None if left is None else not left
    assert is_left_of(other, region, WIDTH) is opposite
    assert is_left_of(mirrored(region), mirrored(other), WIDTH) is opposite

"""The midline of a body: the middle between its sides, where the picture shows both."""

import numpy as np
import pytest

from medrcube.build.pixels.body_midline import body_midline


def body(left, right, *, width=100, height=80):
    picture = np.full((height, width), 5, np.uint8)
    picture[10:70, left:right] = 150
    return picture


def test_the_midline_lies_halfway_between_the_sides_of_the_body():
    assert body_midline(body(20, 70)) == 45


def test_a_thin_couch_that_is_wider_than_the_body_moves_nothing():
    picture = body(20, 70)
    picture[75, 2:98] = 200
    assert body_midline(picture) == 45


@pytest.mark.parametrize(("left", "right"), [(0, 60), (40, 100), (0, 100)])
def test_a_body_that_reaches_the_border_has_none(left, right):
    assert body_midline(body(left, right)) is None


def test_a_narrow_part_has_none():
    assert body_midline(body(40, 60)) is None

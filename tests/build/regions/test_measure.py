"""Measurements of masks against brute force, against scipy, and against figures known exactly."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import ndimage

from medrcube.build.regions.measure import count_pieces, longest_diameter, measure

MASKS = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=12)).filter(np.any)
EDGES = ((0.5, 0), (0.5, 1), (0, 0.5), (1, 0.5))


def disc(side, radius, x, y):
    rows, columns = np.mgrid[:side, :side] + 0.5
    return (columns - x) ** 2 + (rows - y) ** 2 <= radius**2


def edge_points(mask):
    """Middle of each edge of each marked pixel."""
    return [(x + dx, y + dy) for y, x in zip(*np.nonzero(mask), strict=True) for dx, dy in EDGES]


@given(mask=MASKS)
def test_the_longest_diameter_is_that_of_all_pairs_of_edge_points(mask):
    points = edge_points(mask)
    most = max(math.dist(a, b) for a, b in combinations(points, 2))
    measured = measure(mask)
    assert measured.diameter == pytest.approx(most, abs=1e-4)
    assert longest_diameter(mask) == measured.diameter
    x0, y0, x1, y1 = measured.longest
    assert {(x0, y0), (x1, y1)} <= set(points)


@given(mask=MASKS)
def test_the_extent_across_holds_every_point(mask):
    measured = measure(mask)
    x0, y0, x1, y1 = measured.longest
    turn = math.atan2(y1 - y0, x1 - x0)
    off = [y * math.cos(turn) - x * math.sin(turn) for x, y in edge_points(mask)]
    assert measured.across == pytest.approx(max(off) - min(off), abs=1e-4)
    assert measured.across <= measured.diameter + 1e-4


@given(mask=MASKS)
def test_parts_are_those_that_share_no_edge_and_no_corner(mask):
    labels, count = ndimage.label(mask, np.ones((3, 3)))
    assert sorted(count_pieces(mask)) == sorted(np.bincount(labels.ravel())[1:])
    assert (measure(mask).pieces, measure(mask).pixels) == (count, mask.sum())


@given(mask=MASKS)
def test_the_point_inside_is_marked_and_the_centroid_is_the_mean(mask):
    measured = measure(mask)
    column, row = measured.inside
    assert mask[row, column]
    rows, columns = np.nonzero(mask)
    assert measured.centroid == pytest.approx((columns.mean() + 0.5, rows.mean() + 0.5), abs=1e-4)


@given(mask=MASKS, left=st.integers(0, 5), top=st.integers(0, 5))
def test_a_region_elsewhere_measures_the_same(mask, left, top):
    here = measure(np.pad(mask, 1))
    there = measure(np.pad(mask, ((1 + top, 1), (1 + left, 1))))
    assert (there.diameter, there.across, there.hull) == (here.diameter, here.across, here.hull)
    assert there.ellipse == here.ellipse
    assert there.inside == (here.inside[0] + left, here.inside[1] + top)
    assert there.box[:2] == (here.box[0] + left, here.box[1] + top)


def test_a_row_of_pixels_is_as_long_as_it_has_pixels():
    mask = np.zeros((5, 20), np.bool_)
    mask[2, 3:13] = True
    measured = measure(mask)
    assert (measured.diameter, measured.across) == (10, 1)
    assert measured.longest in {(3, 2.5, 13, 2.5), (13, 2.5, 3, 2.5)}
    assert (measured.box, measured.inside) == ((3, 2, 13, 3), (8, 2))


@pytest.mark.parametrize("radius", [10, 40.5, 90])
def test_a_disc_has_its_diameter_and_circumference(radius):
    measured = measure(disc(200, radius, 100.2, 99.7))
    assert measured.diameter == pytest.approx(2 * radius, abs=1)
    assert measured.ellipse.circumference == pytest.approx(2 * math.pi * radius, rel=0.005)
    assert measured.hull == pytest.approx(2 * math.pi * radius, abs=3)


def test_an_ellipse_has_its_axes_and_turn():
    rows, columns = np.mgrid[:200, :200] - 99.5
    turn = math.radians(30)
    along = columns * math.cos(turn) + rows * math.sin(turn)
    across = rows * math.cos(turn) - columns * math.sin(turn)
    measured = measure((along / 80) ** 2 + (across / 40) ** 2 <= 1)
    assert (measured.ellipse.major, measured.ellipse.minor) == pytest.approx((160, 80), rel=0.002)
    assert measured.ellipse.degrees == pytest.approx(30, abs=0.2)
    assert (measured.diameter, measured.across) == pytest.approx((160, 80), abs=1.5)


def test_the_point_inside_a_ring_lies_in_the_middle_of_its_wall():
    ring = disc(100, 40, 50, 50) & ~disc(100, 20, 50, 50)
    column, row = measure(ring).inside
    assert math.dist((column + 0.5, row + 0.5), (50, 50)) == pytest.approx(30, abs=2)


@pytest.mark.parametrize("edge", [np.s_[0, 3], np.s_[4, 3], np.s_[2, 0], np.s_[2, 6]])
def test_a_region_at_the_border_of_the_picture_is_cut(edge):
    mask = np.zeros((5, 7), np.bool_)
    mask[2, 3] = True
    assert not measure(mask).cut
    mask[edge] = True
    assert measure(mask).cut

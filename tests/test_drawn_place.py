"""The drawn truth of a point or a box is what scoring holds answers against."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from medrcube.build.regions.run_lengths import encode_runs
from medrcube.forms.box import BoxAsk, BoxTarget
from medrcube.forms.drawn_place import drawn_place
from medrcube.forms.number import NumberAsk, NumberTarget
from medrcube.forms.point import PointAsk, PointTarget
from medrcube.forms.regions import EllipseRegion, MaskRegion, PolygonRegion

SQUARE = ((10.0, 10.0), (50.0, 10.0), (50.0, 50.0), (10.0, 50.0))
HOLE = ((20.0, 20.0), (30.0, 20.0), (30.0, 30.0), (20.0, 30.0))


def point(region, size=(100, 100), margin=1.0):
    return PointTarget(ask=PointAsk(), size=size, region=region, margin=margin)


def mask_of(pixels):
    height, width = pixels.shape
    return MaskRegion(size=(width, height), counts=encode_runs(pixels))


def disc(side, radius):
    down, across = np.ogrid[:side, :side]
    return (across - side / 2) ** 2 + (down - side / 2) ** 2 < radius**2


def loops(path):
    """Corners of the loops of a path of straight pieces."""
    numbers = [re.findall(r"-?[\d.]+", loop) for loop in path.split("Z") if loop]
    return [[(float(x), float(y)) for x, y in zip(n[::2], n[1::2], strict=True)] for n in numbers]


def inside(corners, shape):
    """Pixels whose middle lies inside by the even-odd rule."""
    place = PolygonRegion(polygons=tuple(map(tuple, corners)))
    return np.array(
        [[place.distance(x + 0.5, y + 0.5) == 0 for x in range(shape[1])] for y in range(shape[0])]
    )


@given(arrays(np.bool_, (6, 5)).filter(np.any))
def test_the_outline_of_a_mask_holds_its_pixels_and_no_others(pixels):
    place = drawn_place(point(mask_of(pixels), size=(5, 6)))
    assert (inside(loops(place.path), pixels.shape) == pixels).all()


@pytest.mark.parametrize("steps", [25, 60])
def test_a_shortened_outline_stays_within_one_step(steps):
    region = mask_of(disc(120, 40))
    corners = loops(drawn_place(point(region, (120, 120)), steps).path)[0]
    whole = loops(drawn_place(point(region, (120, 120))).path)[0]
    assert len(corners) < len(whole) / 2
    place = PolygonRegion(polygons=(tuple(corners),))
    assert max(place.distance(x, y) for x, y in whole) <= 120 / steps


@given(st.integers(1, 6), st.integers(1, 6))
def test_a_small_region_keeps_its_shape_on_a_small_drawing(width, height):
    pixels = np.zeros((400, 400), bool)
    pixels[100 : 100 + height, 50 : 50 + width] = True
    (loop,) = loops(drawn_place(point(mask_of(pixels), (400, 400)), 20).path)
    assert len(loop) == 4


def test_a_box_is_drawn_along_its_sides():
    target = BoxTarget(ask=BoxAsk(), size=(200, 100), box=(20.0, 10.0, 60.0, 50.0), iou=0.5)
    place = drawn_place(target)
    assert (place.size, place.path) == ((200, 100), "M20 10H60V50H20Z")
    assert place.words == "the true box, 10 to 30 % from the left and 10 to 50 % from the top"


def test_ellipses_are_drawn_as_arcs_and_counted_in_words():
    place = drawn_place(point(EllipseRegion(boxes=((0, 0, 20, 10), (50, 50, 60, 60))), margin=0))
    assert place.path.startswith("M0 5A10 5 0 0 1 20 5A10 5 0 0 1 0 5Z")
    assert place.words.startswith("where a point passes: 2 ellipses, 0 to 60 % from the left")


def test_holes_and_the_margin_of_a_region_are_told():
    place = drawn_place(point(PolygonRegion(polygons=(SQUARE, HOLE))))
    assert loops(place.path) == [list(SQUARE), list(HOLE)]
    assert place.words.endswith("50 % from the top, and 1 px around it")


def test_an_answer_that_is_no_place_is_not_drawn():
    assert drawn_place(NumberTarget(ask=NumberAsk(unit="mm"), value=3, low=2, high=4)) is None

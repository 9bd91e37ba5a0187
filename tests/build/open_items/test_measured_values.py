"""Bands of numbers: what a reader of the image could find passes, what lies beyond fails."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.build.open_items.measured_values import (
    MeasuredValue,
    measured_region,
    measured_widths,
    number_target,
)
from medrcube.build.pixels.scale_bar import scale_bar_of
from medrcube.build.regions.measure import measure
from medrcube.build.stages.geometry_table import Geometry
from medrcube.forms import form_of
from medrcube.sources._framework.card_parts.measures import Tolerance

BLANK = {"str": "", "int": 0, "float": 0.0, "bool": False, "float | None": None}
TOLERANCES = st.one_of(
    st.floats(0.01, 0.5).map(lambda share: Tolerance(share=share)),
    st.floats(0.01, 20).map(lambda points: Tolerance(points=points)),
)
VALUES = st.builds(
    MeasuredValue,
    value=st.floats(0.5, 400),
    readings=st.lists(st.floats(0.5, 400), max_size=4).map(tuple),
    step=st.floats(0, 2),
)


def row(**columns):
    blank = {column.name: BLANK[str(column.type)] for column in fields(Geometry)}
    return Geometry(**{**blank, **columns})


def row_of(mask, mm_per_pixel, readings=""):
    measured = measure(mask)
    return row(
        longest=measured.diameter,
        circumference=measured.ellipse.circumference,
        mm_per_pixel=mm_per_pixel,
        readings=readings,
    )


@given(VALUES, TOLERANCES, st.sampled_from(["mm", "%"]))
def test_the_truth_and_every_reading_pass_and_what_lies_beyond_fails(measured, tolerance, unit):
    target = number_target(measured, tolerance, unit)
    form = form_of(target)
    assert form.read_target(*form.write_target(target)) == target
    for number in (target.value, measured.value, *measured.readings):
        assert form.score(number, target).passed
    assert not form.score(target.high * 1.001 + 0.01, target).passed
    assert not form.score(target.low * 0.999 - 0.01, target).passed


@given(VALUES, TOLERANCES)
def test_a_band_reaches_a_pixel_to_each_side_and_as_far_as_the_tolerance(measured, tolerance):
    target = number_target(measured, tolerance, "mm")
    readings = (measured.value, *measured.readings)
    assert target.high - measured.value >= measured.step - 1e-9
    assert measured.value - target.low >= min(measured.step, measured.value) - 1e-9
    if tolerance.share:
        assert target.high >= max(readings) * (1 + tolerance.share) - 1e-9
        assert target.low <= min(readings) / (1 + tolerance.share) + 1e-9
    else:
        assert target.high >= max(readings) + tolerance.points - 1e-9
        assert target.low <= max(min(readings) - tolerance.points, 0) + 1e-9


def test_a_ratio_is_a_number_without_a_unit_to_three_digits():
    target = number_target(MeasuredValue(value=0.46249), Tolerance(points=0.02), "ratio")
    assert (target.ask.unit, target.value) == ("", 0.462)
    assert (target.low, target.high) == (0.442, 0.483)


def blob(seed):
    """A connected mask of 24 pixels a side."""
    luck = np.random.default_rng(seed)
    mask = np.zeros((24, 24), bool)
    for _ in range(3):
        x, y = luck.integers(6, 14, 2)
        mask[y : y + luck.integers(3, 9), x : x + luck.integers(3, 9)] = True
    return mask


@given(st.integers(0, 200), st.sampled_from(["longest", "circumference"]))
def test_twice_the_pixels_give_the_same_millimetres(seed, origin):
    mask, side = blob(seed), 0.8
    twice = mask.repeat(2, axis=0).repeat(2, axis=1)
    coarse = measured_region(row_of(mask, side), origin, side)
    fine = measured_region(row_of(twice, side / 2), origin, side / 2)
    assert fine.value == pytest.approx(coarse.value, abs=side)
    for first, second in ((coarse, fine), (fine, coarse)):
        target = number_target(first, Tolerance(share=0.05), "mm")
        assert form_of(target).score(second.value, target).passed


@given(st.floats(0.3, 1.5), st.integers(200, 700))
def test_a_ruler_held_against_the_drawn_bar_passes(side, width):
    bar = scale_bar_of(width, side)
    mask = np.zeros((40, 40), bool)
    mask[10:30, 12:27] = True
    ruler = bar.length_mm / bar.pixels
    geometry = row_of(mask, side)
    target = number_target(
        measured_region(geometry, "longest", ruler), Tolerance(share=0.001), "mm"
    )
    assert form_of(target).score(geometry.longest * ruler, target).passed


def test_each_reader_of_a_region_passes():
    mask = np.zeros((40, 40), bool)
    mask[10:30, 12:27] = True
    measured = measured_region(row_of(mask, 0.5, readings="20.5 31.25"), "longest", 0.5)
    target = number_target(measured, Tolerance(share=0.2), "mm")
    assert target.low == pytest.approx(20.5 * 0.5 / 1.2, abs=0.01)
    assert target.high == pytest.approx(31.25 * 0.5 * 1.2, abs=0.01)
    assert measured.value == pytest.approx(known_diameter(mask) * 0.5)


def known_diameter(mask):
    rows, columns = np.nonzero(mask)
    edges = [(0, 0.5), (1, 0.5), (0.5, 0), (0.5, 1)]
    points = np.array(
        [(x + a, y + b) for x, y in zip(columns, rows, strict=True) for a, b in edges]
    )
    return max(np.hypot(*(points - point).T).max() for point in points)


def test_readers_of_a_diameter_say_nothing_of_a_circumference():
    mask = np.ones((8, 8), bool)
    measured = measured_region(row_of(mask, 1.0, readings="1 100"), "circumference", 1.0)
    assert measured.readings == (measured.value,)


def test_a_length_needs_the_size_of_a_pixel():
    with pytest.raises(ValueError, match="no size of a pixel"):
        measured_region(row(longest=5.0), "longest", 1.0)


def test_a_width_spans_all_regions_of_a_side():
    heart = row(x0=40, x1=85)
    lungs = [row(x0=10, x1=50), row(x0=60, x1=110)]
    measured = measured_widths([heart], lungs)
    assert measured.value == pytest.approx(0.45)
    assert measured.step == pytest.approx(0.01)

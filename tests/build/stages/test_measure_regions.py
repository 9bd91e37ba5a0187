"""Geometry of regions as a worker makes it: grid of the picture, millimetres, sides, cache."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from medrcube.build.pixels.case_image import CaseImage
from medrcube.build.pixels.volume import Volume
from medrcube.build.regions.region_mask import Mask
from medrcube.build.stages.rendering.measure_regions import (
    measure_regions,
    mm_per_pixel,
    region_geometry_of,
    right_side_of,
)
from medrcube.sources._framework.card_parts.pixels import PixelPolicy

POLICY = PixelPolicy(
    window="none",
    slice="middle",
    plane="axial",
    orient="affine",
    spacing="header",
    colour="keep",
)
AXIAL = np.array([[0, 0, -1, 90], [0, -1, 0, 90], [1, 0, 0, 0], [0, 0, 0, 1]], float)
"""Index (slice, row, column) to RAS: columns run to the patient's left, so that x falls."""


def volume(shape=(1, 40, 50), *, spacing=(3.0, 0.5, 0.5), affine=AXIAL, measured=True):
    return Volume(
        slices=np.zeros(shape, np.uint8), spacing=spacing, affine=affine, measured=measured
    )


def test_millimetres_are_those_of_the_picture_and_not_of_the_volume():
    stretched = volume((1, 40, 50), spacing=(3.0, 1.0, 0.5))
    assert mm_per_pixel(stretched, POLICY, (80, 50)) == 0.5


@pytest.mark.parametrize(
    ("stack", "policy"),
    [
        (volume(spacing=None), POLICY),
        (volume(measured=False), POLICY),
        (volume(spacing=(1.0, 0.5, 0.6)), POLICY),
        (volume(spacing=(1.0, 0.0, 0.5)), POLICY),
        (volume(), replace(POLICY, spacing="square")),
    ],
    ids=["no spacing", "ratio alone", "not square", "zero", "meaningless"],
)
def test_there_are_no_millimetres_where_nothing_proves_them(stack, policy):
    assert mm_per_pixel(stack, policy, (40, 50)) is None


def test_the_affine_tells_on_which_side_the_patients_right_lies():
    assert right_side_of(volume(), POLICY) == "left"
    assert right_side_of(volume(affine=AXIAL * [[1, 1, -1, 1]] * 1.0), POLICY) == "right"


@pytest.mark.parametrize(
    ("stack", "policy"),
    [
        (volume(affine=None), POLICY),
        (volume(affine=AXIAL[[1, 0, 2, 3]]), POLICY),
        (volume(), replace(POLICY, orient="stored")),
    ],
    ids=["no affine", "sagittal", "dummy affine"],
)
def test_no_side_is_told_where_the_picture_proves_none(stack, policy):
    assert right_side_of(stack, policy) == ""


@pytest.fixture
def geometry():
    """Two regions on a picture that is twice as tall as its slice, one of them read by two."""
    first, second = np.zeros((2, 40, 50), np.bool_)
    first[10:20, 5:15] = True
    second[30:35, 40:50] = True
    wide = np.zeros_like(first)
    wide[10:20, 5:25] = True
    masks = {n: Mask.of((1, 40, 50), [(0, mask)]) for n, mask in enumerate((first, second))}
    empty = Mask.of((1, 40, 50), ())
    case_image = CaseImage(
        volume=volume(spacing=(3.0, 1.0, 0.5)),
        greys=None,
        policy=POLICY,
        masks=masks,
        readings={0: (masks[0], Mask.of((1, 40, 50), [(0, wide)]), empty)},
    )
    clean = np.zeros((80, 50), np.uint8)
    clean[10:70, 5:46] = 200
    return measure_regions(case_image, 0, "0", clean, case_image.masks_on(0))


def test_regions_are_measured_on_the_grid_of_the_picture(geometry):
    first, second = geometry
    assert (first.measured.box, first.measured.pixels) == ((5, 20, 15, 40), 200)
    assert (second.measured.box, second.measured.cut) == ((40, 60, 50, 70), True)
    assert (first.width, first.height, first.mm_per_pixel) == (50, 80, 0.5)
    assert (first.right_at, first.midline, first.midline_from) == ("left", 25.5, "body")


def test_each_reader_who_marks_the_slice_has_a_reading(geometry):
    first, second = geometry
    assert [reading.box for reading in first.readings] == [(5, 20, 15, 40), (5, 20, 25, 40)]
    assert [round(reading.longest, 1) for reading in first.readings] == [21.9, 27.6]
    assert second.readings == ()


def test_measurements_survive_the_cache(geometry):
    record = json.loads(json.dumps([asdict(region) for region in geometry]))
    assert tuple(map(region_geometry_of, record)) == geometry

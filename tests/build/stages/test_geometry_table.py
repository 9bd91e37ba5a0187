"""Rows of ``geometry.parquet``: what a card must say before a side or a millimetre stands there."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from medrcube.build.regions.measure import measure
from medrcube.build.regions.run_lengths import encode_runs
from medrcube.build.stages.geometry_table import GEOMETRY, Geometry, geometry_of_case
from medrcube.build.stages.rendering.measure_regions import Reading, RegionGeometry
from medrcube.build.stages.samples import Sample
from medrcube.facts import Case, Consensus, ImageRef, Polygons, Rectangle, Region
from medrcube.sources._framework.card_parts.geometry import GeometryTrust

PROVED = GeometryTrust(orientation="proved", scale="object")


def region_geometry(x0, x1, **changes):
    mask = np.zeros((40, 100), np.bool_)
    mask[10:20, x0:x1] = True
    row = RegionGeometry(
        region=0,
        frames="7",
        width=100,
        height=40,
        measured=measure(mask),
        mask=" ".join(map(str, encode_runs(mask))),
        partial=False,
        readings=(),
        mm_per_pixel=0.5,
        right_at="left",
        midline=48.0,
        midline_from="body",
    )
    return replace(row, **changes)


def sample(artefact="clean", frames="7"):
    texts = ("field", "marked", "truth", "image", "pixel_sha256", "perceptual_hash", "patient")
    texts += ("split", "licence", "reason", "recipe")
    return Sample(
        id=f"{artefact}-{frames}",
        source="toy",
        case="a",
        artefact=artefact,
        choices=0,
        area=0,
        regions=0,
        width=100,
        height=40,
        anatomy="Brain",
        modality="MRI",
        scope="image",
        redistribute=True,
        frames=frames,
        **dict.fromkeys(texts, ""),
    )


@pytest.fixture
def row_of(toy):
    """The row of one region: ``row_of(measured, trust, shape)``."""

    def make(measured, trust=PROVED, shape=None):
        case = Case(
            key="a",
            images=(ImageRef(paths=()),),
            regions=(
                Region(
                    field="region", value="g", shape=shape or Polygons(outlines=()), evidence=""
                ),
            ),
        )
        card = replace(toy.card, geometry=trust)
        [row] = geometry_of_case(card, case, [sample("outline"), sample()], [measured])
        return row

    return make


@pytest.mark.parametrize(
    ("span", "right_at", "sides"),
    [
        ((10, 20), "left", ("right", "right")),
        ((70, 90), "left", ("left", "left")),
        ((10, 20), "right", ("left", "left")),
        ((70, 90), "right", ("right", "right")),
        ((40, 60), "left", ("left", "both")),
        ((43, 53), "left", ("", "both")),
    ],
)
def test_the_side_is_the_patients(row_of, span, right_at, sides):
    row = row_of(region_geometry(*span, right_at=right_at))
    assert (row.side, row.whole_side) == sides
    assert row.from_midline == abs(sum(span) / 2 - 48) / 100


@pytest.mark.parametrize(
    ("trust", "right_at", "expected"),
    [
        ("unknown", "left", ("", "")),
        ("proved", "", ("", "")),
        ("proved", "right", ("right", "proved")),
        ("stated", "", ("left", "stated")),
    ],
)
def test_sides_are_known_where_the_card_trusts_them(row_of, trust, right_at, expected):
    row = row_of(region_geometry(10, 20, right_at=right_at), GeometryTrust(orientation=trust))
    assert (row.right_at, row.orientation) == expected
    assert bool(row.side) == bool(row.midline_from) == bool(expected[0])


@pytest.mark.parametrize(
    ("scale", "stated", "expected"),
    [
        ("unknown", 0.5, (None, "")),
        ("object", None, (None, "")),
        ("object", 0.5, (0.5, "object")),
        ("projection", 0.5, (0.5, "projection")),
    ],
)
def test_millimetres_are_known_where_the_card_trusts_them(row_of, scale, stated, expected):
    row = row_of(region_geometry(10, 20, mm_per_pixel=stated), GeometryTrust(scale=scale))
    assert (row.mm_per_pixel, row.scale) == expected


def test_a_row_belongs_to_the_clean_picture_of_its_slice(row_of):
    assert row_of(region_geometry(10, 20)).sample == "clean-7"


def test_a_box_that_was_drawn_is_told_from_an_outline(row_of):
    box = Rectangle(xyxy=(0, 0, 1, 1))
    area = Polygons(outlines=())
    assert row_of(region_geometry(1, 2), shape=box).shape == "box"
    assert row_of(region_geometry(1, 2), shape=Consensus(readings=(box, box))).shape == "box"
    assert row_of(region_geometry(1, 2), shape=area).shape == "area"


def test_outlines_that_are_boxes_make_no_area(row_of):
    boxes = Polygons(outlines=(), boxes=True)
    assert row_of(region_geometry(1, 2), shape=boxes).shape == "box"


def test_the_mask_stands_there_unless_the_box_says_it_all(row_of):
    box = Rectangle(xyxy=(1, 10, 2, 20))
    assert row_of(region_geometry(1, 2)).mask == "50 10 3940"
    assert row_of(region_geometry(1, 2), shape=box).mask == ""


def test_readings_stand_in_the_order_of_the_readers(row_of):
    readings = (Reading(box=(1, 2, 3, 4), longest=2.5), Reading(box=(1, 2, 4, 4), longest=3.0))
    row = row_of(region_geometry(1, 2, readings=readings))
    assert (row.readings, row.reading_boxes) == ("2.5 3", "1 2 3 4, 1 2 4 4")


def test_the_table_has_its_columns_and_types_with_and_without_rows(row_of, tmp_path):
    rows = [row_of(region_geometry(1, 2)), row_of(region_geometry(1, 2, mm_per_pixel=None))]
    for records in (rows, []):
        GEOMETRY.table(records).write(tmp_path / "geometry.parquet", rows=100)
        frame = pd.read_parquet(tmp_path / "geometry.parquet")
        assert list(frame.columns) == [field.name for field in fields(Geometry)]
        assert str(frame["mm_per_pixel"].dtype) == "float64"
        assert str(frame["cut"].dtype) == "bool"

"""A box of a row is a corner and a size."""

import pytest

from medrcube.errors import RowError
from medrcube.sources._formats.tables.boxes import box_regions, corner_box
from medrcube.sources._formats.tables.tables import TableRow


def _row(x="3", y="4", width="5", height="6"):
    values = {"x": x, "y": y, "width": width, "height": height, "kind": "a"}
    return TableRow(values, "t.csv", 2)


def test_the_corner_is_the_left_upper_one():
    assert corner_box(_row()).xyxy == (3, 4, 8, 10)
    (region,) = box_regions([_row()], "kind", {"a"}, field="f")
    assert (region.field, region.value, region.evidence) == ("f", "a", "t.csv:2")


@pytest.mark.parametrize("fault", [{"x": "-1"}, {"width": "0"}, {"height": "-2"}, {"y": ""}])
def test_a_row_that_is_no_box_is_refused(fault):
    with pytest.raises(RowError, match=r"t\.csv:2"):
        corner_box(_row(**fault))


def test_a_box_of_another_name_is_no_region_but_must_be_a_box():
    assert box_regions([_row()], "kind", {"b"}, field="f") == ()
    with pytest.raises(RowError):
        box_regions([_row(width="0")], "kind", {"b"}, field="f")

"""Marks of OsiriX property lists in the two shapes that INbreast has."""

import plistlib

import pytest

from medrcube.errors import SourceError
from medrcube.sources._formats.annotations.osirix_plist import read_rois, read_rois_if_any

ROI = {"Name": " Mass ", "NumberOfPoints": 2, "Point_px": ["(10.5, 20)", "(30, 40.25)"]}


@pytest.fixture
def marks_of(tmp_path):
    def read(content):
        path = tmp_path / "20586908.xml"
        path.write_bytes(content if isinstance(content, bytes) else plistlib.dumps(content))
        return read_rois(path)

    return read


def test_marks_below_images_keep_column_and_row(marks_of):
    (mark,) = marks_of({"Images": [{"ImageIndex": 0, "ROIs": [ROI]}]})
    assert mark.points == ((10.5, 20.0), (30.0, 40.25))


def test_a_mark_at_the_top_beside_a_data_summary_is_found(marks_of):
    (mark,) = marks_of({"DataSummary": {"x": 1}, **ROI})
    assert mark.points[0] == (10.5, 20.0)


def test_names_are_stripped_and_in_lower_case(marks_of):
    (mark,) = marks_of({"Images": [{"ROIs": [ROI]}]})
    assert mark.name == "mass"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"<plist><dict>", id="cut off"),
        pytest.param(b"\0" * 40, id="zeros"),
        pytest.param({"Images": []}, id="no mark"),
        pytest.param({"Point_px": ["(1; 2)"]}, id="other point syntax"),
    ],
)
def test_a_file_that_holds_no_readable_mark_is_named(marks_of, content):
    with pytest.raises(SourceError, match=r"20586908\.xml"):
        marks_of(content)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match="is missing"):
        read_rois(tmp_path / "1.xml")


def test_millimetres_and_the_index_of_the_image_are_kept(marks_of):
    roi = {**ROI, "Point_mm": ["(0, 0, 7.5)", "(4, 0, 7.5)", "(4, 3, 7.5)"]}
    (mark,) = marks_of({"Images": [{"ImageIndex": 12, "ROIs": [roi]}]})
    assert (mark.image, mark.corners[0][2], mark.area) == (12, 7.5, 6.0)


@pytest.mark.parametrize("places", [["(0, 0)"], ["?"], "(0, 0, 0)", [1.0]])
def test_millimetres_of_another_form_are_none(marks_of, places):
    (mark,) = marks_of({"Images": [{"ROIs": [{**ROI, "Point_mm": places}]}]})
    assert (mark.corners, mark.area) == ((), 0)


def test_a_file_without_a_mark_is_read_where_it_may_be(tmp_path):
    path = tmp_path / "0.xml"
    path.write_bytes(plistlib.dumps({"Images": []}))
    assert read_rois_if_any(path) == ()

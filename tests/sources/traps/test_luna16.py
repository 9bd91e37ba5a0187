"""Traps of the evidence card `luna16`."""

import pytest

from medrcube.errors import RowError
from medrcube.facts import LabelState, Rectangle
from medrcube.sources._formats.borrowed_levels import drawn_slice
from medrcube.sources._formats.metaimage_header import read_metaimage_header
from medrcube.sources.luna16.fixture import ALONE, CLEAR, SMALL, TURNED, UNCLEAR
from medrcube.sources.registry import find_sources

UNTESTED = {
    "padding-below-air": "the lung window ends far above it",
    "numbers-of-lung-masks": "unverified, so the masks are not read",
    "long-nodule-beyond-its-box": "a note; the outlines of readers are in lidc-idri",
}
SOURCE, LAYOUT = "luna16", "zenodo"
CARD = find_sources()[SOURCE].card
MARKS = "evaluationScript/annotations/annotations_excluded.csv"
FINDING, REGION = "Abnormality Diagnosis", "ROI Grounding"


@pytest.fixture
def fixture_scan(scan_fixture):
    return scan_fixture(SOURCE, LAYOUT)


@pytest.fixture
def header(edited_tree, replacing, scan_tree):
    """A scan of the fixture after a text in the header of one scan is replaced."""

    def make(uid, old, new):
        folder = "subset0" if uid in {ALONE, CLEAR, SMALL} else "subset1"
        edit = replacing(f"{folder}/{uid}.mhd", old, new)
        return scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))

    return make


def test_marks_of_readers_within_a_nodule_are_the_nodule_itself(fixture_scan):
    assert fixture_scan.cases[f"{ALONE}-2"].regions


def test_nodule_beside_another_mark_has_no_place(fixture_scan, build_fixture):
    assert not fixture_scan.cases[f"{TURNED}-3"].regions
    assert build_fixture(SOURCE, LAYOUT).right_of(f"{TURNED}-3", FINDING) == {"lung nodule >= 3 mm"}


def test_box_lies_on_the_nodule(build_fixture, fixture_scan):
    build = build_fixture(SOURCE, LAYOUT)
    x0, y0, x1, y1 = map(round, fixture_scan.cases[f"{ALONE}-2"].regions[0].shape.xyxy)
    pixels = build.pixels(build.sample(f"{ALONE}-2"))
    row, column = (y0 + y1) // 2, (x0 + x1) // 2
    assert pixels[row, x0 + 1 : x1 - 1].min() > 180
    assert pixels[y0 + 1 : y1 - 1, column].min() > 180
    assert max(pixels[row, x0 - 2], pixels[row, x1 + 1], pixels[y0 - 2, column]) < 120


def test_turned_volume_is_shown_upright_with_the_slice_of_its_nodule(build_fixture, fixture_scan):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(f"{TURNED}-3"))
    marker, opposite = pixels[5:14, 6:18], pixels[-14:-5, -18:-6]
    assert marker.max() > 240
    assert opposite.max() < 120
    first, behind = fixture_scan.cases[f"{TURNED}-3"].guide[0].slices
    assert (first, behind) == (4, 9)
    (recipe,) = build.recipes(f"{TURNED}-3", "clean")
    assert recipe["images"][0]["frame"] == 6


def test_scan_without_annotation_is_clear_only_if_no_reader_marked_anything(fixture_scan):
    assert fixture_scan.states(f"{CLEAR}-clear", "nodule") == {
        "none": LabelState.PRESENT,
        "nodule": LabelState.ABSENT,
    }
    assert "fewer than three readers" in fixture_scan.skips[f"{UNCLEAR}-clear"]


def test_clear_scan_is_shown_at_a_level_at_which_nodules_were_counted(fixture_scan, build_fixture):
    index = drawn_slice(CLEAR, 10, CARD.numbers["nodule_levels"])
    assert [shape.slices for shape in fixture_scan.cases[f"{CLEAR}-clear"].guide] == [
        (index, index + 1)
    ]
    (recipe,) = build_fixture(SOURCE, LAYOUT).recipes(f"{CLEAR}-clear", "clean")
    assert recipe["images"][0]["frame"] == index


def test_without_the_marks_of_fewer_readers_no_scan_is_clear(edited_tree, scan_tree):
    root = edited_tree(SOURCE, LAYOUT, lambda root: (root / MARKS).unlink())
    bare = scan_tree(SOURCE, LAYOUT, root)
    assert f"{CLEAR}-clear" in bare.skips
    assert not bare.cases[f"{ALONE}-2"].regions


def test_nodule_too_small_for_one_slice_is_set_aside(fixture_scan):
    assert "6 to 30 mm" in fixture_scan.skips[f"{SMALL}-4"]


def test_row_that_names_no_scan_leaves_no_scan_clear(edited_tree, replacing, survey):
    root = edited_tree(SOURCE, LAYOUT, replacing(MARKS, f"{UNCLEAR},", ","))
    cases = {case.key: case for case in survey(SOURCE, root).cases}
    states = {label.state for label in cases[f"{CLEAR}-clear"].labels if label.value == "nodule"}
    assert LabelState.ABSENT not in states


def test_scans_of_one_patient_have_one_key(fixture_scan):
    assert fixture_scan.cases[f"{ALONE}-2"].patient == fixture_scan.cases[f"{TURNED}-3"].patient


def test_without_the_table_of_series_a_scan_is_its_own_patient(edited_tree, scan_tree):
    root = edited_tree(SOURCE, LAYOUT, lambda root: (root / "LIDC-IDRI_MetaData.csv").unlink())
    assert scan_tree(SOURCE, LAYOUT, root).cases[f"{ALONE}-2"].patient == ALONE


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("MET_SHORT", "MET_UCHAR", "resampled copy"),
        ("0.69999999999999996 0.69999999999999996 2.5", "1 1 1", "resampled copy"),
        ("TransformMatrix = 1 0", "TransformMatrix = 0.9 0.1", "is the volume resampled"),
        ("DimSize = 96 96 10", "DimSize = 96 96 3", "outside of its scan"),
        ("DimSize", "Size", "is not a header of a volume"),
    ],
)
def test_scan_that_is_not_that_of_the_release_is_refused(header, old, new, says):
    assert header(ALONE, old, new).bad_rows(says) == {f"{ALONE}-2"}


def test_scan_in_two_subsets_is_set_aside(edited_tree, scan_tree):
    def edit(root):
        for suffix in (".mhd", ".raw"):
            twin = root / "subset1" / f"{ALONE}{suffix}"
            twin.write_bytes((root / "subset0" / twin.name).read_bytes())

    assert scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit)).bad_rows("2 subsets")


def test_overlap_with_lidc_is_declared_on_both_sides():
    lidc = find_sources()["lidc-idri"].card
    assert "lidc-idri" in {overlap.source for overlap in CARD.overlaps}
    assert "luna16" in {overlap.source for overlap in lidc.overlaps}


@pytest.mark.parametrize(("off", "fits"), [("0.0009", True), ("-1e-12", True), ("0.002", False)])
def test_matrix_may_be_rounded_and_no_more(tmp_path, off, fits):
    path = tmp_path / "a.mhd"
    path.write_text(
        "NDims = 3\nDimSize = 10 20 30\nElementSpacing = 0.5 0.5 2\nPosition = 10 20 -30\n"
        f"TransformMatrix = {1 - float(off)} {off} 0 0 1 0 0 {off} -1\n"
        "ElementType = MET_SHORT\nElementDataFile = a.raw\n"
    )
    if fits:
        header = read_metaimage_header(path)
        assert header.signs == (1, 1, -1)
        assert header.whole_slice(0).slices == (29, 30)  # the lowest is stored last
    else:
        with pytest.raises(RowError, match=r"to 0\.001"):
            read_metaimage_header(path)


def test_point_is_found_among_the_voxels_of_a_turned_volume(tmp_path):
    path = tmp_path / "a.mhd"
    path.write_text(
        "NDims = 3\nDimSize = 10 20 30\nElementSpacing = 0.5 0.5 2\nPosition = 10 20 -30\n"
        "TransformMatrix = -1 0 0 0 -1 0 0 0 1\nElementType = MET_SHORT\nElementDataFile = a.raw\n"
    )
    header = read_metaimage_header(path)
    assert header.index((8.0, 15.0, 10.0)) == (4, 10, 20)
    assert header.index((12.0, 15.0, 10.0)) is None
    assert header.whole_slice(3) == Rectangle(xyxy=(0, 0, 10, 20), slices=(3, 4))
    with pytest.raises(RowError, match="missing"):
        read_metaimage_header(tmp_path / "b.mhd")

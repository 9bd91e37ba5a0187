"""What the contract cannot see: facts of breast sources that must not be mixed up."""

import csv
import shutil
from pathlib import Path

import openpyxl
import pytest

from medrcube.errors import SourceError
from medrcube.facts import Case, LabelState, Skip
from medrcube.sources.registry import find_sources

pytestmark = pytest.mark.thorough  # like the traps of a source

SOURCES = find_sources()
UNKNOWN, PRESENT, ABSENT = LabelState.UNKNOWN, LabelState.PRESENT, LabelState.ABSENT


@pytest.fixture
def tree(tmp_path):
    """A fixture tree of one source, and a scan of it by key."""

    def make(source, layout):
        SOURCES[source].build_fixture(tmp_path, layout)
        return tmp_path, lambda: {c.key: c for c in SOURCES[source].scan(tmp_path, layout)}

    return make


def stated(case, field):
    return {(label.value, label.state) for label in case.labels if label.field == field}


def test_halves_of_one_lesion_that_differ_leave_bi_rads_open(tree):
    _, scan = tree("bus-bra", "release")
    halves = [case for key, case in scan().items() if key.startswith("bus_0001")]
    assert [stated(case, "birads") for case in halves] == [{("3", UNKNOWN)}, {("5", UNKNOWN)}]


def test_a_mask_is_known_by_its_bits_whatever_its_number(tmp_path):
    mask_among = SOURCES["cbis-ddsm"].hook("mask_among")
    crop, mask = tmp_path / "1-1.dcm", tmp_path / "1-2.dcm"
    whole = (16, 5000, 3000)
    assert mask_among({crop: (16, 300, 200), mask: (8, 5000, 3000)}, whole) == mask
    assert mask_among({mask: (16, 300, 200), crop: (8, 5010, 3000)}, whole) == crop


def test_two_files_of_eight_bit_are_told_apart_by_size(tmp_path):
    mask_among = SOURCES["cbis-ddsm"].hook("mask_among")
    crop, mask = tmp_path / "1-1.dcm", tmp_path / "1-2.dcm"
    sizes = {crop: (8, 300, 200), mask: (8, 5000, 3000)}
    assert mask_among(sizes, (16, 5000, 3000)) == mask
    assert mask_among(sizes, (16, 4000, 3000)) is None


def test_a_mammogram_whose_mask_cannot_be_told_is_set_aside(tree):
    root, scan = tree("cbis-ddsm", "tcia")
    folder = next(root.rglob("Mass-Test_P_00019_RIGHT_CC_1"))
    first, second = sorted(folder.rglob("*.dcm"))
    shutil.copy(first, second)
    entry = scan()["Mass-Test_P_00019_RIGHT_CC"]
    assert isinstance(entry, Skip)
    assert "look like the mask" in entry.reason


def test_both_types_of_one_view_are_stated_on_either_picture(tree):
    _, scan = tree("cbis-ddsm", "early")
    source_scan = scan()
    for kind in ("Mass", "Calc"):
        case = source_scan[f"{kind}-Training_P_00005_RIGHT_MLO"]
        assert stated(case, "abnormality") == {("mass", PRESENT), ("calcification", PRESENT)}
        assert stated(case, "pathology") == {("BENIGN", UNKNOWN), ("MALIGNANT", UNKNOWN)}
        assert not stated(case, "shape")


def test_joined_descriptors_are_all_true(tree):
    _, scan = tree("cbis-ddsm", "tcia")
    case = scan()["Mass-Training_P_00001_LEFT_CC"]
    assert stated(case, "shape") == {("IRREGULAR", PRESENT)}
    assert stated(case, "special") == {("ARCHITECTURAL_DISTORTION", PRESENT)}


def test_a_woman_in_both_parts_counts_as_training(tree):
    _, scan = tree("cbis-ddsm", "tcia")
    splits = {case.split for case in scan().values() if case.patient == "P_00016"}
    assert splits == {"training"}


def test_a_jpeg_table_without_the_size_of_pixels_is_refused(tree):
    root, scan = tree("cbis-ddsm", "kaggle")
    table = root / "csv/dicom_info.csv"
    table.write_text(table.read_text().replace("BitsAllocated", "Bits"))
    with pytest.raises(SourceError, match="BitsAllocated"):
        scan()


def test_only_a_breast_of_bi_rads_1_is_free_of_findings(tree):
    _, scan = tree("vindr-mammo", "physionet")
    for case in scan().values():
        normal = ("BI-RADS 1", PRESENT) in stated(case, "birads")
        assert (("No Finding", PRESENT) in stated(case, "lesion")) == normal
        assert (("Mass", ABSENT) in stated(case, "lesion")) == normal


def test_a_grade_is_open_on_a_view_that_does_not_show_its_finding(tree):
    _, scan = tree("vindr-mammo", "physionet")
    unmarked = [case for case in scan().values() if not case.regions]
    states = {label for case in unmarked for label in stated(case, "birads")}
    assert states == {("BI-RADS 1", PRESENT), ("BI-RADS 2", UNKNOWN), ("BI-RADS 3", UNKNOWN)}


def test_boxes_end_at_the_border_of_the_picture(tree):
    _, scan = tree("vindr-mammo", "physionet")
    left = [region.shape.xyxy[0] for case in scan().values() for region in case.regions]
    assert min(left) == 0.0


def test_a_muscle_is_closed_at_the_chest_wall_of_its_side():
    closed = SOURCES["inbreast"].hook("closed")
    line = ((40.0, 3.0), (0.0, 60.0))
    assert closed(line, "L") == ((0.0, 0.0), (40.0, 0.0), *line, (0.0, 60.0))
    mirrored = ((99.0, 60.0), (59.0, 3.0))
    assert closed(mirrored, "R") == ((99.0, 0.0), (59.0, 0.0), *mirrored[::-1], (99.0, 60.0))


def test_a_picture_that_contradicts_its_sheet_is_set_aside(tree):
    root, scan = tree("inbreast", "release")
    path = next(root.rglob("*_MG_R_CC_ANON.dcm"))
    path.rename(path.with_name(path.name.replace("_R_", "_L_")))
    assert isinstance(scan()[path.name[:8]], Skip)


def test_outlines_that_cannot_be_read_set_one_picture_aside(tree):
    root, scan = tree("inbreast", "release")
    path = next(root.rglob("AllXML/*.xml"))
    path.write_text("<plist><dict>")
    aside = {
        key for key, value in scan().items() if "is not valid XML" in getattr(value, "reason", "")
    }
    assert aside == {path.stem}


def test_a_box_outside_the_mapped_slices_sets_one_series_aside(tree):
    root, scan = tree("duke-breast-mri", "tcia")
    book = openpyxl.load_workbook(root / "Annotation_Boxes.xlsx")
    book.active["F2"], book.active["G2"] = 40, 50
    book.save(root / "Annotation_Boxes.xlsx")
    assert "no such slice" in scan()["Breast_MRI_001-post_1"].reason


def test_a_box_is_trusted_to_be_the_only_one_of_a_single_focus(tree):
    _, scan = tree("duke-breast-mri", "tcia")
    fields = {key: c.regions[0].field for key, c in scan().items() if getattr(c, "regions", ())}
    assert fields["Breast_MRI_001-post_1"] == "cancer"
    assert fields["Breast_MRI_003-post_1"] == "one_of_several"


def test_cancer_on_both_sides_leaves_the_histology_open(tree):
    _, scan = tree("duke-breast-mri", "tcia")
    assert stated(scan()["Breast_MRI_006-post_1"], "histology") == {("5", UNKNOWN)}


def test_planes_outside_the_five_regions_are_set_aside(tree):
    _, scan = tree("fetal-planes-db", "zenodo")
    anatomies = {entry.anatomy.value for entry in scan().values() if isinstance(entry, Case)}
    assert anatomies == {"Brain", "Chest"}


@pytest.mark.real
def test_every_row_of_the_early_cbis_table_is_understood(real_raw):
    root = real_raw / "CBIS-DDSM"
    cases = list(SOURCES["cbis-ddsm"].scan(root, "early"))
    with next(root.glob("mass_*_train_set.csv")).open(newline="") as file:
        rows = list(csv.DictReader(file))
    views = {(row["patient_id"], row["side"], row["view"]) for row in rows}
    assert len(cases) == len(views)
    assert sum(len(case.regions) for case in cases) == len(rows)


@pytest.mark.real
def test_the_clinical_workbook_is_read_below_its_three_header_rows(real_raw, tree):
    root, scan = tree("duke-breast-mri", "tcia")
    name = "Clinical_and_Other_Features.xlsx"
    Path(root / name).write_bytes((real_raw / "Duke-Breast-Cancer-MRI" / name).read_bytes())
    case = scan()["Breast_MRI_001-post_1"]
    assert stated(case, "histology") == {("1", PRESENT)}
    assert stated(case, "nottingham") == {("2", PRESENT)}
    assert case.facts == (("side", "L"),)

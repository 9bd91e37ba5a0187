"""Traps of the evidence card `cq500`."""

import re
import shutil

import numpy as np
import pytest

from medrcube.errors import TableError
from medrcube.facts import LabelState
from medrcube.sources._formats.borrowed_levels import drawn_slice
from medrcube.sources._formats.dicom.headers import header_value
from medrcube.sources._synthetic.dicom import Series, write_series
from medrcube.sources.registry import find_sources

UNTESTED = {
    "air-below-900-hu": "a property of the pixels, which an adapter does not open",
    "compressed-files": "the readers decode what the transfer syntax asks, and set the rest aside",
    "boxes-of-programs": "tables 2 and 3 of BHX are ignored",
    "a-fifth-of-the-boxes-not-found": "so does a partial copy; one without any is refused",
    "sides-of-bleeds": "33 reads have no side, 7 a side without a bleed: not used",
    "readers-experience-and-batches": "not verified; noted as a quirk",
    "two-exams-of-one-patient": "no file says so; an exam counts as a patient",
    "licence-of-bhx": "its field was not read; nothing may be redistributed",
    "movement-and-gantry-tilt": "tilts below 37 degrees are shown as they are stored",
}
SOURCE, LAYOUT = "cq500", "exams"
CARD = find_sources()[SOURCE].card
BOXES = "1_Initial_Manual_Labeling.csv"
EPIDURAL, SUBDURAL, QUIET, OTHER_QUIET = "CQ500CT0", "CQ500CT2", "CQ500CT5", "CQ500CT6"
MAJORITY, CHRONIC, NO_FOLDER = "CQ500CT7", "CQ500CT8", "CQ500CT9"
KINDS = {"EDH", "IVH", "SDH", "SAH", "IPH"}


def _level(case):
    return case.series.index(case.images[0].paths[0])


def test_an_exam_is_joined_by_the_number_in_its_folder_and_its_name(scan_fixture):
    path = scan_fixture(SOURCE, LAYOUT).cases[EPIDURAL].images[0].paths[0]
    assert path.parts[-4] == "CQ500CT0 CQ500CT0"


def test_slices_are_in_order_of_place_and_not_of_file_number(scan_fixture):
    series = scan_fixture(SOURCE, LAYOUT).cases[EPIDURAL].series
    assert [path.name for path in series] == [f"CT{n:06}.dcm" for n in range(len(series), 0, -1)]
    heights = [header_value(p, "ImagePositionPatient").split("\\")[2] for p in series]
    assert sorted(map(float, heights)) == list(map(float, heights))


def test_a_finding_of_the_exam_is_not_asked_of_a_slice(scan_fixture, build_fixture):
    assert CARD.fields["votes"].scope > CARD.fields["bleed"].scope
    assert scan_fixture(SOURCE, LAYOUT).states(SUBDURAL, "votes")["MidlineShift"] == "present"
    keys = build_fixture(SOURCE, LAYOUT).right_of(SUBDURAL, "Abnormality Diagnosis")
    assert keys <= {"subdural", "any"}
    assert "midline shift" not in build_fixture(SOURCE, LAYOUT).wrong_of(SUBDURAL)


def test_a_majority_of_the_readers_leaves_the_finding_open(scan_fixture, build_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(MAJORITY, "votes")["SDH"] is LabelState.UNKNOWN
    assert scan.states(MAJORITY, "hemorrhage") == {}
    assert "subdural" not in build_fixture(SOURCE, LAYOUT).wrong_of(MAJORITY)


def test_what_no_reader_found_in_the_exam_is_absent_on_its_slice(scan_fixture):
    states = scan_fixture(SOURCE, LAYOUT).states(EPIDURAL, "votes")
    assert {kind for kind in KINDS if states[kind] is LabelState.ABSENT} == KINDS - {"EDH"}


def test_an_old_bleed_leaves_every_kind_open_and_the_slice_is_not_called_clear(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    states = scan.states(CHRONIC, "votes")
    assert {states[kind] for kind in KINDS} == {LabelState.UNKNOWN}
    assert scan.states(CHRONIC, "hemorrhage") == {}


def test_bleeding_is_shown_where_a_box_lies(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[EPIDURAL]
    assert [region.value for region in case.regions] == ["Epidural"]
    assert _level(case) == 7  # the middle of the slices 5 to 9


def test_a_slice_without_a_box_in_a_bleeding_exam_is_no_negative(edited_tree, scan_tree):
    def without_boxes_of_the_first_exam(root):
        lines = (root / BOXES).read_text().splitlines()
        (root / BOXES).write_text("\n".join(x for x in lines if "Epidural" not in x) + "\n")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, without_boxes_of_the_first_exam))
    assert scan.states(EPIDURAL, "hemorrhage") == {}
    assert scan.states(EPIDURAL, "votes")["EDH"] is LabelState.PRESENT


def test_clear_exams_are_shown_where_bleeds_lie(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    count, levels = len(cases[QUIET].series), CARD.numbers["bleed_levels"]
    clear = [_level(cases[key]) for key in (QUIET, OTHER_QUIET)]
    assert clear == [drawn_slice(key, count, levels) for key in (QUIET, OTHER_QUIET)]
    assert clear != [count // 2] * 2


def test_a_few_bleeding_exams_without_a_box_are_no_proof_of_another_join(edited_tree, scan_tree):
    def leave_two_exams_and_no_box_of_theirs(root):
        for number in range(2, 10):
            shutil.rmtree(root / f"CQ500CT{number} CQ500CT{number}", ignore_errors=True)
        text = (root / BOXES).read_text()
        (root / BOXES).write_text(text.replace("1.2.826.", "9.9.999."))

    tree = edited_tree(SOURCE, LAYOUT, leave_two_exams_and_no_box_of_theirs)
    scan = scan_tree(SOURCE, LAYOUT, tree)
    assert EPIDURAL in scan.cases
    assert BOXES not in scan.skips


def test_series_are_chosen_by_their_headers_and_not_by_folder_names(edited_tree, scan_tree):
    def swap(root):
        folder = root / "CQ500CT5 CQ500CT5/Unknown Study"
        (folder / "CT C THIN").rename(folder / "x")
        (folder / "CT 55mm Plain").rename(folder / "CT C THIN")
        (folder / "x").rename(folder / "CT 55mm Plain")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, swap))
    assert scan.cases[QUIET].images[0].paths[0].parent.name == "CT C THIN"
    assert scan.states(QUIET, "contrast") == {"plain": LabelState.PRESENT}


def test_series_with_contrast_medium_is_a_case_of_its_own_without_findings(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[f"{QUIET}-contrast"]
    assert {label.field for label in case.labels} == {"contrast"}
    assert case.patient == scan_fixture(SOURCE, LAYOUT).cases[QUIET].patient


@pytest.mark.parametrize(
    ("description", "is_shown", "contrast"),
    [
        ("5/5mm Plain", True, "plain"),
        ("PRE CONTRAST THIN", True, "plain"),
        ("4cc sec 150cc D3D on", True, ""),
        ("", True, ""),
        ("+C THIN", False, "enhanced"),
        ("POST CONTRAST", False, "enhanced"),
        ("BONE +C", False, ""),
        ("CONTRAST", False, ""),
        ("Thin IV", False, ""),
        ("BONE PLAIN", False, "plain"),
        ("PNS", False, ""),
    ],
)
def test_names_of_series_tell_what_is_shown(description, is_shown, contrast):
    patterns = CARD.patterns
    fits = {
        name for name in ("shown", "plain", "enhanced") if re.fullmatch(patterns[name], description)
    }
    assert ("shown" in fits) == is_shown
    assert fits - {"shown"} == ({contrast} if contrast else set())


def _replace_head(root, spacing, **tags):
    """Put another series, named as that of the head, in its place."""
    folder = root / "CQ500CT5 CQ500CT5/Unknown Study"
    shutil.rmtree(folder)
    slices = np.zeros((20, 128, 128), np.int16)
    other = Series(name="another", patient="5", volume=slices, spacing=spacing)
    write_series(folder / "CT 55mm Plain", other, SeriesDescription="5/5mm Plain", **tags)


@pytest.mark.parametrize(
    ("spacing", "says"),
    [
        pytest.param((5.0, 3.0), "384 mm wide", id="chest"),
        pytest.param((5.0, 0.8), "102 mm wide", id="ear"),
        pytest.param((3.0, 1.7), "cover 57 mm", id="part of a head"),
        pytest.param((15.0, 1.7), "cover 285 mm", id="head, neck and chest"),
    ],
)
def test_series_of_another_part_of_the_body_is_not_shown_under_the_name_of_a_head(
    edited_tree, scan_tree, spacing, says
):
    tree = edited_tree(SOURCE, LAYOUT, lambda root: _replace_head(root, spacing))
    scan = scan_tree(SOURCE, LAYOUT, tree)
    assert QUIET not in scan.cases
    assert any(says in reason and "another part" in reason for reason in scan.skips.values())


@pytest.mark.parametrize(("kernel", "is_shown"), [("STANDARD", True), ("BONEPLUS", False)])
def test_kernel_of_bone_is_not_shown_whatever_the_name_of_the_series(
    edited_tree, scan_tree, kernel, is_shown
):
    tree = edited_tree(
        SOURCE, LAYOUT, lambda root: _replace_head(root, (5.0, 1.7), ConvolutionKernel=kernel)
    )
    assert (QUIET in scan_tree(SOURCE, LAYOUT, tree).cases) == is_shown


def test_localiser_is_set_aside(scan_fixture):
    (reason,) = scan_fixture(SOURCE, LAYOUT).skips.values()
    assert "2 slices; expected 20" in reason


def test_row_without_a_folder_is_an_absent_image(survey, fixture_tree):
    contents = survey(SOURCE, fixture_tree(SOURCE, LAYOUT))
    assert contents.absent == (NO_FOLDER,)
    assert NO_FOLDER not in {problem.case for problem in contents.problems}


def test_boxes_of_other_slices_are_refused_by_name_of_the_assumption(
    edited_tree, scan_tree, replacing
):
    root = edited_tree(SOURCE, LAYOUT, replacing(BOXES, "1.2.826.", "9.9.999."))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert "SOPInstanceUID to be that of the files" in scan.skips[BOXES]
    assert not any(case.regions for case in scan.cases.values())


def test_boxes_with_other_columns_are_refused_by_name(edited_tree, scan_tree, replacing):
    root = edited_tree(SOURCE, LAYOUT, replacing(BOXES, "labelName", "label"))
    assert "labelName" in scan_tree(SOURCE, LAYOUT, root).skips[BOXES]


def test_cell_that_is_no_vote_sets_its_exam_aside(edited_tree, scan_tree):
    def edit(root):
        text = (root / "reads.csv").read_text()
        (root / "reads.csv").write_text(text.replace("CQ500-CT-5,B2,0", "CQ500-CT-5,B2,2"))

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("R1:ICH") == {"CQ500-CT-5"}


def test_a_table_without_the_third_reader_is_refused(edited_tree, scan_tree, replacing):
    root = edited_tree(SOURCE, LAYOUT, replacing("reads.csv", "R3:", "X3:"))
    with pytest.raises(TableError, match="R3:ICH"):
        scan_tree(SOURCE, LAYOUT, root)

"""Traps of the evidence card `ct-ich`."""

import shutil

import numpy as np
from PIL import Image

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import LabelState
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "bytes-of-the-masks": "none was seen; names and threshold are those of public code",
    "editions-1.3": "no byte was seen; refused",
    "licence-of-each-version": "pages were not read: nothing may be redistributed",
    "tilted-and-turned-heads": "no list; noted as a quirk",
    "scalp-hematoma": "has no label; noted as a quirk",
    "patient-70-left-out-by-a-split": "no reason is given; the table has the patient",
    "demographics-with-two-header-rows": "not read",
}
SOURCE, LAYOUT = "ct-ich", "pictures"
CARD = find_sources()[SOURCE].card
TABLE = "hemorrhage_diagnosis.csv"
BOXED = "130-brain-3"
EPIDURAL, QUIET, FRACTURE, NO_FRACTURE = "049-brain-3", "050-brain-3", "049-bone-4", "050-bone-4"


def _keys(scan, patient, window):
    return {key for key in scan.cases if key.startswith(f"{patient}-{window}")}


def test_table_begins_with_a_mark_that_is_no_part_of_its_first_column(fixture_tree, scan_fixture):
    assert (fixture_tree(SOURCE, LAYOUT) / TABLE).read_bytes().startswith(b"\xef\xbb\xbfPatient")
    assert scan_fixture(SOURCE, LAYOUT).cases[EPIDURAL].patient == "049"


def test_slices_are_counted_from_1_in_folders_with_zeros(scan_fixture):
    (path,) = scan_fixture(SOURCE, LAYOUT).cases[EPIDURAL].images[0].paths
    assert path.parts[-3:] == ("049", "brain", "3.jpg")


def test_middle_of_the_longest_run_with_one_type_stands_for_patient_and_type(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert _keys(scan, "049", "brain") == {EPIDURAL}
    assert _keys(scan, "051", "brain") == {"051-brain-2", "051-brain-5"}
    assert scan.states("051-brain-5", "subtype")["Intraventricular"] is LabelState.PRESENT


def test_slice_with_several_types_is_not_used(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert "051-brain-3" not in scan.cases
    assert _keys(scan, "084", "brain") == set()
    assert "others stand for this one" in scan.skips["051 others"]


def test_quiet_slice_of_a_bleeding_patient_is_no_negative(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    quiet = {key for key in scan.cases if scan.states(key, "hemorrhage").get("none")}
    assert quiet == {QUIET, "067-brain-4"}


def test_clear_slices_lie_where_findings_are_counted_and_not_all_in_the_middle(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    clear = {key for key in scan.cases if scan.states(key, "fracture").get("none")}
    slices = [int(key.rpartition("-")[2]) for key in clear]
    assert {round(1 + 4 * level) for level in CARD.numbers["bone_levels"]} >= set(slices)
    assert len(set(slices)) > 1


def test_zeros_of_a_slice_are_read_absences(build_fixture, scan_fixture):
    states = scan_fixture(SOURCE, LAYOUT).states(EPIDURAL, "subtype")
    assert states["Epidural"] is LabelState.PRESENT
    assert {state for name, state in states.items() if name != "Epidural"} == {LabelState.ABSENT}
    assert "epidural" not in build_fixture(SOURCE, LAYOUT).wrong_of(
        EPIDURAL, "Abnormality Diagnosis"
    )


def test_fracture_is_asked_in_the_bone_window_alone(scan_fixture, build_fixture):
    scan, build = scan_fixture(SOURCE, LAYOUT), build_fixture(SOURCE, LAYOUT)
    assert scan.states(FRACTURE, "fracture") == {"1": LabelState.PRESENT}
    assert scan.states(EPIDURAL, "fracture") == {}
    assert build.right_of(NO_FRACTURE, "Abnormality Diagnosis") == {"no skull fracture"}


def test_bone_window_is_asked_nothing_that_it_hides(build_fixture):
    tasks = build_fixture(SOURCE, LAYOUT).tasks_of(FRACTURE)
    assert tasks == {"Modality Recognition", "View Recognition", "Abnormality Diagnosis"}


def test_mask_of_jpeg_marks_what_was_drawn(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[BOXED]
    shape = case.regions[0].shape
    with Image.open(shape.paths[0]) as mask:
        levels = np.asarray(mask)
    marked = rasterise(shape, readers.read(case.images[0]))[0]
    assert ((levels > 0) & (levels < 20)).any()
    assert (marked == (levels > 127)).all()


def test_mask_says_hemorrhage_and_no_type(build_fixture):
    assert build_fixture(SOURCE, LAYOUT).sample(BOXED, "boxes").marked == "any"


def test_empty_mask_of_a_bleeding_slice_is_refused(edited_tree, build_tree):
    def clear(root):
        path = root / "Patients_CT/049/brain/3_HGE_Seg.jpg"
        Image.new("L", (650, 650)).save(path)

    assert build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, clear)).codes()[EPIDURAL] == "empty-mask"


def test_mask_of_a_slice_without_hemorrhage_sets_the_slice_aside(edited_tree, scan_tree):
    def mark(root):
        folder = root / "Patients_CT"
        shutil.copy(folder / "049/brain/3_HGE_Seg.jpg", folder / "050/brain/3_HGE_Seg.jpg")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, mark))
    assert scan.bad_rows("a mask of the slice marks a hemorrhage")
    assert QUIET not in scan.cases


def test_row_that_contradicts_itself_sets_its_slice_aside(edited_tree, scan_tree, replacing):
    edit = replacing(TABLE, "49,3,0,0,0,1,0,0,1", "49,3,0,0,0,1,0,1,1")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("expected 1 exactly where no type is 1")
    assert EPIDURAL not in scan.cases


def test_resized_slice_is_refused(edited_tree, build_tree):
    def shrink(root):
        path = root / "Patients_CT/050/brain/3.jpg"
        with Image.open(path) as picture:
            small = picture.resize((512, 512))
        small.save(path)

    assert build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, shrink)).codes()[QUIET] == "resized"


def test_slice_without_a_bone_window_is_missed_by_nobody(scan_fixture, fixture_tree):
    assert not (fixture_tree(SOURCE, LAYOUT) / "Patients_CT/084/bone/5.jpg").exists()
    assert len(_keys(scan_fixture(SOURCE, LAYOUT), "084", "bone")) == 1


def test_volumes_of_the_later_edition_fit_no_layout(tmp_path):
    for name in ("ct_scans/049.nii", "masks/049.nii", "hemorrhage_diagnosis_raw_ct.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_no_slice_is_called_normal(build_fixture):
    offered = {o.concept for item in build_fixture(SOURCE, LAYOUT).items for o in item.options}
    assert "No Finding" not in offered
    assert not any("normal" in concept for concept in offered)

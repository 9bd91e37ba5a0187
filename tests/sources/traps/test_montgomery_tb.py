"""Traps of the evidence card `montgomery-tb`."""

import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import Absence, LabelState
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "letters-burnt-into-corners": "no list of films; advice to reviewers",
    "black-borders": "a matter of display; films are shown whole, as they are stored",
    "people-filmed-twice-in-the-mixed-copy": "where it has no readings, nothing names them",
    "children-in-the-mixed-copy": "where it has no readings, it has no ages",
}
SOURCE, LAYOUT = "montgomery-tb", "nlm"
CARD = find_sources()[SOURCE].card
NORMAL, STRAY_RIGHT, CHILD, CONTRADICTED = (
    f"MCUCXR_{n}_0" for n in ("0001", "0052", "0080", "0085")
)
ILL, AGAIN, STRAY_LEFT = (f"MCUCXR_{n}_1" for n in ("0162", "0170", "0399"))
DISEASES = "Disease Diagnosis"


def _reading(key, text):
    def edit(root):
        path = root / f"MontgomerySet/ClinicalReadings/{key}.txt"
        path.write_text(text)

    return edit


def _after(edited_tree, scan_tree, edit):
    return scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))


def test_number_after_the_name_is_the_label(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of(NORMAL, DISEASES) == {"No Finding"}
    assert build.right_of(ILL, DISEASES) == {"Tuberculosis"}


def test_reading_that_contradicts_the_name_makes_it_unknown(scan_fixture, build_fixture):
    states = scan_fixture(SOURCE, LAYOUT).states(CONTRADICTED, "tuberculosis")
    assert states == {"0": LabelState.UNKNOWN}
    assert DISEASES not in build_fixture(SOURCE, LAYOUT).tasks_of(CONTRADICTED)


def test_film_called_ill_with_a_normal_reading_is_unknown(edited_tree, scan_tree):
    edit = _reading(ILL, "Patient's Sex: F\nPatient's Age: 061Y\nnormal \n")
    assert _after(edited_tree, scan_tree, edit).states(ILL, "tuberculosis") == {
        "1": LabelState.UNKNOWN
    }


@pytest.mark.parametrize(
    ("reading", "state"),
    [
        ("apical scars, no active TB", LabelState.UNKNOWN),
        ("old TB", LabelState.UNKNOWN),
        ("healed disease of the left apex", LabelState.UNKNOWN),
        ("nodules, inactive", LabelState.UNKNOWN),
        ("a scar", LabelState.UNKNOWN),
        ("cavity, no scars", LabelState.PRESENT),
        ("cavity, possible tuberculosis", LabelState.UNKNOWN),
        ("infiltrates;\ncultures\nnegative", LabelState.UNKNOWN),
        ("cavity, active TB", LabelState.PRESENT),
        ("cavity", LabelState.PRESENT),
    ],
)
def test_reading_that_denies_or_doubts_tuberculosis_makes_it_unknown(
    edited_tree, survey, reading, state
):
    edit = _reading(ILL, f"Patient's Sex: F\nPatient's Age: 061Y\n{reading}\n")
    (case,) = (
        entry
        for entry in survey(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).cases
        if entry.key == ILL
    )
    assert [label.state for label in case.labels if label.field == "tuberculosis"] == [state]


def test_person_who_was_filmed_twice_is_one_patient(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[ILL].patient == cases[AGAIN].patient != cases[STRAY_LEFT].patient


def test_note_of_the_same_person_works_in_both_directions(edited_tree, scan_tree):
    def edit(root):
        text = "Patient's Sex: F\nPatient's Age: 061Y\n"
        _reading(AGAIN, f"{text}a scar\n")(root)
        _reading(ILL, f"{text}NO REPORT (same pt as {AGAIN})\n")(root)

    cases = _after(edited_tree, scan_tree, edit).cases
    assert cases[ILL].patient == cases[AGAIN].patient


def test_reading_over_several_lines_with_trailing_blanks_is_read(scan_fixture, fixture_tree):
    path = fixture_tree(SOURCE, LAYOUT) / f"MontgomerySet/ClinicalReadings/{ILL}.txt"
    assert path.read_bytes().count(b"\r\n") == 3
    assert b"F \r\n" in path.read_bytes()
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(ILL, "tuberculosis") == {"1": LabelState.PRESENT}


def test_sex_o_is_unknown(scan_fixture):
    assert scan_fixture(SOURCE, LAYOUT).cases[STRAY_LEFT].facts == (("age", "40"),)


def test_age_loses_its_zeros_and_its_unit(scan_fixture):
    assert dict(scan_fixture(SOURCE, LAYOUT).cases[NORMAL].facts) == {"sex": "F", "age": "27"}


def test_film_of_a_child_is_not_diagnosed(scan_fixture, build_fixture):
    assert dict(scan_fixture(SOURCE, LAYOUT).cases[CHILD].facts)["age"] == "5"
    assert DISEASES not in build_fixture(SOURCE, LAYOUT).tasks_of(CHILD)


def test_reading_of_another_form_sets_the_film_aside(edited_tree, scan_tree):
    scan = _after(edited_tree, scan_tree, _reading(NORMAL, "a normal film of a woman\n"))
    assert "(like x xxxxxx xxxx xx x xxxxx" in scan.skips[NORMAL]
    assert scan.bad_rows("expected sex, age in years and a reading") == {NORMAL}


@pytest.mark.parametrize("folder", ["Lung Segmentation/ClinicalReadings", "ClinicalReadings"])
def test_readings_beside_the_mixed_copy_are_used(edited_tree, scan_tree, fixture_tree, folder):
    readings = fixture_tree(SOURCE, LAYOUT) / "MontgomerySet/ClinicalReadings"

    def add(root):
        shutil.copytree(readings, root / folder)

    scan = scan_tree(SOURCE, "mixed", edited_tree(SOURCE, "mixed", add))
    assert scan.cases[CHILD].labels == ()
    assert scan.states(CONTRADICTED, "tuberculosis") == {"0": LabelState.UNKNOWN}
    assert scan.cases[ILL].patient == scan.cases[AGAIN].patient
    assert ("age", "61") in scan.cases[ILL].facts


def test_byte_order_mark_of_a_reading_is_none_of_its_words(edited_tree, scan_tree):
    text = "\ufeffPatient's Sex: F\r\nPatient's Age: 061Y\r\nnormal\r\n"
    scan = _after(edited_tree, scan_tree, _reading(NORMAL, text))
    assert scan.states(NORMAL, "tuberculosis") == {"0": LabelState.PRESENT}


def test_mask_folders_show_the_other_lung_of_the_patient(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[NORMAL]
    volume = readers.read(case.images[0])
    for region in case.regions:
        middle = np.nonzero(rasterise(region.shape, volume)[0])[1].mean() / volume.slices.shape[2]
        assert (middle < 0.5) == (CARD.fields["side"].concept(region.value) == "right lung")


def test_mask_on_the_other_side_than_its_folder_is_set_aside_and_no_failure(
    edited_tree, build_tree
):
    def swap(root):
        folder = root / "MontgomerySet/ManualMask"
        left, right = (folder / side / f"{NORMAL}.png" for side in ("leftMask", "rightMask"))
        shutil.move(left, folder / "held.png")
        shutil.move(right, left)
        shutil.move(folder / "held.png", right)

    rows = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, swap)).quarantine
    (row,) = rows[rows["case"] == NORMAL].to_dict("records")
    assert (row["code"], row["stage"]) == ("lung-side", "render")


def test_two_masks_on_one_side_are_refused(edited_tree, build_tree):
    def copy(root):
        folder = root / "MontgomerySet/ManualMask"
        shutil.copy(folder / f"leftMask/{NORMAL}.png", folder / f"rightMask/{NORMAL}.png")

    assert build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, copy)).codes()[NORMAL] == "lung-side"


@pytest.mark.parametrize(
    ("key", "left_out", "value"),
    [(STRAY_LEFT, "leftMask", "rightMask"), (STRAY_RIGHT, "rightMask", "leftMask")],
)
def test_mask_with_a_stray_blob_is_left_out_alone(scan_fixture, key, left_out, value):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert "stray blob" in scan.skips[f"{key}-{left_out}"]
    assert [region.value for region in scan.cases[key].regions] == [value]


def test_lung_fields_leave_out_what_lies_behind_the_heart():
    assert CARD.fields["side"].absence is Absence.SILENT


def test_numbers_with_gaps_are_taken_from_the_files(scan_fixture):
    assert list(scan_fixture(SOURCE, LAYOUT).cases) == sorted(
        [NORMAL, STRAY_RIGHT, CHILD, CONTRADICTED, ILL, AGAIN, STRAY_LEFT]
    )


def test_wide_film_is_not_turned(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    with Image.open(scan_fixture(SOURCE, LAYOUT).cases[NORMAL].images[0].paths[0]) as film:
        assert film.width > film.height
        assert np.array_equal(build.pixels(build.sample(NORMAL)), np.asarray(film))


def test_folder_wrapped_once_more_is_found(edited_tree, scan_tree, scan_fixture):
    def wrap(root):
        (root / "NLM-MontgomeryCXRSet").mkdir()
        shutil.move(root / "MontgomerySet", root / "NLM-MontgomeryCXRSet/MontgomerySet")

    root = edited_tree(SOURCE, LAYOUT, wrap)
    assert inspect_copy(CARD, root).layout == LAYOUT
    assert list(scan_tree(SOURCE, LAYOUT, root).cases) == list(scan_fixture(SOURCE, LAYOUT).cases)


def test_merged_mask_of_the_mixed_copy_is_both_lungs(scan_fixture, build_fixture):
    (region,) = scan_fixture(SOURCE, "mixed").cases[NORMAL].regions
    assert CARD.fields[region.field].concept(region.value) == "lung"
    tasks = build_fixture(SOURCE, "mixed").tasks_of(NORMAL)
    assert "Organ Recognition" in tasks


def test_films_of_shenzhen_in_the_mixed_copy_are_ignored_by_name(scan_fixture, build_fixture):
    assert not any(key.startswith("CHN") for key in scan_fixture(SOURCE, "mixed").cases)
    codes = build_fixture(SOURCE, "mixed").codes()
    assert codes["Lung Segmentation/CXR_png/CHNCXR_0001_0.png"] == "ignored-by-card"


def test_copies_of_these_films_are_named_and_nothing_may_be_passed_on():
    assert "tbx11k" in [overlap.source for overlap in CARD.overlaps]
    assert not CARD.access.redistribute

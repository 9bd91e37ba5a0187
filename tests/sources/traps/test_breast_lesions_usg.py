"""Traps of the evidence card `breast-lesions-usg`."""

import numpy as np
import openpyxl
import pytest
from PIL import Image

from medrcube.facts import LabelState
from medrcube.sources.breast_lesions_usg.fixture import FOLDER
from medrcube.sources.registry import find_sources

UNTESTED = {
    "copies-without-alpha": "white pixels outside the sector are then part of the picture",
    "heterogeneous-and-complex": "neither is a concept, so they are never options of a question",
    "table-editions": "how the table of September 2023 differs is unverified",
    "merged-benchmarks": "renamed pictures are refused by name; copies in them are not known",
}
SOURCE, LAYOUT = "breast-lesions-usg", "release"
CARD = find_sources()[SOURCE].card
NORMAL, MANY, FOLLOWED, DISPUTED = "case045", "case022", "case002", "case059"
DISEASE, SEVERITY, FINDING = "Disease Diagnosis", "Severity Grading", "Abnormality Diagnosis"


@pytest.fixture
def fixture_scan(scan_fixture):
    return scan_fixture(SOURCE, LAYOUT)


@pytest.fixture
def build(build_fixture):
    return build_fixture(SOURCE, LAYOUT)


def test_hidden_white_pixels_are_black_and_the_tint_is_gone(fixture_scan, build):
    with Image.open(fixture_scan.cases["case005"].images[0].paths[0]) as picture:
        assert np.asarray(picture)[0, 0].tolist() == [255, 255, 255, 0]
    pixels = build.pixels(build.sample("case005"))
    assert pixels.ndim == 2
    assert pixels[0, 0] == 0


def test_normal_scan_has_no_lesion_and_no_unread_sign(fixture_scan):
    assert fixture_scan.states(NORMAL, "lesion") == {"none": LabelState.PRESENT}
    signs = fixture_scan.states(NORMAL, "sign")
    assert signs.pop("skin thickening") == LabelState.ABSENT
    assert set(signs.values()) == {LabelState.UNKNOWN}
    assert fixture_scan.cases[NORMAL].regions == ()


def test_scan_with_further_lesions_is_asked_for_their_place_alone(fixture_scan, build):
    assert len(fixture_scan.cases[MANY].regions) == 3
    assert {item.task for item in build.items_of(MANY, DISEASE)} == set()
    assert build.items_of(MANY, SEVERITY) == []
    assert set(fixture_scan.states(MANY, "sign").values()) == {LabelState.UNKNOWN}


def test_scan_without_biopsy_has_no_histology(fixture_scan):
    assert fixture_scan.states(FOLLOWED, "histology") == {}
    assert fixture_scan.states(FOLLOWED, "pathology") == {"benign": LabelState.PRESENT}


def test_lobular_carcinoma_in_situ_filed_as_benign_is_neither(fixture_scan, build):
    assert fixture_scan.states(DISPUTED, "pathology") == {"benign": LabelState.UNKNOWN}
    assert build.items_of(DISPUTED, DISEASE) == []


def test_several_diagnoses_of_a_cell_are_open(fixture_scan):
    several = [
        states
        for key in fixture_scan.cases
        if len(states := fixture_scan.states(key, "histology")) > 1
    ]
    assert several
    assert all(set(states.values()) == {LabelState.UNKNOWN} for states in several)


def test_combined_and_indefinable_signs_are_open(fixture_scan):
    assert fixture_scan.states("case003", "sign")["shadowing"] == LabelState.UNKNOWN
    assert fixture_scan.states("case006", "sign")["calcification"] == LabelState.UNKNOWN


def test_category_4_is_always_split(build):
    options = {option for item in build.items if item.task == SEVERITY for option in item.options}
    assert "BI-RADS 4" not in options


def test_renamed_pictures_of_a_merged_set_are_refused():
    assert "**/PACE_*" in CARD.unfit


def test_mask_lies_on_the_lesion(fixture_scan):
    mask = fixture_scan.cases["case001"].regions[0].shape.paths[0]
    assert mask.parent.name == FOLDER
    with Image.open(mask) as picture:
        assert picture.mode == "RGBA"


def test_subdivision_of_category_4_is_read_as_text(fixture_scan):
    grades = {value for key in fixture_scan.cases for value in fixture_scan.states(key, "birads")}
    assert {"4a", "4b", "4c", "5"} <= grades


def test_a_woman_has_one_scan(fixture_scan):
    assert len({case.patient for case in fixture_scan.cases.values()}) == len(fixture_scan.cases)


def test_further_mask_that_the_table_does_not_name_sets_its_scan_aside(edited_tree, scan_tree):
    def add(root):
        mask = root / FOLDER / "case001_tumor.png"
        (root / FOLDER / "case001_other1.png").write_bytes(mask.read_bytes())

    assert scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, add)).bad_rows("all further masks")


def _classify(key, value):
    """An edit that changes the classification of one scan."""

    def edit(root):
        path = next(root.rglob("*clinical-data*.xlsx"))
        book = openpyxl.load_workbook(path)
        header, *rows = book.worksheets[0].iter_rows()
        columns = {cell.value: place for place, cell in enumerate(header)}
        row = next(row for row in rows if row[columns["Image_filename"]].value == f"{key}.png")
        row[columns["Classification"]].value = value
        book.save(path)

    return edit


def test_cancer_that_is_filed_as_benign_is_neither(edited_tree, scan_fixture, build_tree):
    value = CARD.fields["histology"].raw_value("invasive ductal carcinoma")
    scan = scan_fixture(SOURCE, LAYOUT)
    key = next(k for k in scan.cases if value in scan.states(k, "histology"))
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _classify(key, "benign")))
    assert build.right_of(key, DISEASE) == set()

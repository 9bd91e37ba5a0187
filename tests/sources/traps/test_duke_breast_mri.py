"""Traps of the evidence card `duke-breast-mri`."""

import openpyxl
import pytest

from medrcube.build import readers
from medrcube.build.pixels.geometry import orientation_of
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import LabelState
from medrcube.sources._synthetic.breast import breast_lesion
from medrcube.sources._synthetic.images import bounds
from medrcube.sources.registry import find_sources

UNTESTED = {
    "corners-count-from-0-or-1": "unverified, one pixel; read as from 1 and noted as a quirk",
    "empty-slices-far-from-the-box": "no absence of a tumor is ever asked",
    "flags-that-the-legend-calls-unreliable": "nodes, skin and pectoral flags are not used",
    "segmentations-of-100-women": "a supplement in .nrrd, not used",
    "licence-of-the-collection": "stated by a dataset card only",
}
SOURCE, LAYOUT = "duke-breast-mri", "tcia"
CARD = find_sources()[SOURCE].card
GE, SIEMENS = "Breast_MRI_001-post_1", "Breast_MRI_002-post_1"
SEVERAL, BOTH_SIDES, BLANK = (f"Breast_MRI_00{n}-post_1" for n in (3, 6, 7))
MAPPING = "Breast-Cancer-MRI-filepath_filename-mapping.xlsx"
CLINIC = "Clinical_and_Other_Features.xlsx"
BOXES = "Annotation_Boxes.xlsx"


def _cells(name, **values):
    """An edit of single cells of the first sheet of a workbook."""

    def edit(root):
        book = openpyxl.load_workbook(root / name)
        for place, value in values.items():
            book[book.sheetnames[0]][place] = value
        book.save(root / name)

    return edit


def _column(name, title, row=2):
    """An edit that gives every woman a value in one column of the clinical sheet."""

    def edit(root, values):
        book = openpyxl.load_workbook(root / name)
        page = book["Data"]
        number = next(cell.column for cell in page[row] if cell.value == title)
        for line, value in enumerate(values, start=4):
            page.cell(line, number).value = value
        book.save(root / name)

    return edit


def _mask(case):
    """The box on the slices of its series, in display order and orientation."""
    volume = readers.read(case.images[0])
    return orientation_of(volume, "axial").apply(
        stack_slices(rasterise(case.regions[0].shape, volume))
    )


def test_names_of_columns_stand_in_the_second_of_three_header_rows(fixture_tree, scan_fixture):
    page = openpyxl.load_workbook(fixture_tree(SOURCE, LAYOUT) / CLINIC)["Data"]
    assert page["A1"].value == "Patient Information"
    assert page["A3"].value is None
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(GE, "histology") == {"1": LabelState.PRESENT}
    assert scan.states(GE, "nottingham") == {"2": LabelState.PRESENT}


def test_names_of_columns_that_stand_twice_do_no_harm(fixture_tree, scan_fixture):
    page = openpyxl.load_workbook(fixture_tree(SOURCE, LAYOUT) / CLINIC)["Data"]
    assert [cell.value for cell in page[2]].count("Shape") == 2
    assert scan_fixture(SOURCE, LAYOUT).cases


@pytest.mark.parametrize("code", ["NA", "NC", "NP", None])
def test_codes_of_nothing_state_nothing(edited_tree, scan_tree, code):
    def edit(root):
        for title in ("Histologic type", "Nottingham grade"):
            _column(CLINIC, title)(root, [code])

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.states(GE, "histology") == scan.states(GE, "nottingham") == {}


def test_code_of_a_histology_that_the_card_does_not_know_sets_its_case_aside(
    edited_tree, scan_tree
):
    root = edited_tree(SOURCE, LAYOUT, lambda r: _column(CLINIC, "Histologic type")(r, [10]))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert scan.bad_rows("'10'")


@pytest.mark.parametrize(("number", "code"), [(4, "0"), (5, "3")])
def test_rare_histology_names_no_concept(scan_fixture, number, code):
    states = scan_fixture(SOURCE, LAYOUT).states(f"Breast_MRI_00{number}-post_1", "histology")
    assert states == {code: LabelState.PRESENT}
    assert CARD.fields["histology"].concept(code) is None


def test_empty_columns_of_the_mapping_do_no_harm(fixture_tree, scan_fixture):
    page = openpyxl.load_workbook(fixture_tree(SOURCE, LAYOUT) / MAPPING).active
    assert [page[f"{letter}1"].value for letter in "EF"] == [" ", " "]
    assert GE in scan_fixture(SOURCE, LAYOUT).cases


def test_file_number_is_padded_in_the_mapping_and_not_on_the_disk(fixture_tree, scan_fixture):
    page = openpyxl.load_workbook(fixture_tree(SOURCE, LAYOUT) / MAPPING).active
    assert page["C2"].value.endswith("/1-001.dcm")
    paths = scan_fixture(SOURCE, LAYOUT).cases[GE].images[0].paths
    assert [path.name for path in paths] == [f"1-{n:02}.dcm" for n in range(1, 8)]
    assert all(path.exists() for path in paths)


def test_original_slice_number_may_have_two_digits(edited_tree, scan_tree, scan_fixture):
    def shorten(root):
        book = openpyxl.load_workbook(root / MAPPING)
        for row in book.active.iter_rows(min_row=2):
            stem, _, number = row[1].value.rpartition("_")
            row[1].value = f"{stem}_{number[1:]}"
        book.save(root / MAPPING)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, shorten))
    assert scan.cases[GE].regions == scan_fixture(SOURCE, LAYOUT).cases[GE].regions


def test_descriptive_folder_names_are_matched_by_the_end_of_the_series_uid(scan_fixture):
    paths = scan_fixture(SOURCE, LAYOUT).cases[SIEMENS].images[0].paths
    assert paths[0].parent.name.startswith("1.000000-ax dyn post_1-")
    assert all(path.exists() for path in paths)


def test_series_with_a_name_that_is_no_original_path_is_set_aside(edited_tree, scan_tree):
    root = edited_tree(SOURCE, LAYOUT, _cells(MAPPING, B2="Breast_MRI_001/pre/1.dcm"))
    assert scan_tree(SOURCE, LAYOUT, root).bad_rows("expected DICOM_Images/")


def test_box_covers_the_slices_by_their_number_in_the_mapping_and_not_its_end(scan_fixture):
    outlines = scan_fixture(SOURCE, LAYOUT).cases[GE].regions[0].shape.outlines
    assert [outline.slice.rpartition(".")[2] for outline in outlines] == ["3", "4", "5"]


def test_what_is_marked_is_a_box_in_whose_corners_no_tumor_need_lie(scan_fixture):
    assert scan_fixture(SOURCE, LAYOUT).cases[GE].regions[0].shape.boxes


def test_box_outside_the_mapped_slices_sets_the_series_aside(edited_tree, scan_tree):
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _cells(BOXES, F2=40, G2=50)))
    assert "no such slice" in scan.skips[GE]


def test_slices_lie_by_position_whatever_their_file_numbers(edited_tree, scan_tree):
    def renumber(root):
        book = openpyxl.load_workbook(root / MAPPING)
        for row in book.active.iter_rows(min_row=2):
            number = int(row[1].value[-7:-4])
            row[1].value = f"{row[1].value[:-7]}{8 - number:03}.dcm"
        book.save(root / MAPPING)

    case = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, renumber)).cases[GE]
    volume = readers.read(case.images[0])
    marked = rasterise(case.regions[0].shape, volume).areas()
    assert list(marked.nonzero()[0]) == [2, 3, 4]
    numbers = [outline.slice.rpartition(".")[2] for outline in case.regions[0].shape.outlines]
    assert numbers == ["5", "4", "3"]


@pytest.mark.parametrize(("key", "seed"), [(GE, 1), (SIEMENS, 2)])
def test_box_of_either_maker_lies_on_the_tumor_that_is_shown_upright(scan_fixture, key, seed):
    marked = _mask(scan_fixture(SOURCE, LAYOUT).cases[key])
    x0, y0, x1, y1 = bounds(marked.any(axis=0))
    expected = bounds(breast_lesion(96, seed=seed))
    assert max(abs(a - b) for a, b in zip((x0, y0, x1, y1), expected, strict=True)) <= 1


@pytest.mark.parametrize("key", [GE, SIEMENS])
def test_pictures_stored_upside_down_are_shown_with_the_breasts_up(build_fixture, key):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(key))
    assert pixels[8:11, 10:14].mean() > 200
    assert pixels[-11:-8, -14:-10].mean() < 100


def test_box_is_used_after_contrast_only(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    boxed = {key.partition("-")[2] for key, case in cases.items() if case.regions}
    assert boxed == {"post_1"}
    assert {"Breast_MRI_001-pre", "Breast_MRI_001-T1"} <= cases.keys()


def test_later_phases_are_set_aside_whatever_their_number(edited_tree, scan_tree):
    def fourth(root):
        book = openpyxl.load_workbook(root / MAPPING)
        for row in book.active.iter_rows(min_row=2):
            row[1].value = row[1].value.replace("post_2", "post_4")
        book.save(root / MAPPING)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, fourth))
    assert "later phase" in scan.skips["Breast_MRI_001-post_4"]


def test_series_of_an_unknown_name_is_set_aside_and_not_guessed(edited_tree, scan_tree):
    def rename(root):
        book = openpyxl.load_workbook(root / MAPPING)
        for row in book.active.iter_rows(min_row=2):
            row[1].value = row[1].value.replace("/T1/", "/T1_late/")
        book.save(root / MAPPING)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, rename))
    assert "none of the known series" in scan.skips["Breast_MRI_001-T1_late"]


@pytest.mark.parametrize(
    ("series", "concept"),
    [
        ("pre", "T1 fat-saturated"),
        ("post_1", "T1 fat-saturated post-contrast"),
        ("T1", "T1 not fat-saturated"),
    ],
)
def test_name_of_a_series_is_its_protocol(build_fixture, series, concept):
    build = build_fixture(SOURCE, LAYOUT)
    right = build.right_of(f"Breast_MRI_001-{series}", "Imaging Protocols Recognition")
    assert right == {concept}


@pytest.mark.parametrize(
    "title",
    ["Multicentric/Multifocal", "Contralateral Breast Involvement", "Bilateral Information"],
)
@pytest.mark.parametrize("flag", [1, "NC"])
def test_box_is_one_of_several_where_another_focus_is_not_denied(
    edited_tree, scan_tree, title, flag
):
    root = edited_tree(SOURCE, LAYOUT, lambda r: _column(CLINIC, title)(r, [flag]))
    assert scan_tree(SOURCE, LAYOUT, root).cases[GE].regions[0].field == "one_of_several"


def test_only_the_box_of_a_single_focus_denies_others(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[GE].regions[0].field == "cancer"
    assert cases[SEVERAL].regions[0].field == "one_of_several"


def test_cancer_on_both_sides_leaves_histology_and_grade_open(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(BOTH_SIDES, "histology") == {"5": LabelState.UNKNOWN}
    assert scan.states(BOTH_SIDES, "nottingham") == {"1": LabelState.UNKNOWN}


def test_what_only_a_microscope_shows_is_asked_of_no_picture(build_fixture):
    fields = {item.field for item in build_fixture(SOURCE, LAYOUT).items}
    assert fields.isdisjoint({"histology", "nottingham"})


def test_woman_with_blank_cells_states_no_histology(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(BLANK, "histology") == scan.states(BLANK, "nottingham") == {}


def test_sets_that_hold_these_women_are_named():
    assert any(o.source == "mama-mia" and "BreastDCEDL" in o.note for o in CARD.overlaps)


def test_box_on_the_other_side_than_the_sheet_says_sets_its_picture_aside(edited_tree, build_tree):
    """Women of both makers, whose pictures are turned or not."""
    root = edited_tree(SOURCE, LAYOUT, lambda _: None)
    page = openpyxl.load_workbook(root / CLINIC)["Data"]
    number = next(cell.column for cell in page[2] if cell.value == "Tumor Location")
    stated = [page.cell(line, number).value for line in range(4, 4 + 7)]
    other = [{"L": "R", "R": "L"}[side] for side in stated]
    other[2:] = stated[2:]
    _column(CLINIC, "Tumor Location")(root, other)
    codes = build_tree(SOURCE, root).codes()
    assert {case for case, code in codes.items() if code == "wrong-side"} == {GE, SIEMENS}

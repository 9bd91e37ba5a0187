"""Traps of the evidence card `inbreast`."""

import plistlib
import shutil
from dataclasses import replace

import numpy as np
import pytest

from medrcube.build import readers
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.regions.rasterize import rasterise
from medrcube.build.stages.contradictions import check_labels
from medrcube.facts import Grade, LabelState, Scope, Words
from medrcube.ontologies.terms import load_terms
from medrcube.sources._formats.tables.spreadsheets import read_cells
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.images import bounds, lesion
from medrcube.sources.registry import find_sources

UNTESTED = {
    "microcalcifications-are-almost-constant": "a bias of the collection; absence is never asked",
    "many-pictures-of-one-woman": "advice for the choice of a batch, noted as a quirk",
    "bit-depth-photometric-and-licence": "unverified, need the data",
    "suffix-of-muscle-files": "unverified; any suffix after the number is accepted",
}
SOURCE = "inbreast"
CARD = find_sources()[SOURCE].card
LAYOUTS = ("release", "csv")
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def _key(row):
    return str(20586908 + 52 * row)


NORMAL_CC, NORMAL_MLO, MICROS, MASS, ASYMMETRY, MIXED, BARE, SPICULATED, CANCER, BELOW = map(
    _key, range(10)
)


def _mask(case, which):
    return rasterise(case.regions[which].shape, readers.read(case.images[0]))[0]


@each_layout
def test_mlo_is_written_ml_in_file_names(scan_fixture, layout):
    scan = scan_fixture(SOURCE, layout)
    case = scan.cases[MASS]
    assert "_MG_R_ML_ANON" in case.images[0].paths[0].name
    assert scan.states(MASS, "view") == {"MLO": LabelState.PRESENT}


@each_layout
def test_patient_is_the_code_in_the_file_name_and_not_the_removed_column(scan_fixture, layout):
    patients = {case.patient for case in scan_fixture(SOURCE, layout).cases.values()}
    assert len(patients) == 9
    assert all(len(patient) == 16 and int(patient, 16) for patient in patients)


def test_picture_that_contradicts_its_sheet_is_set_aside(edited_tree, scan_tree):
    def swap(root):
        path = next(root.rglob(f"{NORMAL_CC}_*"))
        path.rename(path.with_name(path.name.replace("_MG_R_", "_MG_L_")))

    scan = scan_tree(SOURCE, "release", edited_tree(SOURCE, "release", swap))
    assert "the file name says otherwise" in scan.skips[NORMAL_CC]


def test_copy_in_other_folders_and_capitals_is_read(edited_tree, scan_tree, scan_fixture):
    def nest(root):
        inner = root / "archive/INbreast Release 1.0"
        inner.parent.mkdir()
        shutil.copytree(root, inner, ignore=shutil.ignore_patterns("archive"))
        for path in root.iterdir():
            if path.name != "archive":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for path in (inner / "AllDICOMs").iterdir():
            path.rename(path.with_name(path.name.replace("_ANON", "_anon")))

    scan = scan_tree(SOURCE, "release", edited_tree(SOURCE, "release", nest))
    assert list(scan.cases) == list(scan_fixture(SOURCE, "release").cases)
    assert all(path.exists() for case in scan.cases.values() for path in case.files())


def test_edition_with_png_pictures_fits_no_layout(edited_tree):
    def convert(root):
        for path in root.rglob("*.dcm"):
            path.rename(path.with_suffix(".png"))

    assert not inspect_copy(CARD, edited_tree(SOURCE, "csv", convert)).fits


def test_csv_is_parted_by_semicolons_and_ends_its_lines_as_windows_does(fixture_tree, scan_fixture):
    table = (fixture_tree(SOURCE, "csv") / "INbreast.csv").read_bytes()
    assert table.startswith(b"Patient ID;Patient age;Laterality;View;")
    assert b"\r\n" in table
    assert len(scan_fixture(SOURCE, "csv").cases) == 9


@each_layout
def test_density_of_blanks_is_missing(scan_fixture, layout):
    assert scan_fixture(SOURCE, layout).states(BARE, "density") == {}


def test_number_that_the_sheet_holds_as_a_fraction_names_its_file(scan_fixture):
    cases = scan_fixture(SOURCE, "release").cases
    assert all(path.exists() for case in cases.values() for path in case.files())


def test_blank_row_and_row_of_totals_are_no_pictures(fixture_tree, scan_fixture):
    rows = read_cells(fixture_tree(SOURCE, "release") / "INbreast.xls")
    assert rows[-1][5] == ""
    assert rows[-1][11] == "2"
    scan = scan_fixture(SOURCE, "release")
    assert len(scan.cases) + len(scan.skips) == 10


def test_column_of_masses_whose_name_ends_with_a_blank_is_found(fixture_tree, scan_fixture):
    header = read_cells(fixture_tree(SOURCE, "release") / "INbreast.xls")[0]
    assert "Mass " in header
    evidence = [label.evidence for label in scan_fixture(SOURCE, "release").cases[MASS].labels]
    assert "INbreast.xls:5 Mass=X" in evidence


def test_flag_of_one_blank_is_no_flag(fixture_tree, scan_fixture):
    rows = read_cells(fixture_tree(SOURCE, "release") / "INbreast.xls")
    assert rows[7][11] == " "
    assert "asymmetry" not in scan_fixture(SOURCE, "release").states(BARE, "finding")


@pytest.mark.parametrize(
    ("note", "denied"), [("nódulo no QSE", False), ("sem nódulos", True), ("normal", True)]
)
def test_mass_that_the_notes_name_is_not_denied(scan_fixture, note, denied):
    case = scan_fixture(SOURCE, "release").cases[NORMAL_CC]
    words = Words(name="notes", text=note, evidence="INbreast.xls:2")
    heard = check_labels(CARD, replace(case, words=(words,)), load_terms()).case
    assert ("breast mass" in facts_of_case(CARD, heard, load_terms()).absent) == denied


def test_second_sheet_in_another_row_order_is_not_used(fixture_tree, scan_fixture):
    path = fixture_tree(SOURCE, "release") / "INbreast.xls"
    assert read_cells(path, sheet="Sheet2")[1][1] == "2"
    assert scan_fixture(SOURCE, "release").states(NORMAL_CC, "birads") == {"1": LabelState.PRESENT}


@each_layout
def test_grades_are_numbers_and_text_in_one_column(scan_fixture, layout):
    scan = scan_fixture(SOURCE, layout)
    grades = [next(iter(scan.states(key, "birads"))) for key in scan.cases]
    assert grades == ["1", "1", "2", "3", "4a", "4b", "4c", "5", "6"]


@pytest.mark.parametrize(
    ("key", "spelling", "concept"),
    [
        (MICROS, "calcifications", "breast calcification"),
        (ASYMMETRY, "assymetry", "asymmetry"),
        (MIXED, "asymmetry", "asymmetry"),
        (BARE, "cluster", "calcification cluster"),
        (CANCER, "distortion", "architectural distortion"),
        (CANCER, "espiculated region", None),
        (SPICULATED, "spiculated region", None),
        (MIXED, "unnamed", None),
        (MIXED, "point 1", None),
        (MIXED, "point 3", None),
    ],
)
def test_marks_of_many_spellings_are_few_findings(scan_fixture, key, spelling, concept):
    assert scan_fixture(SOURCE, "release").states(key, "finding")[spelling] is LabelState.PRESENT
    assert CARD.fields["finding"].concept(spelling) == concept


def test_one_point_is_a_calcification_and_no_region(scan_fixture):
    case = scan_fixture(SOURCE, "release").cases[MICROS]
    assert case.regions == ()


def test_mark_of_an_area_that_is_one_point_is_no_region(edited_tree, scan_tree):
    def shorten(root):
        path = root / f"AllXML/{BARE}.xml"
        whole = plistlib.loads(path.read_bytes())
        del whole["Images"][0]["ROIs"][0]["Point_px"][1:]
        path.write_bytes(plistlib.dumps(whole))

    scan = scan_tree(SOURCE, "release", edited_tree(SOURCE, "release", shorten))
    assert {region.field for region in scan.cases[BARE].regions} == {"structure"}
    assert "cluster" in scan.states(BARE, "finding")


def test_points_are_column_then_row(scan_fixture):
    marked = _mask(scan_fixture(SOURCE, "release").cases[MASS], 0)
    x0, y0, x1, y1 = bounds(lesion(*marked.shape, seed=3))
    assert bounds(marked) == (x0, y0, x1 + 1, y1 + 1)


def test_marks_are_found_by_key_in_whatever_order_a_file_holds_them(edited_tree, scan_tree):
    def reverse(root):
        for path in root.glob("AllXML/*.xml"):
            whole = plistlib.loads(path.read_bytes())
            for image in whole["Images"]:
                image["ROIs"] = [dict(reversed(roi.items())) for roi in image["ROIs"]]
            path.write_bytes(plistlib.dumps(whole, sort_keys=False))

    root = edited_tree(SOURCE, "release", reverse)
    assert _mask(scan_tree(SOURCE, "release", root).cases[MASS], 0).any()


@pytest.mark.parametrize("key", [NORMAL_MLO, ASYMMETRY])
def test_muscle_of_a_left_breast_is_closed_at_the_upper_left_corner(scan_fixture, key):
    case = scan_fixture(SOURCE, "release").cases[key]
    which = next(n for n, region in enumerate(case.regions) if region.field == "structure")
    muscle = _mask(case, which)
    assert muscle[5, 0]
    assert not muscle[:, -20:].any()


@pytest.mark.parametrize("key", [MASS, BARE])
def test_muscle_of_a_right_breast_is_closed_at_the_upper_right_corner(scan_fixture, key):
    case = scan_fixture(SOURCE, "release").cases[key]
    which = next(n for n, region in enumerate(case.regions) if region.field == "structure")
    muscle = _mask(case, which)
    assert muscle[5, -1]
    assert not muscle[:, :20].any()


def test_muscle_files_have_two_shapes(fixture_tree, scan_fixture):
    folder = fixture_tree(SOURCE, "release") / "PectoralMuscle/Pectoral Muscle XML"
    shapes = {"DataSummary" in plistlib.loads(path.read_bytes()) for path in folder.iterdir()}
    assert shapes == {True, False}
    cases = scan_fixture(SOURCE, "release").cases.values()
    muscles = [r for case in cases for r in case.regions if r.field == "structure"]
    assert len(muscles) == len(list(folder.iterdir()))


def test_view_from_below_is_left_out(scan_fixture):
    assert "view from below" in scan_fixture(SOURCE, "release").skips[BELOW]


def test_bi_rads_is_no_pathology(build_fixture):
    assert "Disease Diagnosis" not in {i.task for i in build_fixture(SOURCE, "release").items}


def test_known_cancer_is_no_grade_of_suspicion(build_fixture):
    build = build_fixture(SOURCE, "release")
    assert build.items_of(CANCER, "Severity Grading") == []
    assert not {"BI-RADS 6"} & {c for i in build.items for c in (o.concept for o in i.options)}


@each_layout
def test_subdivided_category_4_is_kept(build_fixture, layout):
    build = build_fixture(SOURCE, layout)
    grades = {key: build.right_of(key, "Severity Grading") for key in (ASYMMETRY, MIXED, BARE)}
    assert [g & {"BI-RADS 4A", "BI-RADS 4B", "BI-RADS 4C"} for g in grades.values()] == [
        {"BI-RADS 4A"},
        {"BI-RADS 4B"},
        {"BI-RADS 4C"},
    ]


def test_picture_of_category_4c_without_a_flag_is_not_called_normal(scan_fixture):
    scan = scan_fixture(SOURCE, "release")
    assert "normal" not in scan.states(BARE, "finding")
    assert LabelState.ABSENT not in scan.states(BARE, "finding").values()


@pytest.mark.parametrize("key", [NORMAL_CC, NORMAL_MLO])
def test_category_1_has_no_marks_and_denies_all_four_findings(scan_fixture, key):
    scan = scan_fixture(SOURCE, "release")
    ground = facts_of_case(CARD, scan.cases[key], load_terms())
    names = ("breast mass", "breast calcification", "architectural distortion", "asymmetry")
    assert [ground.absent[name].grade for name in names] == [Grade.A, Grade.B, Grade.B, Grade.B]


def test_other_categories_deny_nothing(scan_fixture):
    ground = facts_of_case(CARD, scan_fixture(SOURCE, "release").cases[MICROS], load_terms())
    names = ("breast mass", "architectural distortion", "asymmetry")
    assert {ground.absent[name].grade for name in names} == {Grade.C}


def test_copy_without_the_marks_of_a_picture_does_not_deny_a_mass(edited_tree, scan_tree):
    root = edited_tree(SOURCE, "csv", lambda r: (r / f"AllXML/{MICROS}.xml").unlink())
    scan = scan_tree(SOURCE, "csv", root)
    assert scan.states(MICROS, "mass") == {"mass": LabelState.UNKNOWN}
    ground = facts_of_case(CARD, scan.cases[MICROS], load_terms())
    assert "breast mass" not in ground.absent


def test_views_of_one_breast_that_differ_leave_its_classes_open(
    edited_tree, scan_tree, scan_fixture
):
    def same_woman(root):
        first, second = (next(root.rglob(f"{key}_*.dcm")) for key in (NORMAL_CC, MIXED))
        second.rename(second.with_name(first.name.replace(NORMAL_CC, MIXED)))

    apart = scan_fixture(SOURCE, "release")
    assert apart.states(MIXED, "birads") == {"4b": LabelState.PRESENT}
    scan = scan_tree(SOURCE, "release", edited_tree(SOURCE, "release", same_woman))
    for key in (NORMAL_CC, MIXED):
        for field in ("birads", "density"):
            assert set(scan.states(key, field).values()) == {LabelState.UNKNOWN}, (key, field)


def test_bi_rads_is_that_of_the_picture_and_density_that_of_the_breast():
    assert CARD.fields["birads"].scope is Scope.IMAGE
    assert CARD.fields["density"].scope is Scope.BREAST


def test_dark_background_of_fourteen_bits_fills_the_greys(build_fixture):
    build = build_fixture(SOURCE, "release")
    pixels = build.pixels(build.sample(MASS))
    assert pixels.dtype == np.uint8
    assert (pixels.min(), pixels.max()) == (0, 255)


@pytest.mark.parametrize(("key", "edge"), [(MICROS, 0), (NORMAL_CC, -1)])
def test_breast_touches_the_edge_of_its_side_as_stored(build_fixture, key, edge):
    build = build_fixture(SOURCE, "release")
    pixels = build.pixels(build.sample(key))
    assert pixels[40:110, edge].mean() > 60
    assert pixels[40:110, -1 - edge].mean() < 40

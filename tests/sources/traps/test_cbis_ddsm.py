"""Traps of the evidence card `cbis-ddsm`."""

import shutil

import numpy as np
import pydicom
import pytest

from medrcube.build import readers
from medrcube.build.questions.case_facts import facts_of_case
from medrcube.build.regions.rasterize import rasterise
from medrcube.errors import SourceError
from medrcube.facts import Grade, LabelState
from medrcube.ontologies.terms import load_terms
from medrcube.sources._synthetic.images import lesion, write_dicom
from medrcube.sources.registry import find_sources

UNTESTED = {
    "markers-such-as-rmlo-burnt-in": "on most films; advice to reviewers, noted as a quirk",
    "outlines-of-calcifications-are-wide": "a matter of degree, noted as a quirk",
    "one-mammogram-a-breast-and-view": "advice for the choice of a batch",
    "full-list-of-columns-of-dicom-info": "unverified; the columns used are asked for by name",
}
SOURCE = "cbis-ddsm"
CARD = find_sources()[SOURCE].card
LAYOUTS = ("tcia", "early", "kaggle")
SPLIT_STUDIES = "Mass-Training_P_00001_LEFT_MLO"
TWO = "Mass-Training_P_00004_RIGHT_CC"
PLAIN = "Mass-Training_P_00001_LEFT_CC"
CALC = "Calc-Training_P_00020_LEFT_CC"
BOTH = ("Mass-Training_P_00005_RIGHT_MLO", "Calc-Training_P_00005_RIGHT_MLO")
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def _marked(case, which=0):
    return rasterise(case.regions[which].shape, readers.read(case.images[0]))[0]


def _masks(scan):
    return [region.shape.paths[0] for case in scan.cases.values() for region in case.regions]


@each_layout
def test_column_of_density_has_another_name_in_each_table(scan_fixture, layout):
    scan = scan_fixture(SOURCE, layout)
    assert scan.states(PLAIN, "density") == {"3": LabelState.PRESENT}
    assert scan.states(CALC, "density") == {"3": LabelState.PRESENT}


def test_path_that_ends_with_a_line_break_inside_quotes_is_found(fixture_tree, scan_fixture):
    root = fixture_tree(SOURCE, "tcia")
    for name in ("mass", "calc"):
        table = (root / f"{name}_case_description_train_set.csv").read_bytes()
        assert b'000001.dcm\n"' in table
        assert table.count(b"\r\n") > 3
    scan = scan_fixture(SOURCE, "tcia")
    assert not scan.skips
    assert all(path.exists() for path in _masks(scan))


@each_layout
def test_file_names_of_the_tables_are_on_no_disk(scan_fixture, layout):
    scan = scan_fixture(SOURCE, layout)
    assert len(scan.cases) == 19
    assert all(path.exists() for case in scan.cases.values() for path in case.files())


def test_classic_folder_names_are_read_like_descriptive_ones(edited_tree, scan_tree, scan_fixture):
    def classic(root):
        for number, study in enumerate(sorted((root / "CBIS-DDSM").glob("*/*"))):
            for which, series in enumerate(sorted(study.iterdir())):
                series.rename(study / f"1.3.6.1.4.1.9590.{number}.{which}")
            study.rename(study.with_name(f"1.3.6.1.4.1.9590.{number}"))

    scan = scan_tree(SOURCE, "tcia", edited_tree(SOURCE, "tcia", classic))
    assert list(scan.cases) == list(scan_fixture(SOURCE, "tcia").cases)
    assert _marked(scan.cases[PLAIN]).any()


@each_layout
def test_mask_is_told_from_the_crop_whatever_its_number(scan_fixture, layout):
    scan = scan_fixture(SOURCE, layout)
    assert len({path.name.partition("-")[0] + path.name[-5] for path in _masks(scan)}) >= 2
    for which, key in enumerate(scan.cases):
        marked = _marked(scan.cases[key])
        assert marked.sum() == pytest.approx(lesion(168, 120, seed=which).sum(), rel=0.03), key


def test_mask_in_another_study_and_in_a_series_of_crops_is_found(scan_fixture):
    case = scan_fixture(SOURCE, "tcia").cases[SPLIT_STUDIES]
    path = case.regions[0].shape.paths[0]
    assert "cropped images" in path.parent.name
    folders = {file.parents[1] for file in path.parents[2].rglob("*.dcm")}
    assert len(folders) == 2
    assert pydicom.dcmread(path).BitsAllocated == 8


def test_mask_of_another_size_than_its_mammogram_is_refused(edited_tree, build_tree, scan_tree):
    def shrink(root):
        case = scan_tree(SOURCE, "tcia", root).cases[PLAIN]
        write_dicom(case.regions[0].shape.paths[0], np.full((160, 118), 255, np.uint8))

    build = build_tree(SOURCE, edited_tree(SOURCE, "tcia", shrink))
    assert build.codes()[PLAIN] == "mask-size"


def test_two_files_that_may_be_the_mask_set_the_picture_aside(edited_tree, scan_tree):
    def double(root):
        first, second = sorted(next(root.rglob(f"{PLAIN}_1")).rglob("*.dcm"))
        shutil.copy(first, second)

    scan = scan_tree(SOURCE, "tcia", edited_tree(SOURCE, "tcia", double))
    assert "look like the mask" in scan.skips[PLAIN]


def test_jpeg_smear_around_a_mask_is_not_marked(scan_fixture):
    case = scan_fixture(SOURCE, "kaggle").cases[PLAIN]
    marked = _marked(case)
    assert np.count_nonzero(marked != lesion(*marked.shape, seed=0)) < 12


def test_jpeg_edition_without_the_depth_of_pixels_is_refused(edited_tree, scan_tree, replacing):
    edit = replacing("csv/dicom_info.csv", "BitsAllocated", "Bits")
    with pytest.raises(SourceError, match="BitsAllocated"):
        scan_tree(SOURCE, "kaggle", edited_tree(SOURCE, "kaggle", edit))


def test_patient_is_that_of_the_table_and_not_the_folder_in_the_header(scan_fixture):
    case = scan_fixture(SOURCE, "tcia").cases[PLAIN]
    assert pydicom.dcmread(case.images[0].paths[0]).PatientID == PLAIN
    assert case.patient == "P_00001"


@each_layout
def test_benign_without_callback_is_benign(build_fixture, layout):
    build = build_fixture(SOURCE, layout)
    (item,) = build.items_of("Mass-Test_P_00016_LEFT_CC", "Disease Diagnosis")
    assert item.concept == "BENIGN"


def test_assessment_0_is_incomplete_and_no_grade(build_fixture):
    build = build_fixture(SOURCE, "tcia")
    assert build.items_of("Mass-Training_P_00006_LEFT_CC", "Severity Grading") == []
    assert build.items_of("Calc-Test_P_01743_LEFT_MLO", "Severity Grading")


def test_assessment_1_contradicts_its_outline_and_is_no_grade(scan_fixture, build_fixture):
    key = "Mass-Test_P_00016_LEFT_CC"
    assert scan_fixture(SOURCE, "tcia").states(key, "assessment") == {"1": LabelState.PRESENT}
    build = build_fixture(SOURCE, "tcia")
    assert build.items_of(key, "Severity Grading") == []
    graded = [item for item in build.items if item.field == "assessment"]
    assert graded
    assert "BI-RADS 1" not in {item.concept for item in graded}
    assert CARD.fields["assessment"].concept("1") is None


def test_views_of_one_breast_that_differ_leave_the_grade_of_both_open(scan_fixture, build_fixture):
    scan, build = scan_fixture(SOURCE, "tcia"), build_fixture(SOURCE, "tcia")
    for key in (PLAIN, SPLIT_STUDIES):
        assert scan.states(key, "assessment") == {"4": LabelState.UNKNOWN, "5": LabelState.UNKNOWN}
        assert scan.states(key, "pathology") == {"MALIGNANT": LabelState.PRESENT}
        assert build.items_of(key, "Severity Grading") == []


def test_views_of_one_breast_that_agree_are_graded(scan_fixture):
    scan = scan_fixture(SOURCE, "tcia")
    for view in ("CC", "MLO"):
        key = f"Mass-Training_P_00008_LEFT_{view}"
        assert scan.states(key, "assessment") == {"3": LabelState.PRESENT}


@pytest.mark.parametrize(
    ("key", "concept"),
    [
        ("Mass-Test_P_00016_LEFT_CC", "intramammary lymph node"),
        ("Mass-Test_P_00017_RIGHT_MLO", "global asymmetry"),
        ("Mass-Test_P_00018_RIGHT_CC", "focal asymmetry"),
        ("Mass-Training_P_00008_LEFT_MLO", "intramammary lymph node"),  # joined to OVAL
    ],
)
def test_outline_of_the_type_mass_that_is_none_leaves_the_mass_open(
    scan_fixture, build_fixture, key, concept
):
    case = scan_fixture(SOURCE, "tcia").cases[key]
    ground = facts_of_case(CARD, case, load_terms())
    assert "breast mass" in ground.unknown
    assert concept in ground.present
    assert {region.field for region in case.regions} == {"special"}
    build = build_fixture(SOURCE, "tcia")
    assert "breast mass" not in {item.concept for item in build.items_of(key)}
    assert "breast mass" not in build.wrong_of(key)


def test_distortion_alone_is_no_mass_and_beside_the_shape_of_a_mass_is_one(
    edited_tree, scan_tree, scan_fixture, replacing
):
    table = "mass_case_description_train_set.csv"
    edit = replacing(table, "IRREGULAR-ARCHITECTURAL_DISTORTION", "ARCHITECTURAL_DISTORTION")
    alone = scan_tree(SOURCE, "tcia", edited_tree(SOURCE, "tcia", edit))
    assert alone.states(PLAIN, "abnormality") == {"mass": LabelState.UNKNOWN}
    beside = scan_fixture(SOURCE, "tcia")
    assert beside.states(PLAIN, "abnormality") == {"mass": LabelState.PRESENT}


def test_mass_beside_an_outline_that_may_be_none_is_left_open(edited_tree, scan_tree, replacing):
    edit = replacing(
        "mass_case_description_train_set.csv", "ROUND,OBSCURED,3,MAL", ",OBSCURED,3,MAL"
    )
    scan = scan_tree(SOURCE, "tcia", edited_tree(SOURCE, "tcia", edit))
    assert scan.states(TWO, "abnormality") == {"mass": LabelState.UNKNOWN}


def test_node_has_no_shape_and_no_margin_of_a_mass(scan_fixture):
    scan, key = scan_fixture(SOURCE, "tcia"), "Mass-Training_P_00008_LEFT_MLO"
    assert scan.states(key, "shape") == {"OVAL": LabelState.UNKNOWN}
    assert scan.states(key, "margin") == {"CIRCUMSCRIBED": LabelState.UNKNOWN}
    assert scan.states(key, "special") == {"LYMPH_NODE": LabelState.PRESENT}


def test_density_0_is_missing():
    assert CARD.fields["density"].concept("0") is None


def test_density_is_asked_in_no_task(build_fixture):
    assert "density" not in {item.field for item in build_fixture(SOURCE, "tcia").items}


def test_both_spellings_of_lucent_centres_are_one_type(scan_fixture):
    scan = scan_fixture(SOURCE, "tcia")
    stated = scan.states("Calc-Test_P_01743_LEFT_MLO", "calc_type")
    assert set(stated) == {"LUCENT_CENTER", "LUCENT_CENTERED"}
    assert len({CARD.fields["calc_type"].concept(value) for value in stated}) == 1


def test_descriptors_joined_by_a_hyphen_are_all_true(scan_fixture):
    scan = scan_fixture(SOURCE, "tcia")
    assert scan.states(PLAIN, "special") == {"ARCHITECTURAL_DISTORTION": LabelState.PRESENT}
    assert set(scan.states(CALC, "calc_type")) == {"AMORPHOUS", "COARSE", "PLEOMORPHIC"}


def test_blank_descriptor_states_nothing(scan_fixture):
    assert scan_fixture(SOURCE, "tcia").states("Mass-Test_P_00017_RIGHT_MLO", "margin") == {}


def test_architectural_distortion_of_the_shape_column_is_no_shape(scan_fixture, build_fixture):
    assert scan_fixture(SOURCE, "tcia").states(PLAIN, "shape") == {"IRREGULAR": LabelState.PRESENT}
    wrong = build_fixture(SOURCE, "tcia").wrong_of(PLAIN)
    assert "architectural distortion" not in wrong


@each_layout
def test_abnormalities_of_one_film_that_differ_leave_its_grade_open(
    scan_fixture, build_fixture, layout
):
    scan = scan_fixture(SOURCE, layout)
    assert scan.states(TWO, "pathology") == {
        "BENIGN_WITHOUT_CALLBACK": LabelState.UNKNOWN,
        "MALIGNANT": LabelState.UNKNOWN,
    }
    items = build_fixture(SOURCE, layout).items_of(TWO)
    assert {item.field for item in items}.isdisjoint({"pathology", "assessment"})


def test_film_with_several_abnormalities_is_not_asked_for_the_one_place(build_fixture):
    build = build_fixture(SOURCE, "tcia")
    assert build.items_of(TWO, "ROI Grounding") == []
    assert len(build.items_of(PLAIN, "ROI Grounding")) == 1


def test_film_with_several_abnormalities_is_not_described_as_if_it_had_one(scan_fixture):
    scan = scan_fixture(SOURCE, "tcia")
    assert scan.states(TWO, "shape") == scan.states(TWO, "margin") == {}


@pytest.mark.parametrize("key", BOTH)
def test_view_under_mass_and_under_calc_knows_of_both(scan_fixture, key):
    scan = scan_fixture(SOURCE, "tcia")
    assert set(scan.states(key, "abnormality")) == {"mass", "calcification"}
    assert set(scan.states(key, "pathology").values()) == {LabelState.UNKNOWN}


@pytest.mark.parametrize(("key", "other"), [(PLAIN, "breast calcification"), (CALC, "breast mass")])
def test_a_row_for_one_type_does_not_deny_the_other(scan_fixture, key, other):
    ground = facts_of_case(CARD, scan_fixture(SOURCE, "tcia").cases[key], load_terms())
    assert ground.absent[other].grade is Grade.C


def test_no_film_is_called_normal(scan_fixture):
    for case in scan_fixture(SOURCE, "tcia").cases.values():
        assert LabelState.ABSENT not in {label.state for label in case.labels}
    assert "No Finding" not in {c for field in CARD.fields.values() for c in field.concepts()}


@pytest.mark.parametrize("patient", ["P_00016"])
def test_woman_who_is_training_in_one_table_and_test_in_the_other_is_training(
    scan_fixture, patient
):
    cases = scan_fixture(SOURCE, "tcia").cases
    mine = {key: case.split for key, case in cases.items() if case.patient == patient}
    assert {key.split("_")[0] for key in mine} == {"Mass-Test", "Calc-Training"}
    assert set(mine.values()) == {"training"}


def test_spacing_of_a_header_does_not_stretch_the_film(edited_tree, build_tree, scan_tree):
    def space(root):
        path = scan_tree(SOURCE, "tcia", root).cases[PLAIN].images[0].paths[0]
        data = pydicom.dcmread(path)
        data.PixelSpacing = [0.1, 0.05]
        data.save_as(path)

    sample = build_tree(SOURCE, edited_tree(SOURCE, "tcia", space)).sample(PLAIN)
    assert (sample.width, sample.height) == (120, 168)


def test_film_is_neither_turned_nor_mirrored(build_fixture):
    build = build_fixture(SOURCE, "tcia")
    pixels = build.pixels(build.sample(CALC))
    mark = pixels[15:19, 14:17].mean()
    assert mark > 200
    assert max(pixels[15:19, -17:-14].mean(), pixels[-19:-15, 14:17].mean()) < 150


def test_outline_below_a_thousandth_of_the_picture_is_not_asked():
    assert CARD.roi[0] == 0.001

"""Traps of the evidence card `bus-bra`."""

import re
import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import LabelState
from medrcube.sources._synthetic.images import lesion
from medrcube.sources.registry import find_sources

UNTESTED = {
    "texts-callipers-and-logos-burnt-in": "no list of files; advice to reviewers, noted as a quirk",
    "one-panel-a-case": "advice for the choice of a batch",
    "cysts-without-biopsy": "the table does not say which; noted as a quirk",
    "licence-of-the-zenodo-record": "unverified, needs the page",
}
SOURCE, LAYOUT = "bus-bra", "release"
CARD = find_sources()[SOURCE].card
LEFT, RIGHT = "bus_0001-l", "bus_0001-r"
STRAY = "bus_0101-l"
PHYLLODES = "bus_0017-s"
RARE = ("galactocele", "ductal hyperplasia", "lymph node", "fibrosis", "lobular atrophy")


def _key_of(scan, histology):
    return next(k for k in scan.cases if histology in scan.states(k, "histology"))


def test_kaggle_copy_with_one_folder_more_is_read(edited_tree, scan_tree, scan_fixture):
    def nest(root):
        inner = root / "BUSBRA/BUSBRA"
        inner.mkdir(parents=True)
        for path in (root / "Images", root / "Masks", *root.glob("*.csv")):
            shutil.move(path, inner / path.name)

    root = edited_tree(SOURCE, LAYOUT, nest)
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert list(scan.cases) == list(scan_fixture(SOURCE, LAYOUT).cases)
    assert all(path.exists() for case in scan.cases.values() for path in case.files())


def test_mask_has_the_name_of_its_picture_with_another_prefix(scan_fixture):
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        names = [path.name for region in case.regions for path in region.shape.paths]
        assert names in ([key.replace("bus_", "mask_") + ".png"], [])


def test_mask_of_one_bit_marks_only_the_lesion(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[LEFT]
    with Image.open(case.regions[0].shape.paths[0]) as picture:
        assert picture.mode == "1"
    marked = rasterise(case.regions[0].shape, readers.read(case.images[0]))[0]
    assert (marked == lesion(*marked.shape, seed=1)).all()


def test_mask_with_a_stray_second_part_marks_nothing(scan_fixture, build_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[STRAY]
    mask = case.images[0].paths[0].parents[1] / "Masks/mask_0101-l.png"
    with Image.open(mask) as picture:
        assert np.asarray(picture)[-1, 0]
    build = build_fixture(SOURCE, LAYOUT)
    assert build.items_of(STRAY, "ROI Grounding") == []
    assert build.items_of("bus_0001-l", "ROI Grounding")
    assert build.codes()["Masks/mask_0101-l.png"] == "ignored-by-card"


@pytest.mark.parametrize("number", ["0185-r", "1046-l"])
def test_every_mask_with_a_stray_part_is_named(edited_tree, scan_tree, replacing, number):
    edit = replacing("bus_data.csv", "bus_0002-s", f"bus_{number}")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.cases[f"bus_{number}"].regions == ()
    assert f"**/mask_{number}.png" in CARD.layout(LAYOUT).ignore


def test_width_and_height_of_the_table_are_not_trusted(edited_tree, build_tree, replacing):
    row = "GE Logiq 7 @10-14MHz,120,104,left"
    edit = replacing("bus_data.csv", row, row.replace("120,104", "300,999"))
    sample = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).sample(LEFT)
    assert (sample.width, sample.height) == (120, 104)


def test_box_of_the_table_is_not_used_since_one_disagrees_with_its_mask(
    edited_tree, scan_tree, scan_fixture
):
    def move(root):
        path = root / "bus_data.csv"
        path.write_text(re.sub(r'"\[.*\]"', '"[1,1,2,2]"', path.read_text()))

    root = edited_tree(SOURCE, LAYOUT, move)
    case = scan_tree(SOURCE, LAYOUT, root).cases[LEFT]
    marked = rasterise(case.regions[0].shape, readers.read(case.images[0]))[0]
    assert (marked == lesion(*marked.shape, seed=1)).all()


def test_side_is_half_of_a_split_screen_and_no_breast(scan_fixture):
    for case in scan_fixture(SOURCE, LAYOUT).cases.values():
        words = [*(label.evidence for label in case.labels), *map(str, case.facts)]
        assert not any(word in text for text in words for word in ("left", "right", "Side"))


def test_both_halves_belong_to_one_woman(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[LEFT].patient == cases[RIGHT].patient == "1"


def test_patient_is_the_case_and_not_the_picture(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[STRAY].patient == "101"
    assert len({case.patient for case in cases.values()}) == len(cases) - 2


def test_halves_with_two_grades_leave_the_grade_open(scan_fixture, build_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.states(LEFT, "birads") == {"3": LabelState.UNKNOWN}
    assert scan.states(RIGHT, "birads") == {"5": LabelState.UNKNOWN}
    for key in (LEFT, RIGHT):
        assert build_fixture(SOURCE, LAYOUT).items_of(key, "Severity Grading") == []


def test_bi_rads_2_of_a_malignant_lesion_is_asked_as_it_stands(scan_fixture, build_fixture):
    key = _key_of(scan_fixture(SOURCE, LAYOUT), "mucinous carcinoma")
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of(key, "Severity Grading") == {"BI-RADS 2"}
    assert "MALIGNANT" in build.right_of(key, "Disease Diagnosis")


@pytest.mark.parametrize("pathology", ["benign", "malignant"])
def test_phyllodes_tumor_is_benign_or_malignant_by_its_row(
    edited_tree, scan_tree, replacing, pathology
):
    edit = replacing("bus_data.csv", "phyllodes tumor,benign", f"phyllodes tumor,{pathology}")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.states(PHYLLODES, "pathology") == {pathology: LabelState.PRESENT}
    assert scan.states(PHYLLODES, "histology") == {"phyllodes tumor": LabelState.PRESENT}


@pytest.mark.parametrize("histology", RARE)
def test_histology_of_two_pictures_is_no_item(scan_fixture, build_fixture, histology):
    key = _key_of(scan_fixture(SOURCE, LAYOUT), histology)
    items = build_fixture(SOURCE, LAYOUT).items_of(key, "Disease Diagnosis")
    assert {item.field for item in items} == {"pathology"}


def test_every_picture_has_a_lesion_so_none_is_asked_for_its_absence(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, LAYOUT).items}
    assert tasks.isdisjoint({"Abnormality Diagnosis", "View Recognition"})


def test_fold_is_the_one_in_which_the_picture_is_test(scan_fixture, fixture_tree):
    table = (fixture_tree(SOURCE, LAYOUT) / "5-fold-cv.csv").read_text()
    assert "bus_0001-l,malignant,2,NaN," in table
    assert scan_fixture(SOURCE, LAYOUT).cases[LEFT].split == "fold 2"


def test_picture_is_shown_as_it_is_stored(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    with Image.open(scan_fixture(SOURCE, LAYOUT).cases[LEFT].images[0].paths[0]) as picture:
        assert (build.pixels(build.sample(LEFT)) == np.asarray(picture)).all()


def test_histology_that_the_card_does_not_know_sets_its_case_aside(
    edited_tree, scan_tree, replacing
):
    edit = replacing("bus_data.csv", "lobular atrophy", "lobular hypertrophy")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))

    assert scan.bad_rows("lobular hypertrophy")


def test_halves_with_two_results_leave_the_result_open(edited_tree, build_tree, replacing):
    old = "bus_0001-l,1,invasive ductal carcinoma,malignant"
    edit = replacing("bus_data.csv", old, old.replace("malignant", "benign"))
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    for half in (LEFT, RIGHT):
        assert build.right_of(half, "Disease Diagnosis") == set()
        assert build.codes()[half] == "images-disagree"


@pytest.mark.parametrize("cancer", ["invasive lobular carcinoma", "invasive ductal carcinoma"])
def test_cancer_that_is_filed_as_benign_is_neither(edited_tree, build_tree, replacing, cancer):
    edit = replacing("bus_data.csv", "invasive lobular carcinoma,malignant", f"{cancer},benign")
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    assert build.right_of("bus_0002-s", "Disease Diagnosis") == set()

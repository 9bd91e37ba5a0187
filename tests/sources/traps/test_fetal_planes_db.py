"""Traps of the evidence card `fetal-planes-db`."""

import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.facts import LabelState
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "thalamic-and-ventricular-planes-look-alike": "for a clinician; noted as a quirk",
    "callipers-measures-and-plane-words-burnt-in": "no field says which; noted as a quirk",
    "nearly-equal-pictures-of-one-woman": "advice for the choice of a batch, noted as a quirk",
    "counts-of-planes-and-splits": "unverified, need the data",
}
SOURCE, LAYOUT = "fetal-planes-db", "zenodo"
CARD = find_sources()[SOURCE].card
TABLE = "FETAL_PLANES_DB_data.csv"
THALAMIC, CEREBELLUM, NO_STANDARD = (f"Patient00003_Plane3_{n}_of_3" for n in (1, 2, 3))
VENTRICULAR, THORAX = "Patient00004_Plane3_1_of_1", "Patient00005_Plane5_1_of_1"
MIXED_BAG = "Patient00001_Plane1_1_of_15"


def test_table_is_parted_by_semicolons_and_its_last_name_ends_with_a_blank(
    fixture_tree, scan_fixture
):
    lines = (fixture_tree(SOURCE, LAYOUT) / TABLE).read_text().splitlines()
    assert lines[0].endswith(";Train ")
    assert lines[1].endswith(";1 ")
    assert scan_fixture(SOURCE, LAYOUT).cases[VENTRICULAR].split == "train"


def test_saved_again_table_without_the_blanks_is_read_alike(edited_tree, scan_tree, scan_fixture):
    def strip(root):
        path = root / TABLE
        lines = [line.rstrip() for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, strip))
    splits = {key: case.split for key, case in scan.cases.items()}
    assert splits == {k: c.split for k, c in scan_fixture(SOURCE, LAYOUT).cases.items()}


def test_names_of_the_table_lack_the_suffix_of_the_file(scan_fixture):
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        assert case.images[0].paths[0].name == f"{key}.png"
        assert case.images[0].paths[0].exists()


def test_archive_that_unpacks_into_a_folder_is_read(edited_tree, scan_tree, scan_fixture):
    def nest(root):
        inner = root / "FETAL_PLANES_ZENODO"
        inner.mkdir()
        for name in ("Images", TABLE):
            shutil.move(root / name, inner / name)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, nest))
    assert list(scan.cases) == list(scan_fixture(SOURCE, LAYOUT).cases)
    assert all(path.exists() for case in scan.cases.values() for path in case.files())


def test_plane_is_that_of_the_table_and_not_the_number_in_the_name(
    edited_tree, scan_tree, replacing
):
    edit = replacing(
        TABLE,
        f"{VENTRICULAR};4;Fetal brain;Trans-ventricular",
        f"{VENTRICULAR};4;Fetal thorax;Not A Brain",
    )
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.cases[VENTRICULAR].anatomy.value == "Chest"


@pytest.mark.parametrize("key", [THALAMIC, CEREBELLUM, NO_STANDARD])
def test_grey_rgb_and_rgba_pictures_become_the_same_grey(scan_fixture, build_fixture, key):
    build = build_fixture(SOURCE, LAYOUT)
    with Image.open(scan_fixture(SOURCE, LAYOUT).cases[key].images[0].paths[0]) as picture:
        assert (build.pixels(build.sample(key)) == np.asarray(picture.convert("L"))).all()


def test_fixture_has_pictures_of_all_three_modes(fixture_tree):
    modes = set()
    for path in (fixture_tree(SOURCE, LAYOUT) / "Images").iterdir():
        with Image.open(path) as picture:
            modes.add(picture.mode)
    assert modes == {"L", "RGB", "RGBA"}


def test_coloured_marks_become_grey(edited_tree, build_tree):
    def paint(root):
        pixels = np.full((112, 150, 3), 90, np.uint8)
        pixels[10:20, 10:20] = (250, 240, 20)
        Image.fromarray(pixels).save(root / f"Images/{THALAMIC}.png")

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, paint))
    assert build.pixels(build.sample(THALAMIC)).ndim == 2


def test_other_brain_plane_is_none_of_the_three_and_no_anomaly(build_fixture):
    tasks = build_fixture(SOURCE, LAYOUT).tasks_of(NO_STANDARD)
    assert tasks == {"Modality Recognition", "Organ Recognition"}


def test_not_a_brain_is_no_view(build_fixture):
    assert build_fixture(SOURCE, LAYOUT).items_of(THORAX, "View Recognition") == []


def test_mixed_bag_is_set_aside_and_denies_no_organ(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert "outside the five anatomies" in scan.skips[MIXED_BAG]
    states = {label.state for case in scan.cases.values() for label in case.labels}
    assert states == {LabelState.PRESENT}


def test_other_is_never_an_option(build_fixture):
    options = {o.text.lower() for item in build_fixture(SOURCE, LAYOUT).items for o in item.options}
    assert not any("other" in text.split() for text in options)


def test_the_three_planes_are_all_axial_so_no_plane_of_the_body_is_offered(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for key in (THALAMIC, CEREBELLUM, VENTRICULAR):
        (item,) = build.items_of(key, "View Recognition")
        offered = {option.concept for option in item.options}
        assert offered <= {"transthalamic plane", "transcerebellar plane", "transventricular plane"}


@pytest.mark.parametrize("key", [THALAMIC, THORAX])
def test_question_or_options_say_that_a_fetus_is_shown(build_fixture, key):
    build = build_fixture(SOURCE, LAYOUT)
    for item in build.items_of(key, "Organ Recognition") + build.items_of(key, "View Recognition"):
        text = " ".join([item.question, *(option.text for option in item.options)])
        assert "fetal" in text.lower() or "fetus" in text.lower()


def test_nobody_is_called_normal_or_diseased(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, LAYOUT).items}
    assert tasks == {"Modality Recognition", "Organ Recognition", "View Recognition"}


def test_train_of_1_is_training_and_of_0_test(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert (cases[VENTRICULAR].split, cases[THALAMIC].split) == ("train", "test")


def test_row_with_another_value_of_train_is_set_aside(edited_tree, scan_tree, replacing):
    edit = replacing(TABLE, "Voluson S10;1", "Voluson S10;2")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("Train=2: expected one of '1', '0'")


def test_row_with_a_plane_that_the_card_does_not_know_is_set_aside(
    edited_tree, scan_tree, replacing
):
    edit = replacing(TABLE, "Fetal femur", "Fetal face")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("Plane=(like Xxxxx xxxx)")


def test_pictures_of_one_woman_share_her_number(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert {cases[key].patient for key in (THALAMIC, CEREBELLUM, NO_STANDARD)} == {"3"}


def test_copy_sorted_into_class_folders_is_read_by_its_table(edited_tree, scan_tree, scan_fixture):
    def sort(root):
        for path in list((root / "Images").iterdir()):
            target = root / "Trans-thalamic" / path.name
            target.parent.mkdir(exist_ok=True)
            shutil.move(path, target)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, sort))
    labels = {key: case.labels for key, case in scan_fixture(SOURCE, LAYOUT).cases.items()}
    assert {key: case.labels for key, case in scan.cases.items()} == labels


def test_african_set_fits_no_layout(tmp_path):
    for name in ("Images/patient001_DZA_plane0.png", TABLE):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits

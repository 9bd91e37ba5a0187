"""Traps of the evidence card `siim-acr-pneumothorax`."""

import shutil

import numpy as np
import pytest
from PIL import Image
from pydicom import dcmread

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.chest_film import lung_lesion
from medrcube.sources._synthetic.images import picture, write_dicom
from medrcube.sources.registry import find_sources

UNTESTED = {
    "drains-give-positives-away": "a bias without a list of files, noted as a quirk",
    "masks-miss-the-second-lung": "no list of files; several regions are not asked for a place",
    "same-films-in-other-sources": "no list of names exists; the sources are named as overlaps",
    "pa-films-for-negatives": "advice for the choice of a batch",
}
SOURCE, LAYOUT = "siim-acr-pneumothorax", "stage-2"
CARD = find_sources()[SOURCE].card
FINDINGS, PLACES = "Abnormality Diagnosis", "ROI Grounding"
TABLE = "stage_2_train.csv"


def _uid(seed):
    return f"1.2.276.0.7230010.3.1.4.8323329.{seed}"


def _marked(case, which=0):
    return rasterise(case.regions[which].shape, readers.read(case.images[0]))[0]


@pytest.mark.parametrize("layout", ["stage-1", "stage-2"])
def test_runs_are_relative_and_go_down_the_columns(scan_fixture, layout):
    marked = _marked(scan_fixture(SOURCE, layout).cases[_uid(0)])
    assert (marked == lung_lesion(1024, 1024, seed=0)).all()


def test_blanks_before_the_second_column_and_its_values_do_not_matter(fixture_tree, scan_fixture):
    table = (fixture_tree(SOURCE, "stage-1") / "siim/train-rle.csv").read_text()
    assert table.startswith("ImageId, EncodedPixels\n")
    assert f"{_uid(1)}, -1\n" in table
    scan = scan_fixture(SOURCE, "stage-1")
    assert set(scan.states(_uid(1), "film")) == {"0"}


def test_rows_of_a_film_are_joined_into_one_region(scan_fixture, build_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[_uid(3)]
    (_,) = case.regions
    lesion = lung_lesion(1024, 1024, seed=3)
    assert (_marked(case) == lesion | np.roll(lesion, 40, axis=0)).all()
    assert PLACES in build_fixture(SOURCE, LAYOUT).tasks_of(_uid(3))


def test_rows_that_mark_something_and_nothing_set_the_film_aside(edited_tree, scan_tree):
    def add(root):
        with (root / TABLE).open("a") as file:
            file.write(f"{_uid(0)},-1\n")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, add))
    assert "both" in scan.skips[_uid(0)]


@pytest.mark.parametrize("code", ["5 2 3", "5 0", "a b"])
def test_film_with_a_code_that_is_no_pairs_is_set_aside(edited_tree, scan_tree, replacing, code):
    root = edited_tree(SOURCE, LAYOUT, replacing(TABLE, f"{_uid(1)},-1", f"{_uid(1)},{code}"))
    assert scan_tree(SOURCE, LAYOUT, root).bad_rows("run-length code") == {_uid(1)}


def test_code_that_leaves_the_film_is_refused(edited_tree, build_tree, replacing):
    edit = replacing(TABLE, f"{_uid(1)},-1", f"{_uid(1)},1048570 7")
    codes = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).codes()
    assert codes[_uid(1)] == "run-outside"


def test_film_without_pneumothorax_is_not_normal(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.right_of(_uid(1), FINDINGS) == {"no pneumothorax"}
    assert build.wrong_of(_uid(1), FINDINGS) == {"Pneumothorax"}
    concepts = {option.concept for item in build.items for option in item.options}
    assert "No Finding" not in concepts


def test_small_mask_is_not_asked_for_its_place(edited_tree, build_tree, replacing):
    edit = replacing(TABLE, f"{_uid(1)},-1", f"{_uid(1)},300000 55")
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    assert PLACES not in build.tasks_of(_uid(1))
    assert PLACES in build.tasks_of(_uid(0))


def test_patient_id_of_the_header_is_no_person(scan_fixture):
    for layout in ("stage-1", "stage-2", "png"):
        assert {case.patient for case in scan_fixture(SOURCE, layout).cases.values()} == {None}


def test_film_of_the_first_test_part_is_labelled_by_the_later_table_alone(scan_fixture):
    assert _uid(2) in scan_fixture(SOURCE, LAYOUT).cases
    assert "no row" in scan_fixture(SOURCE, "stage-1").skips[_uid(2)]


def test_films_of_the_second_test_part_are_ignored_by_name(build_fixture):
    codes = build_fixture(SOURCE, LAYOUT).codes()
    assert codes["stage_2_images/(like XX_9999xx99x, no. 1 of 1).dcm"] == "ignored-by-card"


def test_stage_2_alone_without_the_films_of_stage_1_fits_no_layout(edited_tree):
    root = edited_tree(SOURCE, LAYOUT, lambda root: shutil.rmtree(root / "siim"))
    assert not inspect_copy(CARD, root).fits


def test_contest_of_2021_fits_no_layout(tmp_path):
    pixels = picture(40, 40, seed=1)
    write_dicom(tmp_path / "train/00086460a852/9e8302230c91/65761e66de9f.dcm", pixels)
    (tmp_path / "train_study_level.csv").write_text("id,Negative for Pneumonia\n")
    assert not inspect_copy(CARD, tmp_path).fits


def test_number_before_the_suffix_is_the_class_of_the_png_copy(scan_fixture):
    scan = scan_fixture(SOURCE, "png")
    stated = {key: next(iter(scan.states(key, "film"))) for key in scan.cases}
    assert {key: key.rsplit("_", 2)[1] for key in stated} == stated
    assert all(bool(case.regions) == (stated[key] == "1") for key, case in scan.cases.items())


def test_numbers_of_the_png_copy_sort_as_numbers(edited_tree, scan_tree):
    def add(root):
        for folder in ("png_images", "png_masks"):
            own = root / "siim-acr-pneumothorax" / folder
            shutil.copy(own / "0_train_1_.png", own / "10_train_1_.png")

    keys = list(scan_tree(SOURCE, "png", edited_tree(SOURCE, "png", add)).cases)
    assert keys[-1] == "10_train_1_"
    assert keys[0] == "0_train_1_"


def test_mask_of_the_png_copy_marks_the_pneumothorax(scan_fixture):
    marked = _marked(scan_fixture(SOURCE, "png").cases["0_train_1_"])
    assert (marked == lung_lesion(1024, 1024, seed=0)).all()


def test_black_mask_of_the_png_copy_is_ignored_by_name(build_fixture):
    codes = build_fixture(SOURCE, "png").codes()
    assert codes["siim-acr-pneumothorax/png_masks/1_train_0_.png"] == "ignored-by-card"


@pytest.mark.parametrize("folders", [("png_images",), ("png_images", "png_masks")])
def test_resized_film_is_kept_and_its_place_where_the_mask_was_resized_along(
    edited_tree, build_tree, folders
):
    def shrink(root):
        for folder in folders:
            path = root / f"siim-acr-pneumothorax/{folder}/0_train_1_.png"
            with Image.open(path) as film:
                film.resize((256, 256)).save(path)

    build = build_tree(SOURCE, edited_tree(SOURCE, "png", shrink))
    assert {item.task for item in build.items_of("0_train_1_")} >= {"Abnormality Diagnosis"}
    tasks = {item.task for item in build.items_of("0_train_1_")}
    assert ("ROI Grounding" in tasks) is (len(folders) == 2)
    assert build.codes().get("0_train_1_", "") == ("mask-size" if len(folders) == 1 else "")


def test_view_and_demographics_are_those_of_the_header(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert set(scan.states(_uid(2), "view")) == {"AP"}
    assert dict(scan.cases[_uid(2)].facts) == {"sex": "M", "age": "62"}


def test_spacing_of_the_film_before_it_was_resized_does_not_stretch_it(edited_tree, build_tree):
    def edit(root):
        path = next(root.rglob(f"{_uid(1)}.dcm"))
        data = dcmread(path)
        data.PixelSpacing = [0.2, 0.1]
        data.save_as(path)

    sample = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).sample(_uid(1))
    assert sample.width == sample.height


def test_film_is_shown_as_it_is_stored(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = dcmread(scan_fixture(SOURCE, LAYOUT).cases[_uid(1)].images[0].paths[0]).pixel_array
    assert np.array_equal(build.pixels(build.sample(_uid(1))), pixels)


def test_sources_of_the_same_pool_are_named():
    assert {overlap.source for overlap in CARD.overlaps} == {"nih-chestxray14", "rsna-pneumonia"}
    assert not CARD.access.redistribute


def test_code_in_which_the_table_ends_without_a_line_break_is_set_aside(edited_tree, scan_tree):
    def cut(root):
        (table,) = root.rglob(TABLE)
        lines = table.read_text().rstrip().splitlines()
        coded = max(n for n, line in enumerate(lines) if len(line.split(",")[1].split()) > 4)
        lines.append(lines.pop(coded).rpartition(" ")[0].rpartition(" ")[0])
        table.write_text("\n".join(lines))

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, cut))
    assert len(scan.bad_rows("ends here without a line break, so the code may be cut")) == 1

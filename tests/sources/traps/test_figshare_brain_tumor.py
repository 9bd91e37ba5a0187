"""Traps of the evidence card `figshare-brain-tumor`."""

import shutil

import h5py
import numpy as np
import pytest

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import Absence
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.head import brain_mr
from medrcube.sources._synthetic.images import CANARY, lesion
from medrcube.sources.registry import find_sources

UNTESTED = {
    "second-unmarked-lesion": "no list of slices; the silence of the masks is trusted least",
    "largest-mask-of-a-patient": "advice; the quota takes one item a patient at random",
    "borders-are-coarse": "a property of the real contours, noted as a quirk",
}
SOURCE, LAYOUT = "figshare-brain-tumor", "original"
CARD = find_sources()[SOURCE].card


def _change(name, value):
    """An edit that replaces one member of ``1.mat``."""

    def edit(root):
        with h5py.File(root / "1.mat", "r+") as file:
            del file[f"cjdata/{name}"]
            if value is not None:
                file[f"cjdata/{name}"] = value

    return edit


def test_arrays_stored_by_columns_are_turned_upright(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases["1"]
    volume = readers.read(case.images[0])
    tumour = lesion(192, 192, seed=1)
    expected = brain_mr(192, 192, seed=1, maximum=3000, lesion=tumour)
    assert (volume.slices[0] == expected).all()


def test_mask_is_turned_with_its_image(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases["1"]
    marked = rasterise(case.regions[0].shape, readers.read(case.images[0]))[0]
    assert (marked == lesion(192, 192, seed=1)).all()


def test_patient_of_character_codes_is_text(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases["209"].patient == f"{CANARY}4"
    assert cases["58"].patient == cases["59"].patient


@pytest.mark.parametrize("patient", ["100360", "MR040241B"])
def test_patient_of_digits_or_letters_is_kept_as_it_stands(edited_tree, scan_tree, patient):
    codes = np.array([[ord(letter)] for letter in patient], np.uint16)
    root = edited_tree(SOURCE, LAYOUT, _change("PID", codes.T))
    assert scan_tree(SOURCE, LAYOUT, root).cases["1"].patient == patient


def test_files_sort_as_numbers(scan_fixture):
    keys = list(scan_fixture(SOURCE, LAYOUT).cases)
    assert keys == sorted(keys, key=int)
    assert keys != sorted(keys)


def test_label_one_is_meningioma_two_glioma_three_pituitary(scan_fixture):
    stated = {
        key: CARD.fields["tumor"].concept(case.labels[0].value)
        for key, case in scan_fixture(SOURCE, LAYOUT).cases.items()
    }
    assert (stated["1"], stated["209"], stated["59"]) == (
        "meningioma",
        "glioma",
        "pituitary tumor",
    )


def test_label_out_of_range_sets_its_case_aside(edited_tree, scan_tree):
    root = edited_tree(SOURCE, LAYOUT, _change("label", np.array([[4.0]])))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert scan.bad_rows("value '4'")


@pytest.mark.parametrize("member", ["label", "PID", "image", "tumorMask", "tumorBorder"])
def test_file_without_one_of_the_five_members_is_set_aside(edited_tree, scan_tree, member):
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _change(member, None)))
    assert "no MATLAB 7.3 file with" in scan.skips["1"]


def test_file_of_the_older_matlab_format_is_set_aside(edited_tree, scan_tree):
    def older(root):
        (root / "1.mat").write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, older))
    assert "no MATLAB 7.3 file" in scan.skips["1"]


def test_mask_of_another_shape_than_its_image_is_set_aside(edited_tree, scan_tree):
    root = edited_tree(SOURCE, LAYOUT, _change("tumorMask", np.ones((96, 96), np.uint8)))
    assert "differ in shape" in scan_tree(SOURCE, LAYOUT, root).skips["1"]


def test_empty_mask_is_no_picture(edited_tree, build_tree):
    empty = np.zeros((192, 192), np.uint8)
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _change("tumorMask", empty)))
    assert build.codes()["1"] == "empty-mask"
    assert build.items_of("1") == []


@pytest.mark.parametrize("shape", [(3064, 1), (1, 3064)])
def test_folds_are_read_whichever_way_they_lie(edited_tree, scan_tree, shape):
    def turn(root):
        with h5py.File(root / "cvind.mat", "w") as file:
            file["cvind"] = (np.arange(3064.0) % 5 + 1).reshape(shape)

    cases = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, turn)).cases
    assert (cases["1"].split, cases["3064"].split) == ("fold-1", "fold-4")


def test_file_of_folds_is_no_picture(scan_fixture, build_fixture):
    assert "cvind" not in scan_fixture(SOURCE, LAYOUT).cases
    assert build_fixture(SOURCE, LAYOUT).codes()["cvind.mat"] == "ignored-by-card"


def test_file_numbered_beyond_the_release_is_reported(edited_tree, survey):
    def extra(root):
        shutil.copy(root / "1.mat", root / "3065.mat")

    contents = survey(SOURCE, edited_tree(SOURCE, LAYOUT, extra))
    assert ("3065.mat", "unclaimed") in {(p.case, p.code) for p in contents.problems}


def test_files_in_the_folders_of_the_four_archives_are_found(edited_tree, scan_tree):
    def nest(root):
        folder = root / "dataset/data"
        folder.mkdir(parents=True)
        shutil.move(root / "1.mat", folder / "1.mat")

    assert "1" in scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, nest)).cases


def test_small_image_keeps_its_size_and_its_mask(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert (build.sample("956").width, build.sample("1").width) == (96, 192)
    sample = build.sample("956", "boxes")
    marked = sample.area * sample.width * sample.height
    assert marked == pytest.approx(lesion(96, 96, seed=956).sum())


@pytest.mark.parametrize("key", ["16", "35", "227", "228", "229", "230"])
def test_slice_that_another_set_files_elsewhere_is_undiagnosed(key):
    assert quirk_of(CARD, key, "undiagnosed")


def test_undiagnosed_slice_is_asked_no_disease(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.items_of("16", "Disease Diagnosis") == []
    assert build.items_of("1", "Disease Diagnosis") != []


def test_values_are_windowed_by_percentiles(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample("1"))
    assert (pixels.dtype, pixels.min(), pixels.max()) == (np.uint8, 0, 255)


def test_the_contrast_agent_is_a_fact_and_the_plane_is_not(build_fixture):
    items = build_fixture(SOURCE, LAYOUT).items
    assert {i.concept for i in items if i.task == "Imaging Protocols Recognition"} == {"T1c"}
    assert "View Recognition" not in {item.task for item in items}


def test_the_silence_of_the_masks_proves_least():
    assert CARD.fields["mask"].absence is Absence.SILENT


def test_the_set_that_took_the_images_over_is_named():
    assert [overlap.source for overlap in CARD.overlaps] == ["brain-tumor-classification"]


def test_copy_as_pictures_fits_no_layout(tmp_path):
    for label in ("1", "2", "3"):
        path = tmp_path / label / "1.png"
        path.parent.mkdir()
        path.touch()
    assert not inspect_copy(CARD, tmp_path).fits

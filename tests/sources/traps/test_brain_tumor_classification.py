"""Traps of the evidence card `brain-tumor-classification`."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "near-duplicates-over-the-split": "known by a measure, not by name; noted as a quirk",
    "pictures-that-match-figshare": "needs both sources on disk; the overlap is named in the card",
    "ct-in-no-tumor": "the list is a lower bound, so the whole class is left out (tested)",
    "gliomas-of-testing-filed-wrongly": "a claim of readers on the web without a list",
    "left-and-right-unknown": "no field states a side, so none is asked",
    "licence-tag-of-kaggle": "unverified, needs the page",
}
SOURCE, LAYOUT = "brain-tumor-classification", "original"
CARD = find_sources()[SOURCE].card
CLASHES = (
    *("Testing-glioma_tumor-image(2)", "Testing-glioma_tumor-image(48)"),
    *("Training-meningioma_tumor-m1(123)", "Training-meningioma_tumor-m1(111)"),
    *(f"Testing-pituitary_tumor-image({n})" for n in (73, 76, 77, 78, 79, 81, 82, 85, 86)),
    "Testing-pituitary_tumor-image",
    *(f"Training-pituitary_tumor-p ({n})" for n in (138, 564, 569, 570)),
)
NO_CLASHES = (
    *(f"Testing-pituitary_tumor-image({n})" for n in (7, 8, 74, 75, 80, 83, 84, 87)),
    *(
        "Testing-glioma_tumor-image",
        "Testing-meningioma_tumor-image",
        "Testing-glioma_tumor-image(4)",
    ),
    *("Training-meningioma_tumor-m1(11)", "Training-pituitary_tumor-p (13)"),
)


@pytest.mark.parametrize("key", CLASHES)
def test_picture_filed_in_two_classes_is_dropped(key):
    assert quirk_of(CARD, key, "drop")


@pytest.mark.parametrize("key", NO_CLASHES)
def test_neighbour_of_such_a_picture_is_kept(key):
    assert quirk_of(CARD, key, "drop") is None


def test_dropped_picture_is_not_made(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.codes()["Testing-pituitary_tumor-image"] == "dropped-by-card"
    assert "Testing-pituitary_tumor-image" not in {sample.case for sample in build.samples}


def test_names_that_differ_by_a_blank_alone_are_two_files(build_fixture):
    codes = build_fixture(SOURCE, LAYOUT).codes()
    assert codes["Training/no_tumor/image (42).jpg"] == "ignored-by-card"
    assert codes["Training/no_tumor/image(42).jpg"] == "ignored-by-card"


def test_no_tumor_is_left_out_since_it_holds_ct_and_disease(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert {case.labels[0].value for case in cases.values()} == {
        "glioma_tumor",
        "meningioma_tumor",
        "pituitary_tumor",
    }


def test_no_tumor_picture_is_never_called_mri(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert not [sample.case for sample in build.samples if "no_tumor" in sample.case]


def test_a_finding_is_never_denied(build_fixture):
    assert {item.task for item in build_fixture(SOURCE, LAYOUT).items} == {
        "Modality Recognition",
        "Organ Recognition",
        "Disease Diagnosis",
    }


@pytest.mark.parametrize("name", ["Tr-gl_0010.jpg", "d (1).jpg", "c (1).jpg", "j (1).jpg"])
def test_copy_with_renamed_files_is_refused_whole(edited_tree, scan_tree, name):
    def rename(root):
        folder = root / "Training/glioma_tumor"
        shutil.move(folder / "gg (826).jpg", folder / name)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, rename))
    assert scan.cases == {}
    reason = scan.skips["Training-glioma_tumor-gg (1)"]
    assert "1 renamed files (one in Training/glioma_tumor has no name of the release)" in reason


def test_merge_of_other_folders_fits_no_layout(tmp_path):
    for folder in ("Training/glioma", "Training/notumor"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "glioma-1.jpg").touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_equal_files_on_both_sides_of_the_split_are_named_by_the_audit(
    edited_tree, build_raw, tmp_path
):
    def twin(root):
        shutil.copy(
            root / "Training/glioma_tumor/gg (1).jpg", root / "Testing/glioma_tumor/image(1).jpg"
        )

    build = build_raw(SOURCE, edited_tree(SOURCE, LAYOUT, twin), tmp_path / "workspace")
    (row,) = json.loads(build.audit.read_text())["duplicate_pictures"]
    assert row["cases"] == [
        f"{SOURCE}/Testing-glioma_tumor-image(1)",
        f"{SOURCE}/Training-glioma_tumor-gg (1)",
    ]


def test_split_is_the_top_folder_and_nobody_knows_the_patient(scan_fixture):
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        assert case.split == key.split("-")[0].lower()
        assert case.patient is None


def test_same_name_in_two_classes_makes_two_cases(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    keys = [f"Testing-{name}_tumor-image(1)" for name in ("glioma", "meningioma", "pituitary")]
    assert len({cases[key].images[0].paths[0] for key in keys}) == 3


def test_rgb_of_equal_channels_is_grey(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.pixels(build.sample("Training-glioma_tumor-gg (1)")).ndim == 2


def test_picture_with_real_colour_is_refused(edited_tree, build_tree):
    def colour(root):
        pixels = np.full((120, 130, 3), 60, np.uint8)
        pixels[30:90, 30:90] = (200, 40, 30)
        Image.fromarray(pixels).save(root / "Training/glioma_tumor/gg (1).jpg")

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, colour))
    assert "Training-glioma_tumor-gg (1)" in build.codes()
    assert build.items_of("Training-glioma_tumor-gg (1)") == []


def test_doubtful_rights_keep_the_pictures_from_being_passed_on():
    assert CARD.access.redistribute is False


def test_the_set_that_the_pictures_come_from_is_named():
    assert [overlap.source for overlap in CARD.overlaps] == ["figshare-brain-tumor"]

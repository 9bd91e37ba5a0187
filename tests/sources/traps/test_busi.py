"""Traps of the evidence card `busi`."""

import shutil

import numpy as np
import pytest
from PIL import Image

from medrcube.build import readers
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import Label, LabelState
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.images import lesion
from medrcube.sources.registry import find_sources

UNTESTED = {
    "near-duplicates-inside-a-class": "180 pairs are known by a measure, not by name",
    "axilla-pictures-without-breast-tissue": "the paper counts about 70 and names none; those "
    "that say so in words are left out",
    "licence-tag-of-the-kaggle-copy": "unverified, needs the page",
}
SOURCE, LAYOUT = "busi", "original"
CARD = find_sources()[SOURCE].card
TWO_LABELS = (
    *("benign (433)", "malignant (145)", "benign (131)", "benign (42)", "malignant (51)"),
    *("benign (399)", "malignant (93)", "benign (406)", "malignant (94)", "benign (85)"),
    *("malignant (52)", "benign (269)", "normal (1)", "benign (437)", "normal (34)"),
)
HIGH = ("Abnormity Diagnosis", "Abnormality Diagnosis", "Disease Diagnosis")


def _marked(case, which=0):
    return rasterise(case.regions[which].shape, readers.read(case.images[0]))[0]


def test_the_folder_is_the_label(scan_fixture):
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        stated = [label.value for label in case.labels if label.field == "diagnosis"]
        assert stated == [key.split(" ")[0]]


def test_a_file_named_for_another_folder_is_set_aside(edited_tree, scan_tree):
    def misfile(root):
        shutil.move(root / "benign/benign (1).png", root / "malignant/benign (1).png")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, misfile))
    assert "benign (1)" not in scan.cases
    assert "filed under 'malignant'" in scan.skips["malignant/benign (1)"]


@pytest.mark.parametrize(
    ("own", "odd", "message"),
    [
        ("normal (2).png", "normal(2).png", "not a class in small letters, a blank and a number"),
        ("normal (2).png", "normal (2) .png", "begins or ends with a blank"),
        ("normal (2).png", "normal (2).png ", "begins or ends with a blank"),
        ("normal (2).png", "Normal (2).png", "not a class in small letters"),
        ("normal (2).png", "picture 2.png", "is not a file name of the dataset"),
        ("normal (2)_mask.png", "normal (2)_mask_x.png", "'_mask_x' behind the number"),
    ],
)
def test_odd_name_is_told_with_what_is_odd_about_it(edited_tree, survey, own, odd, message):
    root = edited_tree(
        SOURCE, LAYOUT, lambda entry: shutil.move(entry / "normal" / own, entry / "normal" / odd)
    )
    (problem,) = [entry for entry in survey(SOURCE, root).problems if entry.case == f"normal/{odd}"]
    assert message in problem.message


@pytest.mark.parametrize(
    ("key", "moves", "missing"),
    [
        ("benign (1)", {"_mask": "_mask_1"}, "benign (1)_mask.png"),
        ("benign (4)", {"_mask": ""}, "benign (4)_mask.png"),
        ("benign (4)", {"_mask_1": "_mask_9"}, "_mask_1.png and benign (4)_mask_2.png"),
        ("benign (4)", {"_mask_1": ""}, "1 of 2 marked regions"),
    ],
)
def test_picture_that_lacks_one_of_its_masks_has_no_picture_with_a_box(
    edited_tree, build_tree, key, moves, missing
):
    def edit(root):
        for old, new in moves.items():
            path = root / "benign" / f"{key}{old}.png"
            path.rename(path.with_name(f"{key}{new}.png")) if new else path.unlink()

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    assert {sample.artefact for sample in build.samples if sample.case == key} == {"clean"}
    assert missing in " ".join(build.quarantine["message"])
    assert any(sample.artefact == "boxes" for sample in build.samples)


def test_numbers_sort_as_numbers(scan_fixture):
    keys = list(scan_fixture(SOURCE, LAYOUT).cases)
    assert keys.index("normal (2)") < keys.index("normal (10)")


def test_every_mask_file_marks_a_lesion_of_its_own(edited_tree, scan_tree):
    def third(root):
        shutil.copy(root / "benign/benign (4)_mask.png", root / "benign/benign (4)_mask_2.png")

    cases = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, third)).cases
    assert [region.evidence for region in cases["benign (4)"].regions] == [
        "benign (4)_mask.png",
        "benign (4)_mask_1.png",
        "benign (4)_mask_2.png",
    ]


def test_a_picture_with_several_lesions_is_not_asked_for_the_one_place(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.codes()["benign (4)"] == "no-grounding"
    assert build.items_of("benign (4)", "ROI Grounding") == []
    assert len(build.items_of("benign (1)", "ROI Grounding")) == 1


@pytest.mark.parametrize(("key", "part"), [("benign (4)", "1"), ("malignant (53)", "1")])
def test_copy_without_the_further_masks_is_not_asked_where_the_lesion_lies(
    edited_tree, build_tree, key, part
):
    folder = key.partition(" ")[0]
    edit = lambda root: (root / f"{folder}/{key}_mask_{part}.png").unlink()  # noqa: E731
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    assert build.items_of(key, "ROI Grounding") == []
    assert build.codes()[key] == "regions-missing"
    assert len(build.items_of("malignant (1)", "ROI Grounding")) == 1


def test_every_picture_with_several_masks_is_known():
    counts = {
        key: quirk.regions
        for quirk in CARD.quirks
        if quirk.action == "regions"
        for key in quirk.keys
    }
    assert len(counts) == 17
    assert sum(count - 1 for count in counts.values()) == 454 - 437 + 211 - 210


def test_mask_of_one_bit_marks_only_the_lesion(scan_fixture):
    marked = _marked(scan_fixture(SOURCE, LAYOUT).cases["benign (1)"])
    assert (marked == lesion(*marked.shape, seed=0)).all()


def test_mask_with_opaque_alpha_marks_only_the_lesion(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases["benign (4)"]
    with Image.open(case.regions[1].shape.paths[0]) as picture:
        assert picture.mode == "RGBA"
    marked = _marked(case, 1)
    assert (marked == lesion(*marked.shape, seed=1, which=1)).all()


def test_black_mask_of_a_normal_picture_is_no_region(scan_fixture, build_fixture):
    assert scan_fixture(SOURCE, LAYOUT).cases["normal (2)"].regions == ()
    assert "normal/normal (2)_mask.png" not in build_fixture(SOURCE, LAYOUT).codes()


def test_mask_of_another_size_is_refused(edited_tree, build_tree):
    def shrink(root):
        path = root / "benign/benign (1)_mask.png"
        with Image.open(path) as picture:
            picture.resize((90, 75)).save(path)

    assert (
        build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, shrink)).codes()["benign (1)"] == "mask-size"
    )


def test_coloured_picture_keeps_its_colour_and_grey_rgb_becomes_grey(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    coloured = build.pixels(build.sample("benign (277)"))
    assert np.ptp(coloured.astype(int), axis=2).max() > 100
    assert build.pixels(build.sample("benign (1)")).ndim == 2


def test_the_mode_of_the_scanner_the_view_and_a_grade_are_not_asked(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, LAYOUT).items}
    assert tasks.isdisjoint(
        {"Imaging Protocols Recognition", "View Recognition", "Severity Grading"}
    )


@pytest.mark.parametrize("key", TWO_LABELS)
def test_picture_with_a_twin_in_another_class_is_undiagnosed(key):
    assert quirk_of(CARD, key, "undiagnosed")


@pytest.mark.parametrize("key", ["benign (1)", "benign (43)", "malignant (5)", "normal (3)"])
def test_picture_without_such_a_twin_is_diagnosed(key):
    assert quirk_of(CARD, key, "undiagnosed") is None


def test_undiagnosed_picture_carries_no_question_of_high_level(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for key in ("benign (433)", "malignant (145)", "normal (34)"):
        tasks = {item.task for item in build.items_of(key)}
        assert "Organ Recognition" in tasks
        assert tasks.isdisjoint({*HIGH, "ROI Grounding"})


@pytest.mark.parametrize("key", ["benign (277)", "malignant (53)", "benign (5)", "malignant (83)"])
def test_picture_whose_lesion_carries_a_mark_is_listed(key):
    assert quirk_of(CARD, key, "marked")


@pytest.mark.parametrize("key", ["malignant (180)", "benign (199)", "malignant (113)"])
def test_picture_that_says_it_shows_the_axilla_is_left_out(key):
    assert quirk_of(CARD, key, "drop")


def test_marked_picture_is_asked_neither_for_its_lesion_nor_where_it_lies(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for key in ("benign (277)", "malignant (53)"):
        tasks = {item.task for item in build.items_of(key)}
        assert "Organ Recognition" in tasks
        assert tasks.isdisjoint({"ROI Grounding", *HIGH})


def test_nobody_knows_whose_pictures_these_are(scan_fixture):
    assert {case.patient for case in scan_fixture(SOURCE, LAYOUT).cases.values()} == {None}


def test_normal_denies_a_lesion_and_nothing_else(scan_fixture):
    labels = scan_fixture(SOURCE, LAYOUT).cases["normal (2)"].labels
    denied = [label for label in labels if label.state is LabelState.ABSENT]
    expected = Label(
        field="lesion", value="lesion", state=LabelState.ABSENT, evidence="folder normal"
    )
    assert denied == [expected]


def test_edition_in_folders_of_images_and_masks_fits_no_layout(tmp_path):
    for folder in ("images", "mask"):
        path = tmp_path / folder / "benign (1).png"
        path.parent.mkdir()
        path.touch()
    assert not inspect_copy(CARD, tmp_path).fits


@pytest.mark.parametrize("side", [256, 416])
def test_edition_saved_again_as_squares_is_refused(edited_tree, build_tree, side):
    def resave(root):
        for path in root.glob("benign/benign (1)*.png"):
            with Image.open(path) as picture:
                picture.resize((side, side)).save(path)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, resave))
    assert build.codes()["benign (1)"] == "resized"

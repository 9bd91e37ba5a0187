"""Traps of the evidence card `mmwhs`."""

import shutil

import nibabel
import numpy as np
import pytest

from medrcube.facts import Absence
from medrcube.sources._framework.card_lookup import quirk_of
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Modality, Task

UNTESTED = {
    "which-volumes-lie-otherwise": "unverified; a synthetic one does, and the places are checked",
    "quality-of-mr-varies": "banding and motion are not listed by volume",
    "archive-names-and-terms-of-today": "unverified, need the page",
    "copies-cut-from-share-sites": "a pirated copy looks like the original",
}
SOURCE, LAYOUT = "mmwhs", "volumes"
CARD = find_sources()[SOURCE].card
FOLDER = "MM-WHS 2017 Dataset"
CT, MR, TURNED = "ct_train_1001", "mr_train_1020", "mr_train_1001"


def _path(root, stem, kind):
    return next((root / FOLDER).glob(f"*_train/{stem}_{kind}.nii*"))


def _edit(stem, kind, change, affine=None):
    """An edit that stores ``change(voxels)`` in one file, and leaves one more patient beside it."""

    def edit(root):
        path = _path(root, stem, kind)
        image = nibabel.load(path)
        voxels, place = change(np.asarray(image.dataobj)), image.affine.copy()
        if affine is not None:
            place = affine(place)
        nibabel.save(nibabel.Nifti1Image(voxels, place), path)
        for other in (root / FOLDER).glob("*_train/*.nii*"):
            if not other.name.startswith((stem, TURNED)):
                other.unlink()

    return edit


def _relabel(**values):
    """Voxels of label ``_n`` become another value."""

    def change(labels):
        for old, new in values.items():
            labels[labels == int(old[1:])] = new
        return labels

    return change


def test_modality_is_the_prefix_of_the_name(scan_fixture):
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        assert case.modality is {"ct": Modality("CT"), "mr": Modality("MRI")}[key[:2]]


def test_ct_and_mr_of_one_number_are_two_people(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[f"{CT}-axial"].patient != cases[f"{TURNED}-axial"].patient


@pytest.mark.parametrize("folder", ["ct_train_test/ct_train", "MMWHS/CT/imagesTr"])
def test_volumes_are_found_by_name_in_any_folder(edited_tree, survey, folder):
    def move(root):
        (root / folder).mkdir(parents=True)
        for path in (root / FOLDER / "ct_train").iterdir():
            shutil.move(path, root / folder)

    contents = survey(SOURCE, edited_tree(SOURCE, LAYOUT, move))
    assert f"{CT}-axial" in {case.key for case in contents.cases}


def test_labels_in_a_folder_of_their_own_are_found(edited_tree, survey):
    def part(root):
        (root / FOLDER / "ct_train_seg").mkdir()
        shutil.move(_path(root, CT, "label"), root / FOLDER / "ct_train_seg")

    contents = survey(SOURCE, edited_tree(SOURCE, LAYOUT, part))
    assert f"{CT}-axial" in {case.key for case in contents.cases}


def test_unpacked_volumes_are_read(build_fixture):
    assert build_fixture(SOURCE, LAYOUT).sample("ct_train_1020-axial").width


@pytest.mark.parametrize(
    "name",
    ["ct_1001_image.nii.gz", "Center_A_ct_1001_image.nii.gz", "mr_train_1001_slice_0.h5"],
)
def test_sets_with_names_that_look_alike_fit_no_layout(tmp_path, name):
    (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_test_volumes_without_truth_make_no_picture(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    codes = build.codes()
    assert codes[f"{FOLDER}/ct_test/ct_test_2001_image.nii.gz"] == "ignored-by-card"
    assert {sample.split for sample in build.samples} == {"train"}


def test_label_421_is_read_as_left_atrium(edited_tree, build_fixture, build_tree):
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _edit(CT, "label", _relabel(_420=421))))
    mistyped = build.sample(f"{CT}-axial", "outline", "LA")
    assert (
        mistyped.area == build_fixture(SOURCE, LAYOUT).sample(f"{CT}-axial", "outline", "LA").area
    )


def test_another_value_is_background(edited_tree, build_fixture, build_tree):
    def speck(labels):
        labels[:8, :8, 19] = 2221
        return labels

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _edit(CT, "label", speck)))
    mine = build.sample(f"{CT}-axial", "outline", "LV")
    assert mine.area == build_fixture(SOURCE, LAYOUT).sample(f"{CT}-axial", "outline", "LV").area


def test_labels_of_myops_make_no_picture(edited_tree, build_tree):
    myops = _relabel(_205=200, _420=1220, _550=2221, _820=0, _850=0)
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _edit(CT, "label", myops)))
    assert build.codes()[f"{CT}-axial"] == "empty-mask"


def test_volume_without_one_of_the_seven_structures_makes_no_picture(edited_tree, build_tree):
    root = edited_tree(SOURCE, LAYOUT, _edit(CT, "label", _relabel(_850=0)))
    assert build_tree(SOURCE, root).codes()[f"{CT}-axial"] == "empty-mask"


def test_axis_order_of_a_file_does_not_turn_its_picture(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for stem in (TURNED, MR, CT):
        pixels = build.pixels(build.sample(f"{stem}-axial")).astype(int)
        upper, lower = pixels[6:16, 6:22], pixels[-16:-6, -22:-6]
        assert upper.mean() > lower.mean() + 50


def test_head_is_up_in_the_coronal_and_sagittal_planes(build_fixture):
    """The great vessels are labelled near the top of the phantom."""
    build = build_fixture(SOURCE, LAYOUT)
    for plane, vessel in (("coronal", "AO"), ("sagittal", "PA (structure)")):
        outlined = build.pixels(build.sample(f"{MR}-{plane}", "outline", vessel)).astype(int)
        rows = np.nonzero((outlined[..., 0] - outlined[..., 1]) > 100)[0]
        assert rows.mean() < outlined.shape[0] / 3


def test_slices_thicker_than_pixels_are_shown_with_square_pixels(build_fixture):
    sample = build_fixture(SOURCE, LAYOUT).sample(f"{MR}-coronal")
    assert (sample.width, sample.height) == (110, round(40 * 1.6 / 1.1))


def test_wrong_directions_are_refused(edited_tree, build_tree):
    def mirror(affine):
        affine[0] *= -1
        return affine

    def edit(root):
        for kind in ("image", "label"):
            _edit(CT, kind, lambda voxels: voxels, mirror)(root)

    codes = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).codes()
    assert {codes[f"{CT}-{plane}"] for plane in ("axial", "coronal", "sagittal")} == {
        "wrong-directions"
    }


def test_heart_upside_down_is_refused(edited_tree, build_tree):
    def turn(affine):
        affine[2] *= -1
        return affine

    def edit(root):
        for kind in ("image", "label"):
            _edit(CT, kind, lambda voxels: voxels, turn)(root)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit))
    assert build.codes()[f"{CT}-axial"] == "wrong-directions"


def test_label_on_another_grid_than_its_volume_is_refused(edited_tree, build_tree):
    def shift(affine):
        affine[:3, 3] += 3
        return affine

    root = edited_tree(SOURCE, LAYOUT, _edit(CT, "label", lambda labels: labels, shift))
    assert build_tree(SOURCE, root).codes()[f"{CT}-axial"] == "mask-place"


def test_ct_stored_with_an_offset_is_refused_which_is_no_failure_of_the_build(
    edited_tree, build_tree
):
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _edit(CT, "image", lambda v: v + 1024)))
    assert build.codes()[f"{CT}-axial"] == "not-hounsfield"
    assert not build.items_of(f"{CT}-axial")
    refused = build.quarantine[build.quarantine["code"] == "not-hounsfield"]
    assert set(refused["stage"]) == {"select"}


def test_ct_is_windowed_by_200_and_800_hounsfield_units(edited_tree, build_tree):
    def steps(volume):
        volume[:, :, 19] = -1000
        volume[50:60, 50:60, 19] = 200
        volume[20:30, 20:30, 19] = 600
        return volume

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _edit(CT, "image", steps)))
    pixels = build.pixels(build.sample(f"{CT}-axial"))
    assert set(np.unique(pixels)) <= {0, 127, 128, 255}
    assert {0, 255} < set(np.unique(pixels))


def test_mr_in_arbitrary_units_is_windowed_by_percentiles(edited_tree, build_fixture, build_tree):
    root = edited_tree(SOURCE, LAYOUT, _edit(MR, "image", lambda v: (v * 3 + 40).astype(np.int16)))
    build, usual = build_tree(SOURCE, root), build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(f"{MR}-axial")).astype(int)
    assert abs(pixels - usual.pixels(usual.sample(f"{MR}-axial"))).max() <= 1


def test_stray_voxels_of_a_structure_widen_no_outline(edited_tree, build_fixture, build_tree):
    def stray(labels):
        labels[100:104, 4:8, 19] = 500
        return labels

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _edit(CT, "label", stray)))
    usual = build_fixture(SOURCE, LAYOUT)
    assert build.sample(f"{CT}-axial").frames != usual.sample(f"{CT}-axial").frames == "19"


def test_volume_with_stray_voxels_on_every_slice_is_refused(edited_tree, build_tree):
    def stray(labels):
        labels[100:104, 4:8, :] = 500
        return labels

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _edit(CT, "label", stray)))
    assert build.codes()[f"{CT}-axial"] == "stray-voxels"


def test_volume_with_false_voxels_at_its_borders_is_dropped(build_fixture):
    assert build_fixture(SOURCE, LAYOUT).codes()["mr_train_1002-axial"] == "dropped-by-card"
    assert quirk_of(CARD, "ct_train_1002-axial", "drop") is None


def test_a_vessel_that_is_labelled_in_part_is_absent_nowhere_else():
    assert CARD.fields["vessel"].absence is Absence.SILENT
    assert set(CARD.fields["vessel"].values) == {"820", "850"}


def test_no_structure_is_asked_of_a_clean_picture(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    marked = {sample.id for sample in build.samples if sample.artefact != "clean"}
    items = [item for item in build.items if item.task == Task("Organ Recognition")]
    assert items
    assert {item.sample for item in items} <= marked


def test_unnamed_disease_is_neither_asked_nor_denied(build_fixture):
    assert {item.task for item in build_fixture(SOURCE, LAYOUT).items} == {
        "Modality Recognition",
        "View Recognition",
        "Organ Recognition",
        "ROI Grounding",
    }


def test_pictures_are_not_passed_on():
    assert CARD.access.redistribute is False


def test_later_challenges_that_took_the_volumes_over_are_named():
    assert "CARE" in CARD.overlaps[0].source

"""Traps of the evidence card `msd-lung`."""

import json
import shutil

import nibabel
import numpy as np
import pytest

from medrcube.build import readers
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.regions.rasterize import rasterise
from medrcube.errors import SourceError
from medrcube.facts import Absence
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.chest_ct import tumour
from medrcube.sources.registry import find_sources

UNTESTED = {
    "one-disease-for-all": "a bias of the collection, noted as a quirk: pair it with other sources",
    "satellites-and-nodes-unmarked": "not marked anywhere; the silence is not read as health",
    "sign-of-every-real-affine": "unverified; synthetic volumes have either",
    "contrast-phase": "not recorded, so no protocol is asked",
    "checksum-of-the-archive": "the archive is gone once it is unpacked; the card's steps name it",
}
SOURCE = "msd-lung"
CARD = find_sources()[SOURCE].card
ONE, MIRRORED = "lung_053", "lung_001"
TOP = "Task06_Lung"


def _edit(folder, stem, change, place=lambda affine: affine):
    """An edit that stores ``change(voxels)`` in place of the voxels of one file."""

    def edit(root):
        path = root / TOP / folder / f"{stem}.nii.gz"
        image = nibabel.load(path)
        voxels = change(np.asarray(image.dataobj))
        nibabel.save(nibabel.Nifti1Image(voxels, place(image.affine.copy())), path)

    return edit


def _describe(labels):
    def edit(root):
        path = root / TOP / "dataset.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"labels": labels}))

    return edit


def test_metadata_twins_of_macos_are_no_images(scan_fixture, build_fixture):
    assert not [key for key in scan_fixture(SOURCE, "original").skips if "._" in key]
    assert not [code for code in build_fixture(SOURCE, "original").codes() if "._" in code]


def test_metadata_twins_do_not_count_as_volumes(fixture_tree):
    report = inspect_copy(CARD, fixture_tree(SOURCE, "original"))
    assert report.counts["**/imagesTr/lung_???.nii.gz"] == 3


def test_sixty_three_volumes_are_a_complete_copy():
    for layout in CARD.layouts:
        assert set(layout.expect.values()) == {63, 1}


def test_numbers_with_gaps_are_all_read(scan_fixture):
    patients = {case.patient for case in scan_fixture(SOURCE, "original").cases.values()}
    assert patients == {"lung_001", "lung_053", "lung_096"}


def test_test_volumes_without_labels_make_no_picture(build_fixture):
    build = build_fixture(SOURCE, "original")
    assert build.codes()[f"{TOP}/imagesTs/lung_002.nii.gz"] == "ignored-by-card"


def test_image_of_another_form_keeps_its_key(scan_fixture):
    assert "lung_004-axial" in scan_fixture(SOURCE, "nnunet").cases


@pytest.mark.parametrize("labels", [{"0": "background", "1": "liver"}, {"0": "background"}])
def test_labels_of_another_task_stop_the_source(edited_tree, scan_tree, labels):
    with pytest.raises(SourceError, match="another task"):
        scan_tree(SOURCE, "original", edited_tree(SOURCE, "original", _describe(labels)))


def test_two_tasks_below_one_root_stop_the_source(edited_tree, scan_tree):
    def second(root):
        (root / "Task10_Colon").mkdir()
        shutil.copy(root / TOP / "dataset.json", root / "Task10_Colon")

    with pytest.raises(SourceError, match="one task"):
        scan_tree(SOURCE, "original", edited_tree(SOURCE, "original", second))


def _marked(case):
    return stack_slices(rasterise(case.regions[0].shape, readers.read(case.images[0])))


def test_label_stored_as_fractions_marks_what_lies_above_one_half(
    edited_tree, scan_tree, scan_fixture
):
    def soften(labels):
        soft = labels.astype(np.float32) * 0.9
        soft[:4, :4, :4] = 0.4
        return soft

    root = edited_tree(SOURCE, "original", _edit("labelsTr", ONE, soften))
    case = scan_tree(SOURCE, "original", root).cases[f"{ONE}-axial"]
    assert (_marked(case) == _marked(scan_fixture(SOURCE, "original").cases[f"{ONE}-axial"])).all()


@pytest.mark.parametrize("stem", [ONE, MIRRORED])
def test_sign_of_the_affine_does_not_turn_the_picture(build_fixture, stem):
    build = build_fixture(SOURCE, "original")
    pixels = build.pixels(build.sample(f"{stem}-axial")).astype(int)
    assert pixels[8:11, 10:14].min() > 200
    assert pixels[6:13, -19:-6].max() < 150
    assert pixels[-13:-6, 6:19].max() < 150


def test_tumour_of_the_right_lung_lies_at_the_left_of_the_picture(build_fixture):
    build = build_fixture(SOURCE, "original")
    for stem in (ONE, MIRRORED):
        clean = build.pixels(build.sample(f"{stem}-axial")).astype(int)
        boxes = build.sample(f"{stem}-axial", "boxes")
        marked = boxes.area * boxes.width * boxes.height
        lesion = tumour(seed=int(stem[-3:])).any(axis=0)
        assert marked == pytest.approx(lesion.sum(), rel=0.1)
        assert clean[lesion].mean() > clean[lesion[:, ::-1]].mean() + 50


def test_slices_thicker_than_pixels_are_shown_with_square_pixels(build_fixture):
    sample = build_fixture(SOURCE, "original").sample(f"{ONE}-coronal")
    assert (sample.width, sample.height) == (96, 15)


def test_slice_is_the_one_with_the_largest_tumour(build_fixture):
    assert build_fixture(SOURCE, "original").sample(f"{ONE}-axial").frames == "6"


def test_values_are_windowed_for_the_lung(edited_tree, build_tree):
    def steps(volume):
        volume[:] = -1350
        volume[:48] = -600
        volume[:24] = 150
        return volume.astype(np.int16)

    build = build_tree(SOURCE, edited_tree(SOURCE, "original", _edit("imagesTr", ONE, steps)))
    pixels = build.pixels(build.sample(f"{ONE}-axial"))
    assert {int(value) for value in np.unique(pixels)} <= {0, 127, 128, 255}
    assert len(np.unique(pixels)) == 3


def test_volume_without_its_label_makes_no_picture(edited_tree, survey):
    def lose(root):
        (root / TOP / "labelsTr" / f"{ONE}.nii.gz").unlink()

    contents = survey(SOURCE, edited_tree(SOURCE, "original", lose))
    assert (f"{ONE}-axial", "mask-missing") in {(p.case, p.code) for p in contents.problems}


def test_tumour_too_small_to_see_is_not_located(edited_tree, build_tree):
    def speck(labels):
        labels[:] = 0
        labels[30:31, 40:42, 6] = 1
        return labels

    build = build_tree(SOURCE, edited_tree(SOURCE, "original", _edit("labelsTr", ONE, speck)))
    assert build.items_of(f"{ONE}-axial", "ROI Grounding") == []


def test_tumour_is_not_called_a_nodule():
    assert CARD.fields["tumor"].values == {"cancer": "primary lung tumor"}


def test_what_is_not_marked_is_not_called_healthy(build_fixture):
    build = build_fixture(SOURCE, "original")
    assert CARD.fields["tumor"].absence is Absence.IMPLIED
    assert {i.concept for i in build.items if i.task == "Abnormality Diagnosis"} == {
        "primary lung tumor"
    }


def test_no_organ_is_derived_from_the_tumour(build_fixture):
    tasks = {item.task for item in build_fixture(SOURCE, "original").items}
    assert tasks.isdisjoint({"Organ Recognition", "Severity Grading"})


def test_one_patient_gives_one_slice_a_plane(scan_fixture):
    cases = list(scan_fixture(SOURCE, "original").cases.values())
    assert len({(case.patient, case.plane) for case in cases}) == len(cases)


def test_share_alike_is_kept():
    assert CARD.access.licence == "CC-BY-SA-4.0"


def test_collection_of_stanford_is_not_taken_for_that_of_maastro():
    assert [overlap.source for overlap in CARD.overlaps] == ["NSCLC-Radiogenomics"]

"""Traps of the evidence card `mosmed-covid19`."""

import shutil

import nibabel
import numpy as np
import pytest

from medrcube.build import readers
from medrcube.build.pixels.volume import stack_slices
from medrcube.build.regions.rasterize import rasterise
from medrcube.errors import SourceError
from medrcube.facts import LabelState, Scope, Visibility
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources._synthetic.chest_ct import WIDEST
from medrcube.sources._synthetic.spreadsheets import write_spreadsheet
from medrcube.sources.registry import find_sources

UNTESTED = {
    "every-tenth-image": "unverified, and a property of the real files",
    "head-of-the-registry": "unverified; only the place of the grade is used (tested)",
    "names-of-the-text-files": "unverified; none is read",
    "ct-4-has-two-studies": "the quota of a release balances answers; noted as a quirk",
    "registration-of-the-portal": "unverified, needs the page",
}
SOURCE, LAYOUT = "mosmed-covid19", "nifti"
CARD = find_sources()[SOURCE].card
TOP = "COVID19_1110"
SHEET = "MosMedData COVID19_1110"
MASKED = "study_0255"


def _edit(path, change, place=lambda affine: affine):
    """An edit that stores ``change(voxels)`` in place of the voxels of one file."""

    def edit(root):
        image = nibabel.load(root / TOP / path)
        voxels = change(np.asarray(image.dataobj))
        nibabel.save(nibabel.Nifti1Image(voxels, place(image.affine.copy())), root / TOP / path)

    return edit


def _mask(change):
    return _edit(f"masks/{MASKED}_mask.nii.gz", change)


def _register(*rows):
    def edit(root):
        head = ["study_id", "category", "study_file", "mask_file"]
        write_spreadsheet(root / TOP / "dataset_registry.xlsx", {SHEET: [head, *rows]})

    return edit


def test_folder_of_a_class_is_found_at_any_depth(edited_tree, scan_tree, scan_fixture):
    def flatten(root):
        for folder in (root / TOP / "studies").iterdir():
            shutil.move(folder, root / TOP)

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, flatten))
    assert list(scan.cases) == list(scan_fixture(SOURCE, LAYOUT).cases)


def test_edition_with_merged_grades_is_refused(edited_tree, scan_tree):
    def merge(root):
        (root / TOP / "studies/CT-2").rename(root / TOP / "studies/CT-23")

    with pytest.raises(SourceError, match="merged"):
        scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, merge))


def test_slices_exported_as_pictures_fit_no_layout(tmp_path):
    for grade in range(5):
        (tmp_path / f"CT-{grade}").mkdir()
        (tmp_path / f"CT-{grade}/study_0001_10.png").touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_study_in_another_folder_than_its_registry_says_is_set_aside(edited_tree, scan_tree):
    def refile(root):
        studies = root / TOP / "studies"
        shutil.move(studies / "CT-2/study_0939.nii.gz", studies / "CT-3")

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, refile))
    assert scan.bad_rows("CT-2; the folder says CT-3") == {"study_0939"}


def test_study_that_the_registry_lacks_is_set_aside(edited_tree, scan_tree):
    edit = _register(["study_0001", "CT-0", "/studies/CT-0/study_0001.nii.gz", None])
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert "study_0002" in scan.bad_rows("holds no row of it")
    assert "study_0001" in scan.cases


def test_registry_with_the_grade_in_another_column_sets_all_studies_aside(edited_tree, scan_tree):
    edit = _register(["CT-0", "study_0001", "/studies/CT-0/study_0001.nii.gz", None])
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert "study_0001" in scan.bad_rows("dataset_registry.xlsx:2 second column=(like xxxxx_9999)")
    assert not scan.cases


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_study_is_read_packed_or_not(edited_tree, scan_tree, suffix):
    def unpack(root):
        path = root / TOP / "studies/CT-2/study_0939.nii.gz"
        image = nibabel.load(path)
        image = nibabel.Nifti1Image(np.asarray(image.dataobj), image.affine)
        path.unlink()
        nibabel.save(image, path.with_name(f"study_0939{suffix}"))

    assert "study_0939" in scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, unpack)).cases


@pytest.mark.parametrize("study", ["study_0939", "study_1074"])
def test_sign_of_the_affine_does_not_turn_the_picture(build_fixture, study):
    """One has the axis codes L, P and the other R, A; the marker is at the upper left."""
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(study)).astype(int)
    assert pixels[8:11, 10:14].min() > 200
    assert pixels[6:13, -19:-6].max() < 150
    assert pixels[-13:-6, 6:19].max() < 150


def test_stack_from_head_to_foot_shows_the_same_slice(edited_tree, build_fixture, build_tree):
    def turn(root):
        def upside_down(affine):
            affine[2] *= -1
            affine[2, 3] = 72.0
            return affine

        for path in (f"studies/CT-1/{MASKED}.nii.gz", f"masks/{MASKED}_mask.nii.gz"):
            _edit(path, lambda voxels: voxels[:, :, ::-1], upside_down)(root)

    build, usual = (
        build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, turn)),
        build_fixture(SOURCE, LAYOUT),
    )
    for key in (MASKED, f"{MASKED}-lesion"):
        a, b = (entry.pixels(entry.sample(key)) for entry in (build, usual))
        assert (a == b).all()


def test_mask_stored_as_fractions_marks_what_lies_above_one_half(
    edited_tree, scan_tree, scan_fixture
):
    def soften(mask):
        soft = mask.astype(np.float32) * 0.9
        soft[:4, :4, :4] = 0.4
        return soft

    def marked(scan):
        case = scan.cases[f"{MASKED}-lesion"]
        return stack_slices(rasterise(case.regions[0].shape, readers.read(case.images[0])))

    softened = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _mask(soften)))
    assert (marked(softened) == marked(scan_fixture(SOURCE, LAYOUT))).all()


def test_padding_below_air_is_black(edited_tree, build_tree):
    def pad(volume):
        volume[:, -4:, :] = -2048
        return volume

    build = build_tree(
        SOURCE, edited_tree(SOURCE, LAYOUT, _edit("studies/CT-2/study_0939.nii.gz", pad))
    )
    pixels = build.pixels(build.sample("study_0939"))
    assert pixels.min() == 0
    assert pixels[40:60, 20:40].mean() > 50


def test_grade_of_the_study_is_not_asked_of_a_slice(build_fixture):
    field, build = CARD.fields["grade"], build_fixture(SOURCE, LAYOUT)
    assert (field.scope, field.visible) == (Scope.STUDY, Visibility.NO)
    assert build.items
    assert all(item.task != "Severity Grading" for item in build.items)


def test_one_rule_chooses_the_slice_of_every_grade(build_fixture):
    samples = build_fixture(SOURCE, LAYOUT).samples
    frames = {s.frames for s in samples if not s.case.endswith("-lesion")}
    assert frames == {str(WIDEST)}


def test_lesion_is_asked_on_the_slice_with_its_largest_mask(build_fixture):
    assert build_fixture(SOURCE, LAYOUT).sample(f"{MASKED}-lesion").frames == "6"


def test_lesion_below_fifty_square_millimetres_is_refused(edited_tree, build_tree):
    def speck(mask):
        mask[:] = 0
        mask[30:33, 40:44, 6] = 1
        return mask

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _mask(speck)))
    assert build.codes()[f"{MASKED}-lesion"] == "small-lesion"
    assert build.items_of(f"{MASKED}-lesion") == []
    assert build.items_of(MASKED) != []


def test_study_without_a_mask_is_asked_for_no_opacity(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    for study in ("study_0400", "study_0939", "study_1074", "study_1109", MASKED):
        assert build.items_of(study, "Abnormality Diagnosis") == []


def test_disease_that_may_spare_the_slice_is_not_asked_without_a_mask(scan_fixture, build_fixture):
    scan, build = scan_fixture(SOURCE, LAYOUT), build_fixture(SOURCE, LAYOUT)
    for study in ("study_0400", "study_0939"):
        assert set(scan.states(study, "diagnosis").values()) == {LabelState.UNKNOWN}
    for study in (MASKED, "study_0400", "study_0939"):
        assert build.items_of(study, "Disease Diagnosis") == []
    for study in (f"{MASKED}-lesion", "study_1074"):
        assert build.right_of(study, "Disease Diagnosis") == {"suspected COVID-19 pneumonia"}


def test_ct_0_is_free_of_viral_pneumonia_and_not_healthy(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    concepts = {i.concept for i in build.items_of("study_0001") if i.task.endswith("Diagnosis")}
    assert concepts == {"no signs of viral pneumonia"}


def test_disease_is_suspected_and_never_proven(build_fixture):
    items = build_fixture(SOURCE, LAYOUT).items
    offered = {
        option.concept
        for item in items
        if item.task == "Disease Diagnosis"
        for option in item.options
    }
    assert offered == {"suspected COVID-19 pneumonia", "no signs of viral pneumonia"}


def test_ground_glass_and_consolidation_are_one_class():
    assert set(CARD.fields["opacity"].values) == {"mask", "CT-0"}


def test_gaps_of_eight_millimetres_allow_no_other_plane(scan_fixture):
    assert CARD.pixels.plane == "axial"
    assert {case.plane for case in scan_fixture(SOURCE, LAYOUT).cases.values()} == {None}


def test_study_and_its_lesion_are_one_patient(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert cases[MASKED].patient == cases[f"{MASKED}-lesion"].patient == MASKED


def test_licence_without_derivatives_keeps_pictures_from_being_passed_on():
    assert CARD.access.licence == "CC-BY-NC-ND-3.0"
    assert CARD.access.redistribute is False


def test_set_that_took_slices_over_is_named():
    assert [overlap.source for overlap in CARD.overlaps] == ["COVIDx-CT"]

"""Traps of the evidence card `isles2022`."""

import nibabel
import numpy as np
import pytest

from medrcube.build import readers
from medrcube.build.pixels.geometry import reorient
from medrcube.build.regions.rasterize import rasterise
from medrcube.facts import LabelState
from medrcube.sources._formats.nifti_masks import load_labels
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "columns-of-participants-tsv": "unverified, so the file is not used",
    "skull-stripping-by-sequence": "unverified, needs the data",
    "licence-of-the-repository-or-of-zenodo": "the stricter of the two is stated",
    "t2-shine-through": "no question rests on the value of a voxel; ADC alone tells diffusion",
}
SOURCE = "isles2022"
ADAPTER = find_sources()[SOURCE]
CARD = ADAPTER.card
LAYOUTS = ("zenodo", "grand-challenge")
each_layout = pytest.mark.parametrize("layout", LAYOUTS)


def _patient(number):
    return f"sub-strokecase{number:04}"


FIRST, FRACTIONS, EMPTY, TINY = map(_patient, (1, 4, 120, 250))


def _frames(case):
    return ADAPTER.hook("frames")(case, reorient(readers.read(case.images[0]), "axial"))


def _areas(case):
    return load_labels(case.guide[0].paths[0]).mask_of().areas("axial")


@each_layout
def test_images_are_found_from_the_mask_in_either_layout_and_spelling(scan_fixture, layout):
    cases = scan_fixture(SOURCE, layout).cases
    assert len(cases) == 25
    assert all(path.exists() for case in cases.values() for path in case.files())
    name = cases[f"{FIRST}-flair"].images[0].paths[0].name
    assert name.endswith("_FLAIR.nii.gz" if layout == "zenodo" else "_flair.nii.gz")


@each_layout
def test_edition_is_told_by_its_folders(fixture_tree, layout):
    assert inspect_copy(CARD, fixture_tree(SOURCE, layout)).layout == layout


@each_layout
def test_flair_has_its_own_grid_and_is_shown_at_the_same_height(scan_fixture, layout):
    cases = scan_fixture(SOURCE, layout).cases
    (dwi,), (flair,) = (_frames(cases[f"{FRACTIONS}-{kind}"]) for kind in ("dwi", "flair"))
    assert dwi != flair
    assert abs(5.0 * dwi - 6.0 * flair) <= 3.0


def test_dwi_and_adc_show_the_same_slice(scan_fixture):
    cases = scan_fixture(SOURCE, "zenodo").cases
    assert _frames(cases[f"{FIRST}-dwi"]) == _frames(cases[f"{FIRST}-adc"])


def test_slice_is_the_one_with_the_largest_lesion(scan_fixture):
    case = scan_fixture(SOURCE, "zenodo").cases[f"{FIRST}-dwi"]
    areas = _areas(case)
    assert areas[_frames(case)[0]] == areas.max()


@pytest.mark.parametrize("kind", ["dwi", "adc", "dwi-clear", "adc-clear"])
def test_empty_mask_is_refused_on_purpose_and_calls_nobody_healthy(build_fixture, kind):
    quarantine = build_fixture(SOURCE, "zenodo").quarantine.set_index("case")
    row = quarantine.loc[f"{EMPTY}-{kind}"]
    assert (row["stage"], row["code"]) == ("select", "no-slice")


def test_lesion_of_a_few_voxels_is_refused_on_purpose(build_fixture, scan_fixture):
    assert 0 < _areas(scan_fixture(SOURCE, "zenodo").cases[f"{TINY}-dwi"]).max() < 20
    quarantine = build_fixture(SOURCE, "zenodo").quarantine.set_index("case")
    row = quarantine.loc[f"{TINY}-dwi"]
    assert (row["stage"], row["code"]) == ("select", "no-slice")


@pytest.mark.parametrize("kind", ["dwi", "adc"])
@pytest.mark.parametrize("number", [1, 4, 9])
def test_slice_called_free_lies_apart_from_every_lesion(scan_fixture, number, kind):
    case = scan_fixture(SOURCE, "zenodo").cases[f"{_patient(number)}-{kind}-clear"]
    (index,) = _frames(case)
    assert not _areas(case)[index - 2 : index + 3].any()


def test_slice_called_free_holds_a_tiny_lesion_for_a_lesion(scan_fixture):
    case = scan_fixture(SOURCE, "zenodo").cases[f"{TINY}-dwi-clear"]
    (index,) = _frames(case)
    assert not _areas(case)[index - 2 : index + 3].any()


def test_free_slices_do_not_all_lie_next_to_the_middle(scan_fixture):
    """Of twenty slices; the lesion of each patient leaves other slices of the middle half free."""
    cases = scan_fixture(SOURCE, "zenodo").cases
    indexes = {_frames(cases[f"{_patient(number)}-dwi-clear"])[0] for number in (1, 4, 9)}
    assert any(abs(2 * index - 19) > 5 for index in indexes)


def test_lesion_that_fills_the_middle_leaves_no_slice_to_call_free(edited_tree, build_tree):
    def fill(root):
        path = next(root.rglob(f"derivatives/{FIRST}/*/*_msk.nii.gz"))
        nifti = nibabel.load(path)
        values = np.asarray(nifti.dataobj).copy()
        values[40:50, 40:50, :] = 1
        nibabel.save(nibabel.Nifti1Image(values, nifti.affine), path)

    quarantine = build_tree(SOURCE, edited_tree(SOURCE, "zenodo", fill)).quarantine.set_index(
        "case"
    )
    row = quarantine.loc[f"{FIRST}-dwi-clear"]
    assert (row["stage"], row["code"]) == ("select", "no-slice")


def test_mask_of_fractions_marks_what_rounds_to_one(scan_fixture):
    case = scan_fixture(SOURCE, "zenodo").cases[f"{FRACTIONS}-dwi"]
    voxels = np.asarray(nibabel.load(case.guide[0].paths[0]).dataobj)
    assert 0 < voxels.min() < 0.5 < voxels.max() < 1
    marked = rasterise(case.regions[0].shape, readers.read(case.images[0]))
    assert marked.areas().sum() == (voxels > 0.5).sum()


def test_lesion_is_neither_marked_nor_asked_on_flair(scan_fixture, build_fixture):
    case = scan_fixture(SOURCE, "zenodo").cases[f"{FIRST}-flair"]
    assert case.regions == ()
    assert {label.field for label in case.labels} == {"plane", "sequence"}
    tasks = build_fixture(SOURCE, "zenodo").tasks_of(f"{FIRST}-flair")
    assert tasks.isdisjoint({"ROI Grounding", "Abnormality Diagnosis", "Disease Diagnosis"})


@pytest.mark.parametrize("harm", ["moved mask", "no dwi"])
def test_flair_is_kept_where_its_mask_cannot_be_used_and_states_no_lesion(
    edited_tree, build_tree, harm
):
    def edit(root):
        if harm == "no dwi":
            next(root.rglob(f"{FIRST}_*_dwi.nii.gz")).unlink()
            return
        path = next(root.rglob(f"{FIRST}_*_msk.nii.gz"))
        image = nibabel.load(path)
        affine = image.affine.copy()
        affine[0, 3] += 40
        nibabel.save(nibabel.Nifti1Image(np.asarray(image.dataobj), affine), path)

    build = build_tree(SOURCE, edited_tree(SOURCE, "zenodo", edit))
    tasks = build.tasks_of(f"{FIRST}-flair")
    assert "Imaging Protocols Recognition" in tasks
    assert not set(tasks) & {"Abnormality Diagnosis", "Disease Diagnosis", "ROI Grounding"}
    row = build.quarantine.set_index("case").loc[f"{FIRST}-flair"]
    assert row["code"] == ("guide-missing" if harm == "no dwi" else "mask-place")
    assert "another slice is shown" in row["message"]
    assert not build.items_of(f"{FIRST}-adc") or harm == "no dwi"


def test_free_slice_says_nothing_of_the_disease(scan_fixture, build_fixture):
    key = f"{FIRST}-dwi-clear"
    assert scan_fixture(SOURCE, "zenodo").states(key, "diagnosis") == {}
    build = build_fixture(SOURCE, "zenodo")
    assert build.right_of(key, "Abnormality Diagnosis") == {"no acute infarct"}
    assert build.items_of(key, "Disease Diagnosis") == []


def test_preview_with_the_lesion_painted_in_is_no_picture(build_fixture):
    codes = build_fixture(SOURCE, "grand-challenge").codes()
    previews = {name: code for name, code in codes.items() if name.endswith("_snp.png")}
    assert len(previews) == 5
    assert set(previews.values()) == {"ignored-by-card"}


@pytest.mark.parametrize("factor", [1000.0, 1.0])
def test_adc_of_either_unit_gives_the_same_picture(edited_tree, build_tree, build_fixture, factor):
    def scale(root):
        path = next(root.rglob(f"{FIRST}*_adc.nii.gz"))
        nifti = nibabel.load(path)
        values = np.asarray(nifti.dataobj) * factor
        nibabel.save(nibabel.Nifti1Image(values, nifti.affine), path)

    fixture = build_fixture(SOURCE, "zenodo")
    two = build_tree(SOURCE, edited_tree(SOURCE, "zenodo", scale))
    key = f"{FIRST}-adc"
    difference = fixture.pixels(fixture.sample(key)).astype(int) - two.pixels(two.sample(key))
    assert np.abs(difference).max() <= 1


@pytest.mark.parametrize("kind", ["dwi", "flair"])
def test_rows_that_run_upwards_are_shown_with_the_face_up_and_the_right_at_the_left(
    scan_fixture, build_fixture, kind
):
    case = scan_fixture(SOURCE, "zenodo").cases[f"{FIRST}-{kind}"]
    nifti = nibabel.load(case.images[0].paths[0])
    assert nibabel.aff2axcodes(nifti.affine) == ("L", "A", "S")
    (k,) = _frames(case)
    expected = np.asarray(nifti.dataobj)[:, ::-1, k].T
    build = build_fixture(SOURCE, "zenodo")
    pixels = build.pixels(build.sample(case.key)).astype(float)
    assert np.corrcoef(pixels.ravel(), expected.ravel())[0, 1] > 0.98


def test_other_centre_stored_in_another_direction_gives_the_same_picture(
    edited_tree, build_tree, build_fixture
):
    def turn(root):
        for path in root.rglob(f"*{FIRST}*.nii.gz"):
            nibabel.save(nibabel.as_closest_canonical(nibabel.load(path)), path)

    fixture = build_fixture(SOURCE, "zenodo")
    two = build_tree(SOURCE, edited_tree(SOURCE, "zenodo", turn))
    for kind in ("dwi", "adc", "flair"):
        key = f"{FIRST}-{kind}"
        assert (fixture.pixels(fixture.sample(key)) == two.pixels(two.sample(key))).all()


def test_strength_of_diffusion_is_never_stated(scan_fixture, build_fixture):
    for case in scan_fixture(SOURCE, "zenodo").cases.values():
        assert not any("800" in value or "iffusion" in name for name, value in case.facts)
    for item in build_fixture(SOURCE, "zenodo").items:
        assert not any("800" in o.text or "1000" in o.text for o in item.options)


def test_case_without_a_sidecar_is_read(fixture_tree, scan_fixture):
    assert not list(fixture_tree(SOURCE, "zenodo").rglob(f"{FIRST}*.json"))
    cases = scan_fixture(SOURCE, "zenodo").cases
    assert cases[f"{FIRST}-dwi"].facts == ()
    assert dict(cases[f"{FRACTIONS}-dwi"].facts) == {"sex": "F", "age": "060Y"}


def test_infarct_is_acute_or_subacute(build_fixture):
    (item,) = build_fixture(SOURCE, "zenodo").items_of(f"{FIRST}-dwi", "Abnormality Diagnosis")
    assert all("acute or subacute" in option.text.casefold() for option in item.options)


def test_no_severity_is_asked(build_fixture):
    assert "Severity Grading" not in {item.task for item in build_fixture(SOURCE, "zenodo").items}


def test_five_pictures_of_a_patient_share_the_patient(scan_fixture):
    cases = scan_fixture(SOURCE, "zenodo").cases.values()
    patients = [case.patient for case in cases]
    assert {patient: patients.count(patient) for patient in patients} == dict.fromkeys(
        map(_patient, (1, 4, 9, 120, 250)), 5
    )


def test_lesion_and_its_absence_are_never_stated_as_denied(scan_fixture):
    for case in scan_fixture(SOURCE, "zenodo").cases.values():
        assert {label.state for label in case.labels} == {LabelState.PRESENT}

"""Traps of the evidence card `brats2021`."""

import nibabel
import numpy as np
import pytest

from medrcube.build import readers
from medrcube.build.pixels.geometry import reorient
from medrcube.facts import LabelState
from medrcube.sources._formats.nifti_masks import load_labels
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources
from medrcube.taxonomy import Task

UNTESTED = {
    "kinds-of-voxels-and-tcia-licence": "unverified; the source counts as restricted",
    "skull-stripped-in-template-space": "a bias of the collection, noted as a quirk",
    "one-merged-map-of-several-raters": "a property of the truth, noted as a quirk",
    "new-to-old-names-mapping": "its columns are unverified, so the file is not used",
}
SOURCE, LAYOUT = "brats2021", "training"
CARD = find_sources()[SOURCE].card
ADAPTER = find_sources()[SOURCE]
FOLDER = "BraTS2021_Training_Data"
FIRST, DRY = "BraTS2021_00000", "BraTS2021_00005"
SEQUENCES = ("t1", "t1ce", "t2", "flair")


def _relabel(patient, change):
    """An edit of the label volume of one patient."""

    def edit(root):
        path = root / FOLDER / patient / f"{patient}_seg.nii.gz"
        nifti = nibabel.load(path)
        values = change(np.asarray(nifti.dataobj).copy())
        nibabel.save(nibabel.Nifti1Image(values, nifti.affine), path)

    return edit


def _marked(case):
    return {region.value for region in case.regions}


def test_enhancing_tumor_is_4_and_no_voxel_is_3(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[f"{FIRST}-t1ce-axial"]
    shapes = {region.value: region.shape.values for region in case.regions}
    assert shapes == {"1": (1,), "4": (4,), "1+4": (1, 4)}
    assert CARD.fields["subregion"].concept("4") == "ET"


def test_slice_without_enhancement_shows_tumor_apart_from_any_enhancing_part(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[f"{FIRST}-t1ce-axial-clear"]
    (index,) = ADAPTER.hook("frames")(case, reorient(readers.read(case.images[0]), "axial"))
    labels = load_labels(case.guide[0].paths[0])
    assert labels.mask_of().areas("axial")[index] >= 100
    assert not labels.mask_of(4).areas("axial")[index - 3 : index + 4].any()
    states = {(label.field, label.state) for label in case.labels}
    assert ("subregion", LabelState.ABSENT) in states
    assert case.regions == ()


@pytest.mark.parametrize("change", [lambda v: np.where(v == 4, 1, v), lambda v: v * (v == 4)])
def test_tumor_that_enhances_nowhere_or_all_over_is_not_called_free_of_it(
    edited_tree, build_tree, change
):
    root = edited_tree(SOURCE, LAYOUT, _relabel(FIRST, change))
    assert build_tree(SOURCE, root).codes()[f"{FIRST}-t1ce-axial-clear"] == "no-slice"


def test_segmentation_of_a_later_edition_with_label_3_is_refused(edited_tree, build_tree):
    root = edited_tree(SOURCE, LAYOUT, _relabel(FIRST, lambda v: np.where(v == 4, 3, v)))
    codes = build_tree(SOURCE, root).codes()
    assert {codes[f"{FIRST}-{s}-axial"] for s in SEQUENCES} == {"label-values"}


@pytest.mark.parametrize(
    "names",
    [
        [f"BraTS-GLI-00000-000/BraTS-GLI-00000-000-{s}.nii.gz" for s in ("t1n", "t1c", "seg")],
        [f"BraTS20_Training_001/BraTS20_Training_001_{s}.nii" for s in ("t1", "t1ce", "seg")],
        ["imagesTr/BRATS_001.nii.gz", "labelsTr/BRATS_001.nii.gz"],
        ["train/00000/FLAIR/Image-1.dcm", "train_labels.csv"],
    ],
    ids=["2023", "2020", "decathlon", "radiogenomics"],
)
def test_other_edition_fits_no_layout(tmp_path, names):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_sample_patient_of_the_kaggle_copy_is_not_read_twice(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.skips[f"{FOLDER}/BraTS2021_00002"] == "another copy of a patient"
    assert sum(key.startswith("BraTS2021_00002") for key in scan.cases) == 7


def test_patient_of_the_validation_part_is_set_aside(scan_fixture):
    scan = scan_fixture(SOURCE, LAYOUT)
    assert scan.skips[f"{FOLDER}/BraTS2021_00001"] == "has no segmentation"


def test_numbers_of_patients_have_gaps(scan_fixture):
    patients = {case.patient for case in scan_fixture(SOURCE, LAYOUT).cases.values()}
    assert patients == {f"BraTS2021_{number:05}" for number in (0, 2, 3, 5)}


@pytest.mark.parametrize("plane", ["axial", "coronal", "sagittal"])
def test_plane_is_cut_by_the_affine_with_the_right_side_at_the_left(
    scan_fixture, build_fixture, plane
):
    """Axes grow to the left, to posterior and to superior."""
    case = scan_fixture(SOURCE, LAYOUT).cases[f"{FIRST}-t1-{plane}"]
    (k,) = ADAPTER.hook("frames")(case, reorient(readers.read(case.images[0]), plane))
    voxels = np.asarray(nibabel.load(case.images[0].paths[0]).dataobj)
    expected = {
        "axial": lambda: voxels[:, :, k].T,
        "coronal": lambda: voxels[:, k, ::-1].T,
        "sagittal": lambda: voxels[k, :, ::-1].T,
    }[plane]()
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(case.key)).astype(float)
    assert pixels.shape == expected.shape
    assert np.corrcoef(pixels.ravel(), expected.ravel())[0, 1] > 0.98


def test_file_packed_again_with_another_sign_gives_the_same_picture(
    edited_tree, build_tree, build_fixture
):
    def mirror(root):
        for path in (root / FOLDER / FIRST).iterdir():
            nifti = nibabel.load(path)
            values = np.asarray(nifti.dataobj)[::-1]
            affine = nifti.affine @ np.diag([-1, 1, 1, 1])
            affine[:3, 3] = nifti.affine[:3, :3] @ [len(values) - 1, 0, 0] + nifti.affine[:3, 3]
            nibabel.save(nibabel.Nifti1Image(values, affine), path)

    first, second = (
        build_fixture(SOURCE, LAYOUT),
        build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, mirror)),
    )
    for sequence in SEQUENCES:
        key = f"{FIRST}-{sequence}-axial"
        assert (first.pixels(first.sample(key)) == second.pixels(second.sample(key))).all()


@pytest.mark.parametrize(
    ("sequence", "marked"),
    [
        ("t1", set()),
        ("t1ce", {"1", "4", "1+4"}),
        ("t2", {"2", "1+2+4"}),
        ("flair", {"2", "1+2+4"}),
    ],
)
def test_part_is_marked_only_where_its_sequence_shows_it(scan_fixture, sequence, marked):
    assert _marked(scan_fixture(SOURCE, LAYOUT).cases[f"{FIRST}-{sequence}-axial"]) == marked


@pytest.mark.parametrize(
    ("sequence", "concept"), [("t1", "T1"), ("t1ce", "T1c"), ("t2", "T2"), ("flair", "FLAIR")]
)
def test_sequence_is_the_end_of_the_name(build_fixture, sequence, concept):
    build = build_fixture(SOURCE, LAYOUT)
    right = build.right_of(f"{FIRST}-{sequence}-axial", "Imaging Protocols Recognition")
    assert right == {concept}


def test_disease_is_glioma_and_glioblastoma_is_never_offered(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert {item.concept for item in build.items if item.task == "Disease Diagnosis"} == {"glioma"}
    offered = {o.concept for item in build.items for o in item.options}
    assert "glioblastoma" not in offered


def test_no_grade_is_asked(build_fixture):
    assert "Severity Grading" not in {item.task for item in build_fixture(SOURCE, LAYOUT).items}


@pytest.mark.parametrize("sequence", ["t2", "flair"])
def test_patient_without_edema_is_asked_neither_the_edema_nor_a_tumor_with_it(
    build_fixture, sequence
):
    build, key = build_fixture(SOURCE, LAYOUT), f"{DRY}-{sequence}-axial"
    assert {sample.marked for sample in build.samples if sample.case == key} == {""}
    messages = build.quarantine["message"][build.quarantine["case"] == key]
    assert len(messages)
    assert all("does not show every part that 'WT' names" in message for message in messages)


@pytest.mark.parametrize("gone", [(2,), (1, 4)], ids=["edema", "core"])
def test_tumor_with_edema_is_asked_only_where_the_slice_shown_has_both(
    edited_tree, build_tree, gone
):
    """The other slices keep what the one with most tumour loses."""

    def lose(values):
        best = int((values > 0).sum(axis=(0, 1)).argmax())
        plane = values[:, :, best]
        plane[np.isin(plane, gone)] = 4 if gone == (2,) else 2
        return values

    key = f"{FIRST}-flair-axial"
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _relabel(FIRST, lose)))
    assert build.sample(key)
    assert "WT" not in {sample.marked for sample in build.samples if sample.case == key}


def test_tumor_with_edema_is_asked_where_the_slice_shows_both(build_fixture):
    samples = build_fixture(SOURCE, LAYOUT).samples
    cases = {sample.case for sample in samples if sample.marked == "WT"}
    assert f"{FIRST}-flair-axial" in cases


@pytest.mark.parametrize(("value", "concept"), [(1, "NCR"), (4, "ET")])
def test_patient_without_a_part_of_the_core_keeps_the_other(
    edited_tree, build_tree, value, concept
):
    root = edited_tree(SOURCE, LAYOUT, _relabel(FIRST, lambda v: np.where(v == value, 2, v)))
    build, key = build_tree(SOURCE, root), f"{FIRST}-t1ce-axial"
    marked = {sample.marked for sample in build.samples if sample.case == key}
    assert marked - {""} == {"NCR", "ET", "TC"} - {concept}


def test_missing_part_may_be_missing_annotation_so_it_is_denied_beside_a_marked_one_alone(
    scan_fixture,
):
    for key, case in scan_fixture(SOURCE, LAYOUT).cases.items():
        denied = {label.field for label in case.labels if label.state is not LabelState.PRESENT}
        assert denied == ({"subregion"} if key.endswith("-clear") else set())
    assert Task("Abnormality Diagnosis") not in CARD.tasks


def test_patient_without_any_tumor_is_refused(edited_tree, build_tree):
    root = edited_tree(SOURCE, LAYOUT, _relabel(FIRST, lambda v: 0 * v))
    codes = build_tree(SOURCE, root).codes()
    assert codes[f"{FIRST}-t2-axial"] == "empty-mask"
    assert codes[f"{FIRST}-t1-axial"] == "no-slice"


def test_tumor_of_less_than_100_voxels_is_refused_on_purpose(edited_tree, build_tree):
    def shrink(values):
        places = np.argwhere(values > 0)[:40]
        small = np.zeros_like(values)
        small[tuple(places.T)] = 1
        return small

    root = edited_tree(SOURCE, LAYOUT, _relabel(FIRST, shrink))
    quarantine = build_tree(SOURCE, root).quarantine.set_index("case")
    row = quarantine.loc[f"{FIRST}-t2-axial"]
    assert (row["stage"], row["code"]) == ("select", "no-slice")


def test_all_sequences_of_a_patient_show_the_slice_with_most_tumor(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    frames = {build.sample(f"{FIRST}-{sequence}-axial").frames for sequence in SEQUENCES}
    path = scan_fixture(SOURCE, LAYOUT).cases[f"{FIRST}-t1-axial"].guide[0].paths[0]
    assert frames == {str(load_labels(path).mask_of().largest("axial"))}


def test_background_of_zeros_does_not_set_the_window(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(f"{FIRST}-t2-axial"))
    assert pixels[-1, -1] == 0
    assert np.median(pixels[pixels > 0]) > 60


@pytest.mark.parametrize(
    "name", ["BraTS 2017-2020", "TCGA-GBM", "TCGA-LGG", "CPTAC-GBM", "IvyGAP", "UPenn", "UCSF"]
)
def test_collection_that_shares_patients_is_named(name):
    assert any(name in overlap.source for overlap in CARD.overlaps)


def test_source_counts_as_restricted_until_its_licence_is_confirmed():
    assert not CARD.access.redistribute
    assert CARD.access.mode == "form"


def test_all_three_papers_are_cited():
    assert CARD.citation.count("@") == 3

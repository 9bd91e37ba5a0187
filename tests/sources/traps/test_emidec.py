"""Traps of the evidence card `emidec`."""

import nibabel
import numpy as np
import pytest

from medrcube.fact_kind import FactKind
from medrcube.facts import LabelState
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "stored-orientation": "upright in one real exam; noted as a quirk, and no side is asked",
    "readers-of-the-masks": "unverified; no field rests on who drew them",
    "gap-between-slices": "no volume is computed",
    "codes-of-tobacco": "not read",
    "shared-patients-with-acdc": "not known; noted as a quirk",
    "no-reflow-beside-infarct": "read as a part of the infarct; the order of labels is checked",
}
SOURCE, LAYOUT = "emidec", "archive"
CARD = find_sources()[SOURCE].card
NORMAL, LARGE, DARK, TINY = "Case_N006", "Case_P001", "Case_P003", "Case_P010"


def _mask(root, case):
    (path,) = root.rglob(f"Contours/{case}.nii.gz")
    return path


def _relabel(root, case, change):
    path = _mask(root, case)
    nifti = nibabel.load(path)
    labels = change(np.asarray(nifti.dataobj).copy())
    nibabel.save(nibabel.Nifti1Image(labels, nifti.affine), path)


@pytest.fixture
def fixture_scan(scan_fixture):
    return scan_fixture(SOURCE, LAYOUT)


@pytest.fixture
def build(build_fixture):
    return build_fixture(SOURCE, LAYOUT)


@pytest.fixture
def codes(edited_tree, build_tree):
    """What becomes of an exam without the dark core, and of masks that contradict their names."""

    def spoil(root):
        _relabel(root, NORMAL, lambda labels: np.where(labels == 2, 3, labels).astype(np.uint8))
        _relabel(root, "Case_N012", lambda labels: labels * np.uint8(5))
        swapped = np.array([0, 2, 1, 3, 4], np.uint8)  # as cavity and wall of ACDC
        _relabel(root, LARGE, lambda labels: swapped[labels])

    return build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, spoil)).codes()


def test_infarct_in_an_exam_named_normal_sets_it_aside(codes):
    assert codes[NORMAL] == "contradiction"


def test_mask_with_other_labels_is_refused(codes):
    assert codes["Case_N012"] in {"empty-mask", "label-order"}


def test_labels_in_the_order_of_another_dataset_are_refused(codes):
    assert codes[LARGE] == "label-order"


def test_infarct_too_small_to_be_seen_is_refused(build):
    assert build.codes()[TINY] == "no-slice"


def test_slice_with_the_largest_infarct_is_shown(build):
    assert build.sample(LARGE).frames == "2"


def test_no_reflow_is_a_part_of_wall_and_infarct(fixture_scan):
    values = {
        (region.field, region.value): region.shape.values
        for region in fixture_scan.cases[DARK].regions
    }
    assert values["structure", "myocardium"] == (2, 3, 4)
    assert values["enhancement", "P"] == (3, 4)


def test_normal_exam_is_called_a_normal_mri_and_not_a_healthy_heart(fixture_scan, build):
    assert fixture_scan.states(NORMAL, "diagnosis") == {"N": LabelState.PRESENT}
    assert {region.field for region in fixture_scan.cases[NORMAL].regions} == {"structure"}
    assert CARD.fields["diagnosis"].values["N"] == "normal delayed-enhancement MRI"


def test_right_ventricle_is_not_labelled_and_never_called_absent(fixture_scan):
    assert CARD.fields["structure"].absence.value == "silent"
    for case in fixture_scan.cases.values():
        values = {region.value for region in case.regions if region.field == "structure"}
        assert values == {"cavity", "myocardium"}


def test_sequence_that_is_also_t1_is_no_field():
    assert FactKind("protocol") not in {field.kind for field in CARD.fields.values()}


def test_text_file_has_a_blank_in_its_name_and_signs_beyond_ascii(fixture_tree, fixture_scan):
    (path,) = fixture_tree(SOURCE, LAYOUT).rglob("Case N006.txt")
    assert not path.read_bytes().isascii()
    assert dict(fixture_scan.cases[NORMAL].facts) == {"sex": "male", "age": "58"}


def test_exam_without_a_text_file_is_read(edited_tree, scan_tree):
    def drop(root):
        (path,) = root.rglob("Case N006.txt")
        path.unlink()

    cases = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, drop)).cases
    assert cases[NORMAL].facts == ()


def test_file_under_another_name_in_a_folder_of_an_exam_belongs_to_it(scan_fixture):
    cases = scan_fixture(SOURCE, "folders").cases
    assert {path.name for path in cases[NORMAL].files()} >= {"volume.nii"}
    assert len(cases) == 6


@pytest.mark.parametrize("name", ["data/train.parquet", "Case_N006/Case_N006_3.png"])
def test_other_edition_fits_no_layout(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits

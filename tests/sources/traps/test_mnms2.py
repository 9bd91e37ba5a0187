"""Traps of the evidence card `mnms2`."""

import nibabel
import numpy as np
import pytest

from medrcube.fact_kind import FactKind
from medrcube.facts import Scope
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "shared-patients-with-mms1": "not known, and M&Ms-1 is not a source; noted as a quirk",
    "readers-of-the-masks": "unverified; no field rests on who drew them",
    "terms-of-use": "not seen; no image is passed on",
    "counts-of-validation-and-test": "unverified; left out of the counts",
    "field-strength": "unverified codes; not asked",
    "protocol-of-the-sequence": "all series are cine series; there is nothing to tell them from",
}
SOURCE, LAYOUT, OLDER = "mnms2", "dataset", "training"
CARD = find_sources()[SOURCE].card
DUMMY_AFFINE, UNMASKED = "008", "161"


def _folder(root, number):
    (folder,) = root.glob(f"*/*/{number}")
    return folder


def _relabel(root, number, change):
    for path in _folder(root, number).glob("*_gt.nii.gz"):
        nifti = nibabel.load(path)
        labels = change(np.asarray(nifti.dataobj).copy()).astype(np.uint8)
        nibabel.save(nibabel.Nifti1Image(labels, nifti.affine), path)


def _with_another_label(labels):
    labels[0, 0] = 4
    return labels


def _with_the_right_ventricle_on_the_first_slice_alone(labels):
    """Where the left one does not show; of a single slice nothing is left out."""
    labels[:, :, 1:][labels[:, :, 1:] == 3] = 0
    return labels


@pytest.fixture
def cases(scan_fixture):
    return scan_fixture(SOURCE, LAYOUT).cases


@pytest.fixture
def build(build_fixture):
    return build_fixture(SOURCE, LAYOUT)


@pytest.fixture
def codes(edited_tree, build_tree):
    """What becomes of masks of other datasets, and of a heart without a slice of all parts."""

    def spoil(root):
        swapped = np.array([0, 3, 2, 1])
        _relabel(root, "001", lambda labels: swapped[labels])
        _relabel(root, "002", _with_another_label)
        _relabel(root, "003", _with_the_right_ventricle_on_the_first_slice_alone)

    return build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, spoil)).codes()


def test_labels_in_the_order_of_acdc_are_refused(codes):
    for view in ("SA", "LA"):
        assert codes[f"001-{view}"] in {"label-order", "turned"}


def test_mask_with_a_fourth_label_is_refused(codes):
    assert codes["002-SA"] == codes["002-LA"] == "label-order"


def test_heart_without_a_slice_of_all_three_structures_gives_no_image(codes):
    assert codes["003-SA"] == "no-slice"


@pytest.mark.parametrize("view", ["SA", "LA"])
def test_every_storage_is_shown_with_the_right_ventricle_at_the_left(build, view):
    for number in ("001", "002", "003", "004"):
        columns = {}
        for name in ("RV (structure)", "LV"):
            sample = build.sample(f"{number}-{view}", "outline", name)
            pixels = build.pixels(sample).astype(int)
            columns[name] = np.nonzero((pixels[..., 0] - pixels[..., 1]) > 100)[1].mean()
        assert columns["RV (structure)"] < columns["LV"]
        clean = build.pixels(build.sample(f"{number}-{view}")).astype(int)
        corners = [clean[10, 15], clean[10, -15], clean[-10, 15], clean[-10, -15]]
        assert corners[0] > 200
        assert max(corners[1:]) < 50


def test_affine_that_does_not_place_the_heart_in_the_patient_is_refused(build):
    message = build.quarantine.set_index("case").loc[f"{DUMMY_AFFINE}-SA", "message"]
    assert build.codes()[f"{DUMMY_AFFINE}-LA"] == "turned"
    assert "assumes that affines place the slices in the patient" in message


def test_file_without_any_orientation_is_refused(edited_tree, build_tree):
    def forget(root):
        for path in _folder(root, "001").glob("*.nii.gz"):
            nifti = nibabel.load(path)
            nibabel.save(nibabel.Nifti1Image(np.asarray(nifti.dataobj), None), path)

    codes = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, forget)).codes()
    assert codes["001-SA"] == codes["001-LA"] == "no-orientation"


def test_slice_is_the_middle_of_those_with_all_three_structures(build):
    assert {build.sample(f"{number}-SA").frames for number in ("001", "005")} <= {"2", "3"}
    assert build.sample("001-LA").frames == "0"


def test_view_is_that_of_the_file_name_and_none_of_echocardiography(build):
    assert build.right_of("001-SA", "View Recognition") <= {"cardiac short-axis view"}
    assert CARD.fields["view"].values == {
        "SA": "cardiac short-axis view",
        "LA": "cardiac four-chamber view",
    }


def test_labels_run_from_the_left_ventricle_to_the_right(cases):
    stated = {
        region.shape.values: CARD.fields["structure"].concept(region.value)
        for region in cases["001-LA"].regions
    }
    assert stated == {(1,): "LV", (2,): "MYO", (3,): "RV (structure)"}


def test_structure_missing_from_an_end_slice_is_not_called_absent():
    assert CARD.fields["structure"].absence.value == "silent"


@pytest.mark.parametrize("group", ["RV", "ARR", "FALL", "CIA", "TRI"])
def test_groups_that_all_enlarge_the_right_ventricle_are_known_and_not_asked(group):
    assert CARD.fields["diagnosis"].concept(group) is None


def test_dilated_left_ventricle_is_no_dilated_cardiomyopathy():
    assert CARD.fields["diagnosis"].concept("LV") == "left ventricular dilatation"


def test_group_is_asked_of_both_phases_and_only_against_the_safe_ones(build):
    case_of_sample = {sample.id: sample.case for sample in build.samples}
    items = [item for item in build.items if item.task == "Disease Diagnosis"]
    assert items
    safe = {"NOR", "left ventricular dilatation", "HCM"}
    for item in items:
        assert case_of_sample[item.sample].endswith("-ED-ES")
        assert {option.concept for option in item.options} <= safe


def test_group_is_of_the_patient_and_the_number_has_no_leading_zeros(cases):
    assert cases["001-SA-ED-ES"].shows is Scope.PATIENT
    (label,) = cases["001-SA-ED-ES"].labels
    assert (label.field, label.value) == ("diagnosis", "NOR")
    assert not [label for label in cases["001-SA"].labels if label.field == "diagnosis"]


def test_blank_rows_at_the_end_of_the_table_are_no_subjects(scan_fixture, fixture_tree):
    table = fixture_tree(SOURCE, LAYOUT) / "MnM2/dataset_information.csv"
    assert table.read_text().endswith(",,,,\n,,,,\n")
    assert not scan_fixture(SOURCE, LAYOUT).skips


def test_group_that_the_card_does_not_know_sets_its_pairs_aside(edited_tree, scan_tree, replacing):
    edit = replacing("MnM2/dataset_information.csv", "1,NOR,", "1,DCM,")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("of field 'diagnosis' is not in the card") >= {
        "001-SA-ED-ES",
        "001-LA-ED-ES",
    }
    assert "001-SA" in scan.cases


def test_folder_that_is_no_number_ends_no_scan(edited_tree, scan_tree):
    def rename(root):
        folder = _folder(root, "005")
        for path in folder.iterdir():
            path.rename(path.with_name(path.name.replace("005", "abc")))
        folder.rename(folder.with_name("abc"))

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, rename))
    assert scan.bad_rows("expected the number of a subject") == {"abc"}


def test_two_rows_of_a_subject_that_differ_state_no_disease(edited_tree, scan_tree, replacing):
    edit = replacing("MnM2/dataset_information.csv", "\n1,NOR,", "\n1,HCM,x,x,1.5\n1,NOR,")
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, edit))
    assert scan.bad_rows("has 2 rows") == {"001"}


def test_older_delivery_has_no_masks_of_validation_and_no_test(scan_fixture):
    scan = scan_fixture(SOURCE, OLDER)
    assert scan.skips == {UNMASKED: "no masks: cannot be checked"}
    assert "201-SA" not in scan.cases


def test_older_delivery_without_the_table_states_no_disease(edited_tree, scan_tree):
    def drop(root):
        (root / "MnM-2/dataset_information.csv").unlink()

    cases = scan_tree(SOURCE, OLDER, edited_tree(SOURCE, OLDER, drop)).cases
    assert cases["001-SA-ED-ES"].labels == ()
    assert len(cases["001-SA-ED-ES"].panels) == 2


def test_part_follows_from_the_number(cases):
    parts = {number: cases[f"{number}-SA"].split for number in ("008", "161", "201")}
    assert parts == {"008": "train", "161": "val", "201": "test"}
    assert {case.patient for case in cases.values()} == {key[:3] for key in cases}


def test_damaged_volume_is_set_aside_and_the_rest_goes_on(edited_tree, build_tree):
    def cut(root):
        path = _folder(root, "005") / "005_SA_ED.nii.gz"
        path.write_bytes(path.read_bytes()[:200])

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, cut))
    assert build.codes()["005-SA"] == "truncated"
    assert build.sample("005-LA").frames == "0"


def test_no_severity_is_made_of_the_volumes():
    assert FactKind("severity") not in {field.kind for field in CARD.fields.values()}


def test_whole_cine_series_is_no_case(build):
    assert build.codes()["MnM2/dataset/001/001_SA_CINE.nii.gz"] == "ignored-by-card"


@pytest.mark.parametrize(
    "name",
    [
        "Training/Labeled/A0S9V9/A0S9V9_sa.nii.gz",
        "imagesTr/MNMS2_001_0000.nii.gz",
        "001/img/SA_ED.h5",
        "train/001.npz",
    ],
    ids=["mms1", "nnunet", "h5", "npz"],
)
def test_other_editions_fit_no_layout(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_table_of_mms1_is_refused(edited_tree, scan_tree):
    def other(root):
        (root / "MnM2/dataset_information.csv").write_text(
            "External code,ED,ES,Vendor,Pathology\nA0S9V9,0,9,A,HCM\n"
        )

    with pytest.raises(Exception, match="SUBJECT_CODE"):
        scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, other))

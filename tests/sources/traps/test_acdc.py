"""Traps of the evidence card `acdc`."""

import shutil

import nibabel
import numpy as np
import pytest

from medrcube.facts import Scope
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "papillary-muscles-count-as-cavity": "a convention of the contours, needs real pictures",
    "training-patients-in-blocks-of-a-group": "the batch draws by lot, no order is used",
    "patients-shared-with-emidec": "unverified, and EMIDEC is not a source here",
    "cropped-fields-of-view": "a property of the real volumes",
    "affine-of-every-file": "one sample seen; the affine is not used (tested)",
}
SOURCE, LAYOUT = "acdc", "database"
CARD = find_sources()[SOURCE].card
ED = "patient001-ED"


def _folder(root, name="patient001"):
    return root / "database/training" / name


def _info(text):
    def edit(root):
        (_folder(root) / "Info.cfg").write_text(text)

    return edit


def _rewrite(edit):
    """An edit that changes the volume and the truth of ``patient001`` at ED."""

    def change(root):
        for end in ("", "_gt"):
            path = _folder(root) / f"patient001_frame01{end}.nii.gz"
            image = nibabel.load(path)
            nibabel.save(edit(image), path)

    return change


def test_phase_follows_the_info_file_and_not_the_order_of_frames(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    frames = {key: cases[key].images[0].paths[0].name for key in ("patient090-ED", "patient090-ES")}
    assert frames == {
        "patient090-ED": "patient090_frame11.nii.gz",
        "patient090-ES": "patient090_frame04.nii.gz",
    }


def test_frame_numbers_count_from_one_and_have_two_digits(scan_fixture):
    paths = scan_fixture(SOURCE, LAYOUT).cases[ED].images[0].paths
    assert paths[0].name == "patient001_frame01.nii.gz"


def test_patient_whose_phase_is_disputed_is_dropped(build_fixture):
    codes = build_fixture(SOURCE, LAYOUT).codes()
    for end in ("ED", "ES", "ED-ES"):
        assert codes[f"patient090-{end}"] == "dropped-by-card"


def test_labels_run_from_the_right_ventricle_to_the_left(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[ED]
    stated = {
        region.shape.values: CARD.fields["structure"].concept(region.value)
        for region in case.regions
    }
    assert stated == {(1,): "RV (structure)", (2,): "MYO", (3,): "LV"}


def test_labels_in_the_order_of_mms_are_refused(edited_tree, build_tree):
    """M&Ms calls the left ventricle 1 and the right one 3."""

    def swap(root):
        for path in _folder(root).glob("*_gt.nii.gz"):
            image = nibabel.load(path)
            voxels = np.asarray(image.dataobj)
            nibabel.save(
                nibabel.Nifti1Image(np.choose(voxels, [0, 3, 2, 1]).astype(np.uint8), image.affine),
                path,
            )

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, swap))
    codes = build.codes()
    assert {codes[f"patient001-{name}"] for name in ("ED", "ES", "ED-ES")} == {"label-order"}
    assert "label-order" not in {code for case, code in codes.items() if "patient001" not in case}


def test_group_named_rv_is_no_structure_and_is_not_asked(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases["patient091-ED-ES"]
    (label,) = (label for label in case.labels if label.field == "diagnosis")
    assert CARD.fields["diagnosis"].concept(label.value) is None
    assert CARD.fields["structure"].concept("1") != "RV"


def test_volume_is_shown_as_stored_whatever_its_affine_says(edited_tree, build_tree, build_fixture):
    def other(image):
        turned = np.diag([1.5625, -1.5625, 10, 1])
        return nibabel.Nifti1Image(np.asarray(image.dataobj), turned)

    expected = build_fixture(SOURCE, LAYOUT)
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _rewrite(other)))
    assert (build.pixels(build.sample(ED)) == expected.pixels(expected.sample(ED))).all()


def test_picture_is_neither_turned_nor_mirrored(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    pixels = build.pixels(build.sample(ED)).astype(int)
    assert pixels.shape == (96, 120)
    corners = [pixels[10, 15], pixels[10, -15], pixels[-10, 15], pixels[-10, -15]]
    assert corners[0] > 200
    assert max(corners[1:]) < 50


def test_right_ventricle_lies_left_of_the_left_one_in_the_picture(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    columns = {}
    for name in ("RV (structure)", "LV"):
        pixels = build.pixels(build.sample(ED, "outline", name)).astype(int)
        red = (pixels[..., 0] - pixels[..., 1]) > 100
        columns[name] = np.nonzero(red)[1].mean()
    assert columns["RV (structure)"] < columns["LV"]


def test_slice_shows_all_three_structures(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    assert build.sample(ED).frames in {"2", "3"}
    for name in ("RV (structure)", "MYO", "LV"):
        assert build.sample(ED, "outline", name).area > 0


def test_both_phases_of_the_pair_show_one_slice(build_fixture):
    first, second = build_fixture(SOURCE, LAYOUT).sample("patient001-ED-ES").frames.split("+")
    assert first == second


def test_the_pair_shows_the_slice_that_end_diastole_chooses(edited_tree, build_tree):
    def shorten(root):
        path = _folder(root) / "patient001_frame12_gt.nii.gz"
        image = nibabel.load(path)
        voxels = np.asarray(image.dataobj).copy()
        voxels[:, :, 3:] = 0
        nibabel.save(nibabel.Nifti1Image(voxels, image.affine), path)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, shorten))
    assert build.sample("patient001-ED-ES").frames == "3+3"


def test_group_is_asked_of_both_phases_side_by_side_and_never_of_one(build_fixture, scan_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    case_of_sample = {sample.id: sample.case for sample in build.samples}
    cases = {
        case_of_sample[item.sample] for item in build.items if item.task == "Disease Diagnosis"
    }
    assert cases
    assert all(case.endswith("-ED-ES") for case in cases)
    assert scan_fixture(SOURCE, LAYOUT).cases["patient001-ED-ES"].shows is Scope.PATIENT


def test_groups_are_set_against_groups_of_this_set_only(build_fixture):
    groups = set(CARD.fields["diagnosis"].concepts())
    for item in build_fixture(SOURCE, LAYOUT).items:
        if item.task == "Disease Diagnosis":
            assert {option.concept for option in item.options} <= groups


def test_group_spelled_as_in_papers_sets_its_case_aside(edited_tree, scan_tree):
    root = edited_tree(SOURCE, LAYOUT, _info("ED: 1\nES: 12\nGroup: ARV\n"))
    scan = scan_tree(SOURCE, LAYOUT, root)
    assert scan.bad_rows("value 'ARV'")


def test_pair_of_a_patient_without_a_group_states_the_phases_alone(edited_tree, scan_tree):
    cases = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _info("ED: 1\nES: 12\n"))).cases
    pair = cases["patient001-ED-ES"]
    assert [label.value for label in pair.panels] == ["ED", "ES"]
    assert pair.labels == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ED: 1\nGroup: DCM\n", "patient001/Info.cfg: 'ES' is missing"),
        ("ED: 1\nES: 12\nED: 9\n", "patient001/Info.cfg:3 ED=9: line 1 says '1'"),
        ("ED: 1\nES: last\n", "patient001/Info.cfg:2 ES=(like xxxx): expected a whole number"),
    ],
    ids=["missing", "two", "no number"],
)
def test_phase_that_is_not_stated_once_sets_its_patient_aside(edited_tree, scan_tree, text, reason):
    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _info(text)))
    assert scan.skips["patient001"].startswith(reason)
    assert "patient021-ED" in scan.cases


def test_phase_that_stands_twice_with_one_value_is_stated(edited_tree, scan_tree):
    text = "ED: 1\nES: 12\nED: 1\nGroup: DCM\n"
    assert ED in scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, _info(text))).cases


def test_older_test_copy_without_truth_is_set_aside(scan_fixture):
    reasons = scan_fixture(SOURCE, LAYOUT).skips
    assert reasons == {"database/testing/testing/patient102": "no ground truth"}


def test_of_two_test_copies_that_with_truth_is_used(edited_tree, scan_tree):
    def both(root):
        old = root / "database/testing/testing/patient101"
        shutil.copytree(root / "database/testing/patient101", old)
        for path in old.glob("*_gt.nii.gz"):
            path.unlink()

    scan = scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, both))
    assert "testing/testing" not in scan.cases["patient101-ED"].images[0].paths[0].as_posix()
    assert scan.skips["database/testing/testing/patient101"] == "another copy of a patient"


def test_kaggle_copy_has_folders_named_like_files(scan_fixture):
    path = scan_fixture(SOURCE, "kaggle").cases[ED].images[0].paths[0]
    assert path.as_posix().endswith("patient001_frame01.nii/patient001_frame01.nii")


def test_kaggle_folder_with_several_files_sets_its_patient_aside(edited_tree, scan_tree):
    def crowd(root):
        (_folder(root) / "patient001_frame01.nii/other.nii").touch()

    scan = scan_tree(SOURCE, "kaggle", edited_tree(SOURCE, "kaggle", crowd))
    assert "expected one .nii" in scan.skips["patient001"]
    assert "patient021-ED" in scan.cases


@pytest.mark.parametrize(
    "name",
    [
        "imagesTr/patient001_frame01_0000.nii.gz",
        "data/slices/patient001_frame01_slice_1.h5",
    ],
    ids=["nnunet-export", "slices-cut-for-papers"],
)
def test_derived_editions_fit_no_layout(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_whole_cine_series_is_no_case(build_fixture):
    codes = build_fixture(SOURCE, LAYOUT).codes()
    path = "database/training/patient001/patient001_4d.nii.gz"
    assert codes[path] == "ignored-by-card"


def test_outliers_are_clipped_by_percentiles(edited_tree, build_tree, build_fixture):
    def spike(image):
        voxels = np.asarray(image.dataobj).copy()
        if voxels.max() > 3:
            voxels[0, 0, 0] = 30000
        return nibabel.Nifti1Image(voxels, image.affine)

    expected = build_fixture(SOURCE, LAYOUT)
    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, _rewrite(spike)))
    pairs = [b.pixels(b.sample(ED)).astype(int) for b in (build, expected)]
    assert abs(pairs[0] - pairs[1]).max() <= 1


def test_no_grade_is_made_of_the_masks(build_fixture):
    assert "Severity Grading" not in {item.task for item in build_fixture(SOURCE, LAYOUT).items}


def test_split_is_the_folder_and_patient_its_name(scan_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases
    assert (cases["patient101-ED"].split, cases[ED].split) == ("testing", "training")
    assert cases[ED].patient == cases["patient001-ED-ES"].patient == "patient001"


def test_pictures_are_not_passed_on_while_the_licence_is_unconfirmed(build_fixture):
    assert {s.redistribute for s in build_fixture(SOURCE, LAYOUT).samples} == {False}


def _fields(build, case):
    return {item.field for item in build.items_of(case)}


def test_phase_that_the_masks_refute_is_not_asked(edited_tree, build_tree, build_fixture):
    """What Info.cfg calls end-systole has the larger left ventricle."""
    pair = "patient001-ED-ES"
    assert "phase" in _fields(build_fixture(SOURCE, LAYOUT), pair)
    root = edited_tree(SOURCE, LAYOUT, _info("ED: 12\nES: 1\nGroup: DCM\n"))
    build = build_tree(SOURCE, root)
    assert "phase" not in _fields(build, pair)
    row = build.quarantine.set_index("case").loc[pair]
    assert row["code"] == "panels-unsure"
    assert "expected at least 1.05" in row["message"]


def test_phase_that_the_volumes_refute_is_not_asked_whatever_the_slice_shows(
    edited_tree, build_tree
):
    def fill(root):
        path = _folder(root) / "patient001_frame12_gt.nii.gz"
        nifti = nibabel.load(path)
        voxels = np.asarray(nifti.dataobj).copy()
        for k in set(range(voxels.shape[2])) - {2, 3}:  # these alone show all structures
            voxels[20:100, 20:80, k] = 2
            voxels[25:95, 25:75, k] = 3
        nibabel.save(nibabel.Nifti1Image(voxels, nifti.affine), path)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, fill))
    assert build.codes()["patient001-ED-ES"] == "panels-unsure"


def test_phase_that_the_slice_refutes_is_not_asked_whatever_the_volumes_say(
    edited_tree, build_tree
):
    def narrow(root):
        path = _folder(root) / "patient001_frame01_gt.nii.gz"
        nifti = nibabel.load(path)
        voxels = np.asarray(nifti.dataobj).copy()
        for k in (2, 3):
            places = np.argwhere(voxels[:, :, k] == 3)
            for x, y in places[round(0.45 * len(places)) :]:
                voxels[x, y, k] = 2
        nibabel.save(nibabel.Nifti1Image(voxels, nifti.affine), path)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, narrow))
    assert build.codes()["patient001-ED-ES"] == "panels-unsure"


@pytest.mark.parametrize(("left", "is_asked"), [(0.97, False), (0.9, True)])
def test_phase_is_asked_only_where_the_ventricle_is_clearly_larger(
    edited_tree, build_tree, left, is_asked
):
    def shrink(root):
        nifti = nibabel.load(_folder(root) / "patient001_frame01_gt.nii.gz")
        voxels = np.asarray(nifti.dataobj).copy()
        for k in range(voxels.shape[2]):
            places = np.argwhere(voxels[:, :, k] == 3)
            for x, y in places[round(left * len(places)) :]:
                voxels[x, y, k] = 2
        path = _folder(root) / "patient001_frame12_gt.nii.gz"
        nibabel.save(nibabel.Nifti1Image(voxels, nifti.affine), path)

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, shrink))
    assert ("phase" in _fields(build, "patient001-ED-ES")) is is_asked


def test_mask_with_other_values_is_refused_with_those_that_it_holds(edited_tree, build_tree):
    def brighten(root):
        for path in root.rglob("patient001*_gt.nii.gz"):
            image = nibabel.load(path)
            data = 255 * (np.asarray(image.dataobj) > 0).astype(np.uint8)
            nibabel.save(nibabel.Nifti1Image(data, image.affine), path)

    quarantine = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, brighten)).quarantine
    entries = quarantine.loc[quarantine["code"] == "empty-mask", "message"]
    assert any("the mask holds 0, 255; expected 1" in message for message in entries)

"""Traps of the evidence card `totalsegmentator`."""

import nibabel
import numpy as np
import pytest

from medrcube.errors import TableError
from medrcube.fact_kind import FactKind
from medrcube.sources._framework.layout import inspect_copy
from medrcube.sources.registry import find_sources

UNTESTED = {
    "several-scans-of-a-patient": "not known; noted as a quirk",
    "other-words-of-pathology": "unverified; read only to leave out lobes",
    "version-3": "not seen; noted as a quirk, its editions are not used together",
    "editions-share-subjects": "one folder is read, which has one edition; noted as a quirk",
    "table-saved-with-commas": "read all the same: columns are found by name",
    "soft-pictures-at-1.5-mm": "no vessel of the lung and no nodule is asked",
    "ribs-vertebrae-bowel": "masks with known faults are not asked",
}
SOURCE, LAYOUT, CHAMBERS = "totalsegmentator", "v2", "v1"
CARD = find_sources()[SOURCE].card
CHEST, SICK, ABDOMEN = "s0000", "s0003", "s0011"
TOP = "Totalsegmentator_dataset_v201"


@pytest.fixture
def cases(scan_fixture):
    return scan_fixture(SOURCE, LAYOUT).cases


@pytest.fixture
def build(build_fixture):
    return build_fixture(SOURCE, LAYOUT)


def _rewrite(path, change):
    image = nibabel.load(path)
    voxels = np.asarray(image.dataobj)
    nibabel.save(nibabel.Nifti1Image(change(voxels).astype(voxels.dtype), image.affine), path)


@pytest.mark.parametrize(
    ("layout", "top", "mask"),
    [("v2", TOP, "heart_ventricle_left"), ("v1", "Totalsegmentator_dataset", "heart")],
)
def test_scan_with_masks_of_both_editions_is_set_aside(edited_tree, scan_tree, layout, top, mask):
    def mix(root):
        folder = root / top / CHEST / "segmentations"
        (folder / f"{mask}.nii.gz").write_bytes((folder / "aorta.nii.gz").read_bytes())

    scan = scan_tree(SOURCE, layout, edited_tree(SOURCE, layout, mix))
    assert f"has a mask {mask!r}, which {layout} has not" in scan.skips[CHEST]
    assert "s0001-chest" in scan.cases


def test_editions_have_as_many_masks_as_their_class_maps(fixture_tree):
    for layout, count in (("v1", 104), ("v2", 117)):
        (card,) = (own for own in CARD.layouts if own.name == layout)
        assert (
            card.expect["**/s????/segmentations/*.nii.gz"]
            == count * card.expect["**/s????/ct.nii.gz"]
        )
        (folder,) = fixture_tree(SOURCE, layout).glob(f"*/{CHEST}/segmentations")
        assert len(list(folder.iterdir())) == count


def test_chambers_of_the_heart_are_those_of_v1_alone(scan_fixture, cases):
    older = scan_fixture(SOURCE, CHAMBERS).cases[f"{CHEST}-heart"]
    assert {CARD.fields["chambers"].concept(region.value) for region in older.regions} == {
        *("LV", "RV (structure)", "MYO", "LA", "RA", "PA (structure)")
    }
    assert [region.value for region in cases[f"{CHEST}-heart"].regions] == ["heart"]


def test_table_has_semicolons_and_a_mark_of_byte_order(fixture_tree, cases):
    data = (fixture_tree(SOURCE, LAYOUT) / TOP / "meta.csv").read_bytes()
    assert data.startswith("\ufeffimage_id;age".encode())
    assert dict(cases[f"{CHEST}-chest"].facts) == {"age": "50", "sex": "m"}
    assert {case.split for case in cases.values()} == {"train", "val", "test"}


def test_scan_without_a_row_is_set_aside(edited_tree, scan_tree, replacing):
    root = edited_tree(SOURCE, LAYOUT, replacing(f"{TOP}/meta.csv", "s0001;", "s9001;"))
    assert "s0001: has no row" in scan_tree(SOURCE, LAYOUT, root).skips["s0001"]


def test_empty_mask_is_no_absence():
    structures = [field for field in CARD.fields.values() if field.name != "plane"]
    assert {field.absence.value for field in structures} == {"silent"}


def test_empty_mask_on_the_slice_is_no_fault(cases):
    assert all(region.optional for case in cases.values() for region in case.regions)


def test_scan_of_another_part_of_the_body_gives_no_image(build):
    codes = build.codes()
    for part in ("lungs", "coronal", "sagittal", "chest", "heart"):
        assert codes[f"{ABDOMEN}-{part}"] == "no-slice"


def test_lobes_are_asked_only_where_the_table_says_that_there_is_no_pathology(scan_fixture, cases):
    assert {region.field for region in cases[f"{CHEST}-lungs"].regions} == {"lobe"}
    for scan in (SICK, "s0001", "s0004"):
        assert cases[f"{scan}-lungs"].regions == cases[f"{scan}-coronal"].regions == ()
    assert scan_fixture(SOURCE, CHAMBERS).cases[f"{CHEST}-lungs"].regions == ()


@pytest.mark.parametrize("word", ["none", ""])
def test_table_that_calls_no_scan_healthy_is_refused_by_name_of_the_assumption(
    edited_tree, scan_tree, word
):
    def rename(root):
        path = root / TOP / "meta.csv"
        lines = path.read_text(encoding="utf-8-sig").replace("no_pathology", word).splitlines()
        lines += [lines[1].replace(CHEST, f"s{number}") for number in range(1000, 1030)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8-sig")

    with pytest.raises(TableError, match=r"none of .* 'no_pathology'.*\[names\] without_pathology"):
        scan_tree(SOURCE, LAYOUT, edited_tree(SOURCE, LAYOUT, rename))


def test_lobe_is_named_and_never_located(build):
    lobes = set(CARD.fields["lobe"].concepts())
    located = [item for item in build.items if item.task == "ROI Grounding"]
    assert located
    assert not {item.concept for item in located} & lobes


def test_side_of_a_lobe_is_not_asked_on_a_sagittal_slice(cases):
    assert cases[f"{CHEST}-sagittal"].regions == ()


def test_planes_are_cut_by_the_affine_with_the_right_at_the_left(build):
    clean = build.pixels(build.sample(f"{CHEST}-chest")).astype(int)
    corners = [clean[12, 18], clean[12, -18], clean[-4, 18], clean[-4, -18]]
    assert corners[0] > 200
    assert max(corners[1:]) < 50
    assert build.pixels(build.sample(f"{CHEST}-coronal")).shape == (60, 120)
    assert build.right_of(f"{CHEST}-sagittal", "View Recognition") <= {"sagittal"}


def test_lungs_and_chest_have_windows_of_their_own(build):
    for part, centre, width in (("lungs", -600, 1500), ("chest", 40, 400), ("heart", 40, 400)):
        (recipe,) = build.recipes(f"{CHEST}-{part}", "clean")
        assert (recipe["grey"][0]["centre"], recipe["grey"][0]["width"]) == (centre, width)


def test_chest_shows_most_of_its_structures_on_one_slice(build):
    for concept in ("trachea", "superior vena cava", "sternum", "spinal cord", "esophagus"):
        assert build.sample(f"{CHEST}-chest", "outline", concept).area > 0


@pytest.fixture
def codes(edited_tree, build_tree):
    """What becomes of swapped sides, of greys that are none of CT, and of masks of 1.0000001."""

    def spoil(root):
        left, right = (
            root / TOP / CHEST / f"segmentations/lung_lower_lobe_{side}.nii.gz"
            for side in ("left", "right")
        )
        data = left.read_bytes()
        left.write_bytes(right.read_bytes())
        right.write_bytes(data)
        _rewrite(root / TOP / "s0001/ct.nii.gz", lambda voxels: voxels + 1024)
        for path in (root / TOP / "s0004/segmentations").glob("[!o]*.nii.gz"):
            image = nibabel.load(path)
            voxels = np.asarray(image.dataobj) * np.float32(1.00000006)
            nibabel.save(nibabel.Nifti1Image(voxels, image.affine), path)

    return build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, spoil)).codes()


def test_faults_of_sides_and_greys_are_found(codes):
    assert codes[f"{CHEST}-lungs"] == codes[f"{CHEST}-coronal"] == "wrong-side"
    assert codes["s0001-lungs"] == "not-hu"
    assert codes.get("s0004-chest") in {None, "no-grounding"}


def test_damaged_volume_is_quarantined(edited_tree, build_tree):
    def cut(root):
        path = root / TOP / CHEST / "ct.nii.gz"
        path.write_bytes(path.read_bytes()[:4000])

    build = build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, cut))
    assert build.codes()[f"{CHEST}-chest"] in {"truncated", "unreadable"}


def test_pathology_is_not_asked():
    kinds = {field.kind for field in CARD.fields.values()}
    assert not kinds & {FactKind("disease"), FactKind("finding"), FactKind("severity")}


def test_structures_that_are_not_asked_are_accounted_for(scan_fixture):
    assert scan_fixture(SOURCE, LAYOUT).skips[f"{CHEST}-rest"] == "structures that are not asked"


@pytest.mark.parametrize(
    "name",
    ["s0000/mri.nii.gz", "imagesTr/s0000_0000.nii.gz", "train/s0000.npz"],
    ids=["mri", "nnunet", "tiles"],
)
def test_other_editions_fit_no_layout(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).touch()
    assert not inspect_copy(CARD, tmp_path).fits


def test_v2_without_the_whole_heart_fits_no_layout(edited_tree):
    def lose(root):
        for path in root.rglob("heart.nii.gz"):
            path.unlink()

    assert not inspect_copy(CARD, edited_tree(SOURCE, LAYOUT, lose)).fits

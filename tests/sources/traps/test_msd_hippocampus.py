"""Traps of the evidence card `msd-hippocampus`."""

import nibabel as nib
import numpy as np
import pytest

from medrcube.build.pixels.mirror import mirror
from medrcube.build.regions.rasterize import rasterise
from medrcube.errors import SourceError
from medrcube.sources.registry import find_sources

UNTESTED = {
    "people-behind-the-volumes": "nothing tells who is who; noted as a quirk",
    "scanner-sequence-and-diagnosis": "said by papers alone; not asked",
    "test-volumes": "their labels were never published",
    "crop-gives-the-answer-away": "a property of the data; noted as a quirk",
    "checksum-of-the-archive": "not known: no home is declared",
}
SOURCE, LAYOUT = "msd-hippocampus", "original"
ADAPTER = find_sources()[SOURCE]
FOLDER = "Task04_Hippocampus"
FIRST, SECOND = "hippocampus_001", "hippocampus_003"
TIMES = 8


def _rewrite(path, change):
    nifti = nib.load(path)
    voxels, affine = change(np.asarray(nifti.dataobj), nifti.affine)
    nib.save(nib.Nifti1Image(voxels, affine), path)


@pytest.fixture
def fails(edited_tree, build_tree):
    """``(file, change)`` -> code of what becomes of the first volume."""

    def make(file, change):
        edit = lambda root: _rewrite(root / FOLDER / file, change)  # noqa: E731
        return build_tree(SOURCE, edited_tree(SOURCE, LAYOUT, edit)).codes()[FIRST]

    return make


@pytest.mark.parametrize("layout", ["original", "nnunet"])
def test_classes_may_be_written_either_way_round(scan_fixture, layout):
    assert len(scan_fixture(SOURCE, layout).cases) >= 2


def test_classes_of_another_task_are_refused(edited_tree, scan_tree, replacing):
    edit = replacing(f"{FOLDER}/dataset.json", "Anterior", "cancer")
    root = edited_tree(SOURCE, LAYOUT, edit)
    with pytest.raises(SourceError, match="is this another task"):
        scan_tree(SOURCE, LAYOUT, root)


def test_volume_without_label_and_label_without_volume_are_set_aside(scan_fixture):
    scan = scan_fixture(SOURCE, "course")
    assert scan.skips["hippocampus_118.nii"] == "no label beside it"
    assert scan.skips["hippocampus_010 label"] == "no volume beside it"
    assert set(scan.cases) == {"hippocampus_056", "hippocampus_125"}


def test_litter_of_macos_and_test_volumes_are_no_cases(scan_fixture):
    assert set(scan_fixture(SOURCE, LAYOUT).cases) == {FIRST, SECOND, "hippocampus_004"}


def test_slice_is_enlarged_and_shows_front_to_back_along_its_width(build_fixture):
    sample = build_fixture(SOURCE, LAYOUT).sample(FIRST)
    assert (sample.width, sample.height) == (50 * TIMES, 34 * TIMES)


def test_enlarged_volume_has_its_voxels_where_they_were(scan_fixture):
    image = scan_fixture(SOURCE, LAYOUT).cases[FIRST].images[0]
    plain, large = nib.load(image.paths[0]), ADAPTER.hook("read")(image)
    inside = large.affine @ np.array([10 * TIMES + 3.5, 20 * TIMES + 3.5, 7, 1])
    assert inside == pytest.approx(plain.affine @ np.array([7, 20, 10, 1]))
    around = large.slices[10 * TIMES + 3 : 10 * TIMES + 5, 20 * TIMES + 3 : 20 * TIMES + 5, 7]
    assert around.mean() == pytest.approx(float(plain.dataobj[7, 20, 10]), abs=2)


def test_mask_on_the_enlarged_grid_marks_the_same_millimetres(scan_fixture):
    case = scan_fixture(SOURCE, LAYOUT).cases[SECOND]
    volume = ADAPTER.hook("read")(case.images[0])
    for region in case.regions:
        (path,) = region.shape.paths
        voxel_count = np.isin(np.asarray(nib.load(path).dataobj), region.shape.values).sum()
        assert rasterise(region.shape, volume).areas().sum() == voxel_count * TIMES**2


def test_both_labels_together_are_the_hippocampus(scan_fixture, build_fixture):
    values = {r.value: r.shape.values for r in scan_fixture(SOURCE, LAYOUT).cases[FIRST].regions}
    assert values == {"both": (1, 2), "1": (1,), "2": (2,)}
    assert "hippocampus" in build_fixture(SOURCE, LAYOUT).right_of(FIRST, "Organ Recognition")


def test_part_is_never_offered_beside_the_whole(build_fixture):
    for item in build_fixture(SOURCE, LAYOUT).items:
        offered = {option.concept for option in item.options}
        if "hippocampus" in offered:
            assert not offered & {"anterior hippocampus", "posterior hippocampus", "temporal lobe"}


def test_volumes_on_wildly_different_scales_look_alike(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    means = [build.pixels(build.sample(key)).mean() for key in (FIRST, SECOND, "hippocampus_004")]
    assert max(means) - min(means) < 40


def test_exchanged_labels_are_refused(fails):
    exchanged = lambda voxels, affine: ((3 - voxels) * (voxels > 0), affine)  # noqa: E731
    assert fails(f"labelsTr/{FIRST}.nii.gz", exchanged) == "label-order"


def test_label_without_a_class_is_refused(fails):
    lost = lambda voxels, affine: (voxels * (voxels != 1), affine)  # noqa: E731
    assert fails(f"labelsTr/{FIRST}.nii.gz", lost) in {"label-size", "empty-mask"}


def test_foreign_volume_is_refused(fails):
    large = lambda voxels, affine: (np.tile(voxels, (1, 2, 1)), affine)  # noqa: E731
    assert fails(f"imagesTr/{FIRST}.nii.gz", large) == "foreign-volume"


def test_volume_of_other_voxels_is_refused(fails):
    wide = lambda voxels, affine: (voxels, affine * 2)  # noqa: E731
    assert fails(f"imagesTr/{FIRST}.nii.gz", wide) == "foreign-volume"


def test_no_person_side_plane_sequence_or_diagnosis_is_stated(scan_fixture, build_fixture):
    cases = scan_fixture(SOURCE, LAYOUT).cases.values()
    assert {case.patient for case in cases} == {None}
    assert {case.labels for case in cases} == {()}
    tasks = {item.task for item in build_fixture(SOURCE, LAYOUT).items}
    assert tasks == {"Modality Recognition", "Organ Recognition"}


def test_mark_of_the_phantom_does_not_tell_which_is_its_mirror_image(build_fixture):
    build = build_fixture(SOURCE, LAYOUT)
    picture = build.pixels(build.sample(FIRST))
    is_symmetric = mirror(picture) == picture
    corner = (slice(-4 * TIMES, None), slice(-4 * TIMES, None))
    assert picture[corner].max() > 200
    assert is_symmetric[corner].all()
    assert not is_symmetric.all()

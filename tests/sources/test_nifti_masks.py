import gzip

import nibabel
import numpy as np
import pytest

from medrcube.build.pixels.geometry import reorient
from medrcube.build.readers.nifti import read
from medrcube.errors import ReadError, RefusedError
from medrcube.sources._formats.nifti_masks import VoxelMask, load_labels, middle_of_most, slice_at

PLANES = ["axial", "coronal", "sagittal"]


@pytest.fixture
def write(tmp_path):
    """Write the same block of voxels in another axis order, with other directions."""

    def write(axes=(0, 1, 2), signs=(1, 1, 1), dtype=np.uint8, block=None, *, offset=5.0):
        block = _block() if block is None else block
        voxels = block.transpose(axes)
        affine = np.zeros((4, 4))
        affine[3, 3] = 1
        for new, old in enumerate(axes):
            affine[old, new] = 2.0 * signs[old]
            affine[old, 3] = offset if signs[old] > 0 else offset + 2.0 * (block.shape[old] - 1)
        flips = tuple(slice(None, None, signs[old]) for old in axes)
        path = tmp_path / "mask.nii.gz"
        nibabel.save(nibabel.Nifti1Image(voxels[flips].astype(dtype), affine), path)
        return path

    return write


def _block():
    """``(right, anterior, superior)`` with one largest slice in every plane."""
    block = np.zeros((8, 10, 12))
    block[1:4, 6:8, 2:5] = 1
    block[1:5, 7, 3] = 1
    block[6, 2, 9] = 4
    return block


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, -1, 1), (1, -1, -1)])
@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2, 0), (2, 0, 1)])
def test_slices_are_counted_as_the_build_shows_them(write, axes, signs, plane):
    path = write(axes, signs)
    view = reorient(read(path), plane)
    areas = (np.asarray(view.slices) > 0).sum(axis=(1, 2))
    marked = load_labels(path).mask_of()
    assert marked.areas(plane).tolist() == areas.tolist()
    assert marked.largest(plane) == int(areas.argmax())


@pytest.mark.parametrize("plane", PLANES)
def test_a_slice_is_found_again_on_a_grid_of_other_spacing(write, tmp_path, plane):
    marked = load_labels(write()).mask_of()
    place = marked.centre_of_slice(plane, marked.largest(plane))
    fine = nibabel.Nifti1Image(np.zeros((16, 20, 24), np.uint8), np.diag([-1.0, -1, 1, 1]))
    fine.affine[:3, 3] = (4.5 + 15, 4.5 + 19, 4.5)
    path = tmp_path / "fine.nii"
    nibabel.save(nibabel.Nifti1Image(fine.dataobj, fine.affine), path)
    view = reorient(read(path), plane)
    index = slice_at(view, place)
    back = view.affine @ [index, *((np.asarray(view.slices.shape[1:]) - 1) / 2), 1]
    axis = {"axial": 2, "coronal": 1, "sagittal": 0}[plane]
    assert back[axis] == pytest.approx(place[axis], abs=0.51)


def test_the_centre_is_in_millimetres_to_the_right_front_and_top(write):
    marked = load_labels(write((2, 0, 1), (-1, 1, -1))).mask_of(4)
    assert marked.centre().tolist() == [5 + 2 * 6, 5 + 2 * 2, 5 + 2 * 9]


def test_labels_stored_as_fractions_are_rounded(write):
    labels = load_labels(write(dtype=np.float32, block=_block() * 0.9999))
    assert int(labels.mask_of(4).voxels.sum()) == 1


def test_an_empty_mask_has_no_slice(write):
    marked = load_labels(write()).mask_of(7)
    with pytest.raises(ReadError, match="0 marked voxels; expected at least 1") as raised:
        marked.largest("axial")
    assert raised.value.code == "no-slice"
    with pytest.raises(ReadError, match="no voxel"):
        marked.centre()


def test_a_cut_file_is_named(write):
    path = write()
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ReadError, match=r"mask\.nii\.gz: cannot be read") as raised:
        load_labels(path)
    assert raised.value.code == "unreadable"


def test_labels_that_would_exhaust_the_memory_are_refused_before_any_is_read(write):
    path = write()
    header = nibabel.load(path).header
    header.set_data_shape((32000, 32000, 32000))
    path.write_bytes(gzip.compress(header.binaryblock + bytes(4 + (1 << 20))))
    with pytest.raises(ReadError, match="declares 32768000000000 bytes") as raised:
        load_labels(path)
    assert raised.value.code == "too-large"


def test_a_volume_without_directions_is_refused(tmp_path):
    image = nibabel.Nifti1Image(np.zeros((4, 4, 4), np.uint8), np.eye(4))
    image.set_sform(None, 0)
    image.set_qform(None, 0)
    path = tmp_path / "volume.nii"
    nibabel.save(image, path)
    with pytest.raises(ReadError, match="neither sform nor qform"):
        slice_at(read(path), np.zeros(3))


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1)])
def test_places_of_a_mask_are_those_of_the_displayed_volume(write, plane, axes):
    path = write(axes, (1, -1, 1))
    view = reorient(read(path), plane)
    places = load_labels(path).mask_of(4).places_on(view)
    assert [tuple(place) for place in places] == [
        tuple(place) for place in np.argwhere(np.asarray(view.slices) == 4)
    ]


def test_values_of_another_dataset_are_refused_by_name(write):
    path = write()
    load_labels(path).check_values(path, 1, 4)
    with pytest.raises(
        RefusedError, match=r"mask\.nii\.gz: holds 4; expected 0, 1 or 2"
    ) as excinfo:
        load_labels(path).check_values(path, 1, 2)
    assert excinfo.value.code == "label-order"


def _tower(low, high):
    voxels = np.zeros((4, 4, 12), np.bool_)
    voxels[1:3, 1:3, low:high] = True
    return VoxelMask(voxels=voxels, affine=np.eye(4))


def test_slice_is_the_middle_of_those_that_show_most_structures():
    masks = {"a": _tower(0, 9), "b": _tower(3, 12), "c": _tower(4, 7)}
    assert middle_of_most(masks, "axial", least=4, share=1.0) == 5
    del masks["c"]
    assert middle_of_most(masks, "axial", least=4, share=0.7) == 6


@pytest.mark.parametrize(("least", "share"), [(5, 0.1), (4, 1.0)])
def test_structures_that_no_slice_shows_enough_of_are_refused(least, share):
    masks = {"a": _tower(0, 4), "b": _tower(8, 12)}
    with pytest.raises(RefusedError, match=r"of 2 structures; expected .* of a, b") as excinfo:
        middle_of_most(masks, "axial", least=least, share=share)
    assert excinfo.value.code == "no-slice"

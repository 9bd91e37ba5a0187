from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from medrcube.build.pixels.volume import Volume, stack
from medrcube.build.readers import read, read_mask
from medrcube.errors import ReadError
from medrcube.records import ImageRef, MaskFile
from medrcube.sources.phantoms import write_dicom

MARK = np.zeros((20, 30), np.uint8)
MARK[5:9, 10:20] = 1
OTHER = np.zeros((20, 30), np.uint8)
OTHER[15:18, 2:4] = 1
SHAPE = (1, 20, 30)


def joined(*paths, values=(), shape=SHAPE):
    image = Volume(slices=np.zeros(shape, np.uint8))
    return stack(read_mask(MaskFile(paths=paths, values=values), image))


def save(path, array):
    Image.fromarray(array).save(path)
    return path


def test_every_value_above_zero_counts(tmp_path):
    mask = joined(save(tmp_path / "a.png", MARK * 7))
    assert mask.dtype == np.bool_
    assert np.array_equal(mask[0], MARK > 0)


def test_several_files_are_joined(tmp_path):
    mask = joined(save(tmp_path / "a.png", MARK * 255), save(tmp_path / "b.png", OTHER > 0))
    assert np.array_equal(mask[0], (MARK | OTHER) > 0)


def test_a_colour_channel_is_enough(tmp_path):
    coloured = np.zeros((20, 30, 3), np.uint8)
    coloured[..., 2] = MARK * 200
    assert np.array_equal(joined(save(tmp_path / "a.png", coloured))[0], MARK > 0)


def test_opaque_alpha_marks_nothing(tmp_path):
    image = Image.fromarray(MARK * 255).convert("RGBA")
    image.save(tmp_path / "a.png")
    assert np.array_equal(joined(tmp_path / "a.png")[0], MARK > 0)


def test_noise_of_jpeg_is_no_mark(tmp_path):
    Image.fromarray(MARK * 255).save(tmp_path / "a.jpg", quality=60)
    noisy = np.asarray(Image.open(tmp_path / "a.jpg"))
    assert ((noisy > 0) & (MARK == 0)).any()
    assert np.array_equal(joined(tmp_path / "a.jpg")[0], MARK > 0)


def test_pixel_selects_one_label(tmp_path):
    path = save(tmp_path / "a.png", MARK * 85 + OTHER * 170)
    assert np.array_equal(joined(path, values=(170,))[0], OTHER > 0)
    assert not joined(path, values=(3,)).any()


def test_pixel_of_a_palette_is_its_index(tmp_path):
    image = Image.fromarray(MARK + 2 * OTHER)
    image.putpalette([0, 0, 0, 128, 0, 0, 0, 128, 0])
    image.save(tmp_path / "a.png")
    assert np.array_equal(joined(tmp_path / "a.png", values=(2,))[0], OTHER > 0)
    assert np.array_equal(joined(tmp_path / "a.png")[0], (MARK | OTHER) > 0)


def test_pixel_in_a_coloured_mask_is_refused(tmp_path):
    coloured = np.zeros((20, 30, 3), np.uint8)
    coloured[..., 2] = MARK * 200
    with pytest.raises(ReadError, match="coloured"):
        joined(save(tmp_path / "a.png", coloured), values=(200,))


def test_labels_stored_as_fractions_are_rounded(tmp_path):
    labels = (MARK + 4 * OTHER).astype(np.float32)[..., None].transpose(1, 0, 2)
    labels[labels == 4] = 3.99998
    nib.save(nib.Nifti1Image(labels, np.eye(4)), tmp_path / "a.nii.gz")
    assert np.array_equal(joined(tmp_path / "a.nii.gz", values=(4,))[0], OTHER > 0)


def test_mask_of_a_volume_lies_on_its_stored_grid(tmp_path):
    labels = np.zeros((6, 5, 4), np.uint8)
    labels[5, 3, 2] = 2
    nib.save(nib.Nifti1Image(labels, np.eye(4)), tmp_path / "a.nii")
    mask = joined(tmp_path / "a.nii", shape=(4, 5, 6))
    assert np.argwhere(mask).tolist() == [[2, 3, 5]]


def test_dicom_mask_is_read(tmp_path):
    write_dicom(tmp_path / "1-1.dcm", MARK * 255)
    assert np.array_equal(joined(tmp_path / "1-1.dcm")[0], MARK > 0)
    assert np.array_equal(joined(tmp_path / "1-1.dcm", values=(255,))[0], MARK > 0)


def test_colour_axis_of_the_image_is_ignored(tmp_path):
    mask = joined(save(tmp_path / "a.png", MARK), shape=(1, 20, 30, 3))
    assert mask.shape == SHAPE


def test_mask_of_another_size_is_refused_with_both_sizes(tmp_path):
    path = save(tmp_path / "a.png", MARK)
    with pytest.raises(ReadError, match=r"20 rows x 30 columns.*21 rows x 30 columns") as caught:
        joined(path, shape=(1, 21, 30))
    assert caught.value.code == "mask-size"


def write_labels(path, labels, affine):
    nib.save(nib.Nifti1Image(labels.T, affine), path)
    return path


def on(path, image, values=()):
    return stack(read_mask(MaskFile(paths=(path,), values=values), read(ImageRef(paths=(image,)))))


def body(shape, spacing, offset=0.0):
    """Labels of a box and a point, at places in mm, on any grid: (k, row, column)."""
    centres = np.meshgrid(
        *[offset + (np.arange(n) + 0.5) * s for n, s in zip(shape, spacing, strict=True)],
        indexing="ij",
    )
    box = [
        (low < c) & (c < high)
        for c, low, high in zip(centres, (6, 4, 10), (18, 16, 30), strict=True)
    ]
    return (box[0] & box[1] & box[2]).astype(np.uint8) * 3


def grid(spacing, offset=0.0):
    """RAS affine of a grid whose first voxel begins at ``offset`` mm on each axis."""
    k, row, column = spacing
    affine = np.diag([column, row, k, 1.0])
    affine[:3, 3] = offset + np.array([column, row, k]) / 2
    return affine


def test_mask_on_a_coarser_grid_is_carried_over_in_space(tmp_path):
    fine, coarse = (6.0, 0.5, 0.5), (2.0, 2.0, 2.0)
    image = write_labels(tmp_path / "flair.nii", np.zeros((4, 80, 80), np.uint8), grid(fine))
    mask = write_labels(tmp_path / "mask.nii", body((12, 20, 20), coarse), grid(coarse))
    carried = on(mask, image, values=(3,))
    # The box spans 6-18 x 4-16 x 10-30 mm, which whole voxels of both grids fill.
    assert np.array_equal(carried, body((4, 80, 80), fine) > 0)
    assert not on(mask, image, values=(2,)).any()


def test_mask_stored_in_other_directions_is_turned_to_its_image(tmp_path):
    labels = body((12, 20, 20), (2.0, 2.0, 2.0))
    affine = grid((2.0, 2.0, 2.0))
    image = write_labels(tmp_path / "image.nii", labels, affine)
    turned = affine @ np.array([[-1, 0, 0, 19], [0, 1, 0, 0], [0, 0, -1, 11], [0, 0, 0, 1.0]])
    mask = write_labels(tmp_path / "mask.nii", labels[::-1, :, ::-1], turned)
    assert np.array_equal(on(mask, image), labels > 0)


def test_nothing_is_marked_outside_the_grid_of_the_mask(tmp_path):
    spacing = (2.0, 2.0, 2.0)
    image = write_labels(tmp_path / "image.nii", np.zeros((12, 20, 20), np.uint8), grid(spacing))
    mask = write_labels(
        tmp_path / "mask.nii", np.ones((12, 4, 20), np.uint8), grid(spacing, offset=6.0)
    )
    carried = on(mask, image)
    rows = carried.any(axis=(0, 2))
    assert np.flatnonzero(rows).tolist() == [3, 4, 5, 6]
    assert not carried[:3].any()
    assert carried[3:].any(axis=(1, 2)).all()


def test_noise_in_the_affine_moves_no_pixel(tmp_path):
    labels = body((12, 20, 20), (2.0, 2.0, 2.0))
    affine = grid((2.0, 2.0, 2.0))
    image = write_labels(tmp_path / "image.nii", labels, affine)
    noise = np.random.default_rng(1).normal(0, 1e-4, (4, 4)) * [[1], [1], [1], [0]]
    mask = write_labels(tmp_path / "mask.nii", labels, affine + noise)
    assert np.array_equal(on(mask, image), labels > 0)


def test_half_a_voxel_belongs_to_one_side_everywhere(tmp_path):
    image = write_labels(
        tmp_path / "image.nii", np.zeros((1, 1, 8), np.uint8), np.diag([1.0, 1, 1, 1])
    )
    affine = np.diag([1.0, 1, 1, 1])
    affine[0, 3] = 0.5
    mask = write_labels(tmp_path / "mask.nii", np.uint8([[[1, 0, 1, 1, 0, 0, 1, 0]]]), affine)
    assert on(mask, image)[0, 0].tolist() == [1, 0, 1, 1, 0, 0, 1, 0]


def test_mask_that_lies_elsewhere_is_refused(tmp_path):
    labels = body((12, 20, 20), (2.0, 2.0, 2.0))
    image = write_labels(tmp_path / "image.nii", labels, grid((2.0, 2.0, 2.0)))
    mask = write_labels(tmp_path / "mask.nii", labels, grid((2.0, 2.0, 2.0), offset=500.0))
    with pytest.raises(ReadError) as caught:
        on(mask, image)
    assert caught.value.code == "mask-place"


def test_mask_without_a_place_must_have_the_size_of_its_image(tmp_path):
    labels = body((12, 20, 20), (2.0, 2.0, 2.0))
    image = write_labels(tmp_path / "image.nii", labels, grid((2.0, 2.0, 2.0)))
    nowhere = nib.Nifti1Image(labels.T, None)
    nib.save(nowhere, tmp_path / "mask.nii")
    assert np.array_equal(on(tmp_path / "mask.nii", image), labels > 0)
    nib.save(nib.Nifti1Image(labels[:6].T, None), tmp_path / "mask.nii")
    with pytest.raises(ReadError) as caught:
        on(tmp_path / "mask.nii", image)
    assert caught.value.code == "mask-size"


def test_label_map_is_read_once_for_all_its_values_until_it_changes(tmp_path, monkeypatch):
    labels = body((12, 20, 20), (2.0, 2.0, 2.0))
    image = write_labels(tmp_path / "image.nii", labels, grid((2.0, 2.0, 2.0)))
    mask = write_labels(tmp_path / "mask.nii.gz", labels, grid((2.0, 2.0, 2.0)))
    count = []

    def counted(ref, **how):
        count.append(ref)
        return read(ref, **how)

    monkeypatch.setattr("medrcube.build.readers.masks.read", counted)
    assert [on(mask, image, values=(k,)).any() for k in (1, 2, 3)] == [False, False, True]
    assert len(count) == 1
    write_labels(mask, labels // 3, grid((2.0, 2.0, 2.0)))
    assert on(mask, image, values=(1,)).any()
    assert len(count) == 2

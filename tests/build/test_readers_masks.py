from __future__ import annotations

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from medrcube.build.readers import read_mask
from medrcube.errors import ReadError
from medrcube.records import MaskFile
from medrcube.sources.phantoms import write_dicom

MARK = np.zeros((20, 30), np.uint8)
MARK[5:9, 10:20] = 1
OTHER = np.zeros((20, 30), np.uint8)
OTHER[15:18, 2:4] = 1
SHAPE = (1, 20, 30)


def joined(*paths, values=(), shape=SHAPE):
    return read_mask(MaskFile(paths=paths, values=values), shape)


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

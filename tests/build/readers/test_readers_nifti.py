from __future__ import annotations

import gzip
import importlib.util
import sys

import nibabel as nib
import numpy as np
import pytest

from medrcube.build.pixels.volume import stack
from medrcube.build.pixels.windowing import grey_scale
from medrcube.build.readers import nifti, read
from medrcube.errors import ReadError
from medrcube.records import ImageRef

BODY = np.random.default_rng(2).integers(-1000, 1000, (6, 5, 4)).astype(np.int16)
AFFINE = np.array([[2, 0, 0, 5], [0, 3, 0, 6], [0, 0, 4, 7], [0, 0, 0, 1.0]])


def load(path, frame=None):
    return read(ImageRef(paths=(path,), frame=frame))


def refused(path, frame=None):
    with pytest.raises(ReadError) as caught:
        load(path, frame)
    assert path.name in str(caught.value)
    if frame is None:
        with pytest.raises(ReadError) as forward:
            stack(read(ImageRef(paths=(path,)), forward=True).slices)
        assert forward.value.code == caught.value.code
    return caught.value.code


def save(path, array=BODY, affine=AFFINE, kind=nib.Nifti1Image, change=None):
    image = kind(array, affine)
    if change:
        change(image.header)
    nib.save(image, path)
    return path


def patch(path, offset, data):
    """Change header bytes that nibabel would not write."""
    content = bytearray(path.read_bytes())
    content[offset : offset + len(data)] = data
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("kind", [nib.Nifti1Image, nib.Nifti2Image])
def test_volume_is_given_slice_by_slice_with_its_place(tmp_path, name, kind):
    volume = load(save(tmp_path / name, kind=kind))
    assert volume.slices.shape == (4, 5, 6)
    assert np.array_equal(volume.slices, BODY.transpose(2, 1, 0))
    assert volume.spacing == pytest.approx((4, 3, 2))
    assert np.allclose(volume.affine @ [1, 2, 3, 1], AFFINE @ [3, 2, 1, 1])


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("shape", [(6, 5, 4), (6, 5, 4, 1), (6, 5)])
def test_slices_taken_one_after_the_other_are_those_of_the_whole(tmp_path, name, shape):
    path = save(tmp_path / name, BODY.ravel()[: np.prod(shape)].reshape(shape))
    whole, forward = load(path), read(ImageRef(paths=(path,)), forward=True)
    assert forward.slices.dtype == whole.slices.dtype
    assert np.array_equal(stack(forward.slices), whole.slices)
    assert np.array_equal(forward.affine, whole.affine)
    assert (forward.spacing, forward.greys) == (whole.spacing, whole.greys)


def test_gzip_is_read_alike_without_isa_l(tmp_path, monkeypatch):
    path = save(tmp_path / "a.nii.gz")
    whole = load(path).slices
    monkeypatch.setitem(sys.modules, "isal", None)
    spec = importlib.util.find_spec("medrcube.build.readers.gunzip")
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    assert plain.open_gzip(path).__class__ is gzip.GzipFile
    monkeypatch.setattr(nifti, "open_gzip", plain.open_gzip)
    monkeypatch.setattr(nifti, "DAMAGE", plain.DAMAGE)
    assert np.array_equal(load(path).slices, whole)
    path.write_bytes(flipped(path.read_bytes()))
    assert refused(path) == "unreadable"


def flipped(packed):
    """One bit of the checksum is wrong."""
    return packed[:-8] + bytes([packed[-8] ^ 1]) + packed[-7:]


@pytest.mark.parametrize("behind", [0, 100_000])
def test_the_checksum_of_gzip_is_looked_at_whatever_lies_behind_the_pixels(tmp_path, behind):
    array = np.resize(BODY, (200, 150, 40))  # too long to be unpacked in one step
    content = save(tmp_path / "a.nii", array).read_bytes()
    path = tmp_path / "b.nii.gz"
    path.write_bytes(gzip.compress(content + bytes(behind)))
    assert np.array_equal(load(path).slices, array.T)
    path.write_bytes(flipped(path.read_bytes()))
    assert refused(path) == "unreadable"


def test_suffix_may_lie_about_gzip(tmp_path):
    save(tmp_path / "a.nii")
    (tmp_path / "b.nii.gz").write_bytes((tmp_path / "a.nii").read_bytes())
    assert np.array_equal(load(tmp_path / "b.nii.gz").slices, BODY.T)


def test_plain_file_is_mapped_and_not_loaded(tmp_path):
    slices = load(save(tmp_path / "a.nii")).slices
    while not isinstance(slices, np.memmap):
        slices = slices.base
        assert slices is not None


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_are_read(tmp_path, order):
    header = nib.Nifti1Header(endianness=order)
    header.set_data_dtype(np.int16)
    nib.save(nib.Nifti1Image(BODY, AFFINE, header), tmp_path / "a.nii")
    assert np.array_equal(load(tmp_path / "a.nii").slices, BODY.T)


def test_gzip_of_several_members_and_padding_is_read_whole(tmp_path):
    save(tmp_path / "a.nii")
    content = (tmp_path / "a.nii").read_bytes()
    half = len(content) // 2
    packed = gzip.compress(content[:half]) + gzip.compress(content[half:])
    (tmp_path / "b.nii.gz").write_bytes(packed)
    (tmp_path / "c.nii.gz").write_bytes(gzip.compress(content) + bytes(512))
    for name in ("b", "c"):
        assert np.array_equal(load(tmp_path / f"{name}.nii.gz").slices, BODY.T)


def test_scale_reaches_the_grey_values_and_not_the_pixels(tmp_path):
    path = save(tmp_path / "a.nii", change=lambda header: header.set_slope_inter(0.5, -100))
    patch(path, 112, np.array([0.5, -100], "<f4").tobytes())
    volume = load(path)
    assert volume.slices.dtype == np.int16
    assert (volume.greys.slope, volume.greys.intercept) == (0.5, -100)
    numbers = grey_scale(volume, "header").numbers
    stored = volume.slices.astype(float)
    assert numbers["low"] == stored.min() * 0.5 - 100


def test_time_point_is_chosen_by_frame(tmp_path):
    moving = np.stack([BODY, BODY + 1, BODY + 2], axis=-1)
    path = save(tmp_path / "a.nii.gz", moving)
    assert np.array_equal(load(path, frame=2).slices, (BODY + 2).T)
    assert refused(path) == "missing-frame"
    assert refused(path, frame=3) == "missing-frame"


def test_single_time_point_needs_no_choice(tmp_path):
    assert load(save(tmp_path / "a.nii", BODY[..., None])).slices.shape == (4, 5, 6)


def test_slice_of_a_volume_is_chosen_by_frame(tmp_path):
    whole = load(save(tmp_path / "a.nii"))
    one = load(tmp_path / "a.nii", frame=2)
    assert np.array_equal(one.slices, whole.slices[2:3])
    assert np.allclose(one.affine @ [0, 1, 2, 1], whole.affine @ [2, 1, 2, 1])


def test_flat_picture_is_one_slice(tmp_path):
    volume = load(save(tmp_path / "a.nii", BODY[:, :, 0]))
    assert np.array_equal(volume.slices[0], BODY[:, :, 0].T)


def test_file_that_states_no_orientation_has_no_affine(tmp_path):
    def forget(header):
        header["sform_code"] = header["qform_code"] = 0

    path = save(tmp_path / "a.nii")
    patch(path, 252, bytes(4))
    volume = load(path)
    assert volume.affine is None
    assert volume.spacing == pytest.approx((4, 3, 2))


def test_metres_become_millimetres(tmp_path):
    path = save(tmp_path / "a.nii")
    patch(path, 123, b"\x01")
    volume = load(path)
    assert volume.spacing == pytest.approx((4000, 3000, 2000))


def test_plain_and_packed_twins_are_refused(tmp_path):
    save(tmp_path / "a.nii", BODY + 1)
    save(tmp_path / "a.nii.gz")
    assert refused(tmp_path / "a.nii.gz") == "ambiguous-sibling"
    assert refused(tmp_path / "a.nii") == "ambiguous-sibling"


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_without_a_grey_are_refused(tmp_path, value):
    odd = BODY.astype(np.float32)
    odd[3, 2, 1] = value
    assert refused(save(tmp_path / "a.nii.gz", odd)) == "not-finite"


def test_affine_that_spans_no_space_is_refused(tmp_path):
    path = save(tmp_path / "a.nii")
    patch(path, 280, np.array([2, 0, 0, 5, 2, 0, 0, 5], "<f4").tobytes())
    assert refused(path) == "singular-affine"


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
@pytest.mark.parametrize("share", [0.3, 0.95])
def test_file_that_ends_early_is_refused(tmp_path, name, share):
    path = save(tmp_path / name)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert refused(path) == "truncated"


def test_damaged_gzip_is_refused(tmp_path):
    noise = np.random.default_rng(1).integers(0, 255, (20, 20, 20), dtype=np.uint8)
    path = save(tmp_path / "a.nii.gz", noise)
    content = bytearray(path.read_bytes())
    content[-8] ^= 0xFF
    path.write_bytes(content)
    assert refused(path) == "unreadable"


def test_header_of_a_pair_is_refused(tmp_path):
    patch(save(tmp_path / "a.nii"), 344, b"ni1\0")
    assert refused(tmp_path / "a.nii") == "unsupported-format"


def test_unknown_data_type_is_refused(tmp_path):
    patch(save(tmp_path / "a.nii"), 70, b"\xff\x7f")
    assert refused(tmp_path / "a.nii") == "unreadable"


def test_colour_and_complex_values_are_refused(tmp_path):
    save(tmp_path / "a.nii", BODY.astype(np.complex64))
    assert refused(tmp_path / "a.nii") == "unsupported-format"


def test_vectors_in_a_fifth_axis_are_refused(tmp_path):
    save(tmp_path / "a.nii", np.zeros((6, 5, 4, 1, 3), np.float32))
    assert refused(tmp_path / "a.nii") == "unsupported-format"


def test_scale_without_a_finite_offset_is_refused(tmp_path):
    path = patch(save(tmp_path / "a.nii"), 112, np.array([2, np.inf], "<f4").tobytes())
    assert refused(path) == "unreadable"


def test_qform_that_is_no_rotation_is_refused(tmp_path):
    path = save(tmp_path / "a.nii")
    patch(path, 252, np.array([1, 0], "<i2").tobytes())
    patch(path, 256, np.array([5, 5, 5], "<f4").tobytes())
    assert refused(path) == "singular-affine"


def test_other_content_in_gzip_is_refused(tmp_path):
    (tmp_path / "a.nii.gz").write_bytes(gzip.compress(b"text " * 500))
    assert refused(tmp_path / "a.nii.gz") == "unsupported-format"

from __future__ import annotations

import gzip
import importlib.util
import sys
import tracemalloc

import nibabel as nib
import numpy as np
import pytest

from medrcube.build.pixels.volume import stack_slices
from medrcube.build.pixels.windowing.policy import display_transform
from medrcube.build.readers import nifti, read, read_mask
from medrcube.errors import ReadError
from medrcube.facts import ImageRef, MaskFile

BODY = np.random.default_rng(2).integers(-1000, 1000, (6, 5, 4)).astype(np.int16)
AFFINE = np.array([[2, 0, 0, 5], [0, 3, 0, 6], [0, 0, 4, 7], [0, 0, 0, 1.0]])


def load(path, frame=None):
    return read(ImageRef(paths=(path,), frame=frame))


def refused(path, frame=None):
    with pytest.raises(ReadError) as excinfo:
        load(path, frame)
    assert path.name in str(excinfo.value)
    if frame is None:
        with pytest.raises(ReadError) as forward:
            stack_slices(read(ImageRef(paths=(path,)), forward=True).slices)
        assert forward.value.code == excinfo.value.code
    return excinfo.value.code


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
    assert np.array_equal(stack_slices(forward.slices), whole.slices)
    assert np.array_equal(forward.affine, whole.affine)
    assert (forward.spacing, forward.greys) == (whole.spacing, whole.greys)


def test_gzip_is_read_alike_without_isa_l(tmp_path, monkeypatch):
    path = save(tmp_path / "a.nii.gz")
    monkeypatch.setattr(nifti, "_AT_ONCE", 0)
    whole = load(path).slices
    monkeypatch.setitem(sys.modules, "isal", None)
    spec = importlib.util.find_spec("medrcube.build.readers.gzip_stream")
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    assert plain.open_gzip(path).__class__ is gzip.GzipFile
    monkeypatch.setattr(nifti, "open_gzip", plain.open_gzip)
    monkeypatch.setattr(nifti, "DAMAGE", plain.DAMAGE)
    assert np.array_equal(load(path).slices, whole)
    path.write_bytes(flipped(path.read_bytes()))
    assert refused(path) == "unreadable"


def test_a_small_file_is_unpacked_at_once_to_what_the_stream_gives(tmp_path, monkeypatch):
    path = save(tmp_path / "a.nii.gz")
    needed = 352 + BODY.nbytes
    at_once = nifti._unpacked_at_once(path, needed)
    assert at_once is not None
    monkeypatch.setattr(nifti, "_AT_ONCE", 0)
    assert np.array_equal(at_once, nifti._gunzip(path))
    assert nifti._unpacked_at_once(path, needed - 2) is None
    path.write_bytes(flipped(path.read_bytes()))
    assert nifti._unpacked_at_once(path, needed) is None


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
    numbers = display_transform(volume, "header").numbers
    pixels = volume.slices.astype(float)
    assert numbers["low"] == pixels.min() * 0.5 - 100


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
    volume = load(tmp_path / "a.nii", frame=2)
    assert np.array_equal(volume.slices, whole.slices[2:3])
    assert np.allclose(volume.affine @ [0, 1, 2, 1], whole.affine @ [2, 1, 2, 1])


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


@pytest.mark.parametrize("slope", [2, -2])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_voxels_without_a_value_become_the_darkest_of_the_volume_and_are_counted(
    tmp_path, value, slope
):
    odd = BODY.astype(np.float32) + 7
    odd[3, 2, 1] = odd[0, 0, 3] = value
    path = patch(save(tmp_path / "a.nii", odd), 112, np.array([slope, 0], "<f4").tobytes())
    volume = load(path)
    finite = odd[np.isfinite(odd)]
    darkest = finite.min() if slope > 0 else finite.max()
    assert np.array_equal(volume.slices.T, np.where(np.isfinite(odd), odd, darkest))
    assert volume.greys.filled == 2
    for policy in ("percentile:0-100", "header"):
        assert display_transform(volume, policy).numbers["filled"] == 2
    assert np.array_equal(volume.slices, load(path).slices)


def test_whole_volume_says_nothing_of_voxels_without_a_value(tmp_path):
    volume = load(save(tmp_path / "a.nii", BODY.astype(np.float32)))
    assert "filled" not in display_transform(volume, "header").numbers


def test_volume_that_mostly_has_no_values_is_refused(tmp_path):
    odd = np.full((10, 10, 10), np.nan, np.float32)
    odd[:, :, 0] = np.arange(100).reshape(10, 10)
    assert load(save(tmp_path / "a.nii", odd)).greys.filled == 900
    odd[0, 0, 0] = np.inf
    assert refused(save(tmp_path / "a.nii", odd)) == "not-finite"


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_mask_with_voxels_that_say_nothing_is_refused(tmp_path, name):
    body = load(save(tmp_path / "body.nii"))
    odd = (BODY > 3).astype(np.float32)
    odd[3, 2, 1] = np.nan
    save(tmp_path / name, odd)
    with pytest.raises(ReadError) as excinfo:
        read_mask(MaskFile(paths=(tmp_path / name,)), body)
    assert excinfo.value.code == "not-finite"


@pytest.mark.parametrize("end", [1.7e308, 1e300])
def test_largest_numbers_make_the_picture_that_small_ones_make(tmp_path, end):
    ramp = np.linspace(-1, 1, 120).reshape(6, 5, 4)
    small, large = (
        load(save(tmp_path / f"{name}.nii", ramp * by)) for name, by in (("s", 1), ("l", end))
    )
    shades = display_transform(large, "percentile:0-100").apply(large.slices)
    assert (shades.min(), shades.max()) == (0, 255)
    expected = display_transform(small, "percentile:0-100").apply(small.slices).astype(int)
    assert np.abs(shades - expected).max() <= 1


@pytest.mark.filterwarnings("ignore:overflow")
def test_scale_that_leads_beyond_all_numbers_is_refused(tmp_path):
    path = save(tmp_path / "a.nii", BODY * 1e300)
    volume = load(patch(path, 112, np.array([1e30, 0], "<f4").tobytes()))
    with pytest.raises(ReadError) as excinfo:
        display_transform(volume, "percentile:0-100")
    assert excinfo.value.code == "not-finite"


def of_qform(path, *, sign=1.0, widths=(2, 3, 4), sform=None):
    """Keep the qform of a file, with another ``pixdim``, and no sform or that one."""
    save(path)
    image = nib.load(path)
    image.set_qform(image.affine, code=1)
    image.set_sform(None if sform is None else image.affine, code=0 if sform is None else 1)
    nib.save(image, path)
    patch(path, 76, np.array([sign, *widths], "<f4").tobytes())
    if sform is not None:
        patch(path, 280, np.asarray(sform, "<f4").tobytes())
    return path


@pytest.mark.parametrize("sign", [0, 1, 2, float("nan")])
def test_sign_of_the_third_axis_is_1_where_the_qform_states_none(tmp_path, sign):
    expected = load(of_qform(tmp_path / "a.nii")).affine
    assert np.allclose(load(of_qform(tmp_path / "b.nii", sign=sign)).affine, expected)


def test_sign_of_the_third_axis_turns_it(tmp_path):
    expected = load(of_qform(tmp_path / "a.nii")).affine
    turned = load(of_qform(tmp_path / "b.nii", sign=-1)).affine
    assert np.allclose(turned[:, 0], -expected[:, 0])
    assert np.allclose(turned[:, 1:], expected[:, 1:])


@pytest.mark.parametrize("widths", [(-2, 3, 4), (2, 0, 4), (2, 3, float("nan"))])
def test_voxels_without_a_positive_width_are_refused_where_the_qform_counts(tmp_path, widths):
    assert refused(of_qform(tmp_path / "a.nii", widths=widths)) == "singular-affine"


@pytest.mark.parametrize("sform", [np.zeros(12), np.ones(12), np.full(12, np.nan)])
def test_sform_that_spans_no_space_leaves_the_word_to_a_good_qform(tmp_path, sform):
    expected = load(of_qform(tmp_path / "a.nii")).affine
    volume = load(of_qform(tmp_path / "b.nii", sform=sform))
    assert np.allclose(volume.affine, expected)
    assert refused(of_qform(tmp_path / "c.nii", sform=sform, widths=(0, 3, 4))) == "singular-affine"


@pytest.mark.parametrize("units", [0, 2])
def test_spacing_is_that_of_pixdim_where_the_affine_is_a_dummy_with_voxels_of_1(tmp_path, units):
    path = save(tmp_path / "a.nii", affine=np.diag([-1.0, -1.0, 1.0, 1.0]))
    patch(path, 80, np.array([1.40625, 1.5, 13], "<f4").tobytes())
    patch(path, 123, bytes([units]))
    assert load(path).spacing == pytest.approx((13, 1.5, 1.40625))
    assert read(ImageRef(paths=(path,)), forward=True).spacing == load(path).spacing


@pytest.mark.parametrize("widths", [(0, 3, 4), (2, float("nan"), 4)])
def test_spacing_is_that_of_the_affine_where_pixdim_states_no_widths(tmp_path, widths):
    path = save(tmp_path / "a.nii", affine=np.eye(4))
    patch(path, 80, np.array(widths, "<f4").tobytes())
    assert load(path).spacing == (1, 1, 1)


def test_spacing_is_that_of_an_affine_that_states_widths_of_its_own(tmp_path):
    path = save(tmp_path / "a.nii")
    patch(path, 80, np.array([9, 9, 9], "<f4").tobytes())
    assert load(path).spacing == pytest.approx((4, 3, 2))


@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_size_that_no_picture_has_is_refused_before_memory_is_taken(tmp_path, name):
    path = tmp_path / name
    header = nib.Nifti2Header()
    header.set_data_shape((46000, 46000, 1))
    header.set_data_dtype(np.uint8)
    header["vox_offset"] = 544
    with (gzip.open if name.endswith("gz") else open)(path, "wb") as file:
        file.write(header.binaryblock + bytes(1 << 20))
    tracemalloc.start()
    assert refused(path) == "too-large"
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


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


def _both_forms(path, sform, qform, codes=(1, 1)):
    image = nib.Nifti1Image(np.zeros((4, 5, 6), np.int16), sform)
    image.header.set_sform(sform, code=codes[0])
    image.header.set_qform(qform, code=codes[1])
    nib.save(image, path)
    return path


FORM = np.array([[-0.9, 0, 0, 80], [0, 1.1, 0.1, -60], [0, -0.1, 1.2, -30], [0, 0, 0, 1.0]])


@pytest.mark.parametrize("codes", [(1, 1), (4, 1), (2, 3)])
@pytest.mark.parametrize(
    ("signs", "how"), [((-1, 1, 1), "mirror"), ((1, 1, -1), "mirror"), ((-1, -1, 1), "contradict")]
)
def test_affines_that_mirror_each_other_are_refused(tmp_path, signs, how, codes):
    path = _both_forms(tmp_path / "a.nii", FORM, np.diag([*signs, 1.0]) @ FORM, codes)
    with pytest.raises(ReadError, match=f"sform and qform {how} each other") as excinfo:
        nifti.read(path)
    assert excinfo.value.code == "contradicting-affines"


@pytest.mark.parametrize("code", [0, 1])
def test_affines_that_agree_or_are_not_both_stated_are_taken(tmp_path, code):
    turn = np.eye(4)
    turn[:2, :2] = [[0.8, -0.6], [0.6, 0.8]]  # as a registration may turn a head
    other = turn @ FORM if code else np.diag([-1.0, 1, 1, 1]) @ FORM
    volume = nifti.read(_both_forms(tmp_path / "a.nii", FORM, other, (2, code)))
    assert np.allclose(volume.affine, FORM[:, [2, 1, 0, 3]], atol=1e-5)


def test_a_volume_that_packs_more_than_any_image_is_refused_before_it_takes_memory(tmp_path):
    header = nib.Nifti1Image(np.zeros((1, 1, 1), np.uint8), np.eye(4)).header
    header.set_data_shape((512, 512, 512))
    header["vox_offset"], header["sform_code"] = 352, 1
    with gzip.open(tmp_path / "bomb.nii.gz", "wb", compresslevel=9) as file:
        file.write(header.binaryblock + bytes(4))
        for _ in range(512):
            file.write(bytes(512 * 512))
    tracemalloc.start()
    try:
        with pytest.raises(ReadError) as excinfo:
            nifti.read(tmp_path / "bomb.nii.gz")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert excinfo.value.code == "too-large"
    assert most < 16 << 20


def test_a_mostly_empty_volume_is_read_from_gzip(tmp_path):
    values = np.zeros((410, 410, 410), np.uint8)
    values[200:280, 200:280, 100:300] = np.random.default_rng(1).integers(
        0, 255, (80, 80, 200), np.uint8
    )
    nib.save(nib.Nifti1Image(values, np.eye(4)), tmp_path / "a.nii.gz")
    assert nifti.read(tmp_path / "a.nii.gz").slices.shape == (410, 410, 410)

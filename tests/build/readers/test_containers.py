from __future__ import annotations

import h5py
import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813

from medrcube.build.pixels.geometry import reorient
from medrcube.build.readers import read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef

BODY = np.random.default_rng(4).integers(-1000, 1000, (4, 5, 6)).astype(np.int16)


def load(path, frame=None, member=None):
    return read(ImageRef(paths=(path,), frame=frame, member=member))


def refused(path, **choice):
    with pytest.raises(ReadError) as excinfo:
        load(path, **choice)
    assert path.name in str(excinfo.value)
    return excinfo.value.code


def save_meta(path, array=BODY, **options):
    image = sitk.GetImageFromArray(array)
    if array.ndim == 3:
        image.SetSpacing((2.0, 3.0, 4.0))
        image.SetOrigin((10.0, 20.0, 30.0))
        image.SetDirection((1, 0, 0, 0, 0, 1, 0, -1, 0))
    sitk.WriteImage(image, str(path), **options)
    return path


@pytest.mark.parametrize(("name", "packed"), [("a.mhd", False), ("a.mha", False), ("a.mha", True)])
def test_metaimage_is_read_with_its_place(tmp_path, name, packed):
    volume = load(save_meta(tmp_path / name, useCompression=packed))
    assert np.array_equal(volume.slices, BODY)
    assert volume.spacing == (4, 3, 2)
    # Index (k, j, i) = (1, 2, 3) in LPS: origin + i * 2 x - j * 3 z + k * 4 y.
    assert (volume.affine @ [1, 2, 3, 1]).tolist() == [-16, -24, 24, 1]


def test_coronal_metaimage_is_shown_as_the_body_lies(tmp_path):
    volume = load(save_meta(tmp_path / "a.mha"))
    view = reorient(volume, "coronal")
    assert np.array_equal(view.slices, BODY)


def test_flat_metaimage_is_one_slice_without_place(tmp_path):
    volume = load(save_meta(tmp_path / "a.mha", BODY[0]))
    assert np.array_equal(volume.slices, BODY[:1])
    assert volume.affine is None


def test_frame_of_a_metaimage_sequence(tmp_path):
    path = save_meta(tmp_path / "a.mhd")
    volume = load(path, frame=2)
    assert np.array_equal(volume.slices, BODY[2:3])
    assert (volume.affine @ [0, 0, 0, 1]).tolist() == [-10, -28, 30, 1]
    assert refused(path, frame=4) == "missing-frame"


@pytest.mark.parametrize("size", [0, 50])
def test_metaimage_with_a_short_or_missing_raw_file_is_refused(tmp_path, size, capfd):
    path = save_meta(tmp_path / "a.mhd")
    raw = tmp_path / "a.raw"
    content = raw.read_bytes()
    raw.unlink()
    if size:
        raw.write_bytes(content[:size])
    assert refused(path) == "truncated"


@pytest.mark.parametrize("name", ["a.mhd", "a.mha"])
@pytest.mark.parametrize("packed", [False, True])
def test_metaimage_that_promises_more_voxels_than_it_has_is_refused(
    tmp_path, monkeypatch, name, packed
):
    sitk.WriteImage(sitk.GetImageFromArray(BODY), str(tmp_path / name), packed)
    data, size = (tmp_path / name).read_bytes(), " ".join(map(str, BODY.shape[::-1]))
    more = " ".join(map(str, (*BODY.shape[:0:-1], BODY.shape[0] + 1)))
    assert f"DimSize = {size}".encode() in data
    (tmp_path / name).write_bytes(
        data.replace(f"DimSize = {size}".encode(), f"DimSize = {more}".encode())
    )
    monkeypatch.setattr(sitk.ImageFileReader, "Execute", lambda _: pytest.fail("takes memory"))
    assert refused(tmp_path / name) == "truncated"


def test_metaimage_with_vectors_is_refused(tmp_path):
    image = sitk.GetImageFromArray(np.zeros((4, 5, 2), np.float32), isVector=True)
    sitk.WriteImage(image, str(tmp_path / "a.mha"))
    assert refused(tmp_path / "a.mha") == "unsupported-format"


def test_infinity_in_a_metaimage_is_shown_as_background(tmp_path):
    odd = BODY.astype(np.float32) + 1
    odd[1, 1, 1] = np.inf
    volume = load(save_meta(tmp_path / "a.mha", odd))
    assert np.array_equal(volume.slices, np.where(np.isfinite(odd), odd, odd.min()))
    assert volume.greys.filled == 1


def save_matlab(path, **arrays):
    """As MATLAB 7.3 does it: a 512-byte text block, and arrays column by column."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in arrays.items():
            file["cjdata/" + name] = array.T
    content = bytearray(path.read_bytes())
    banner = b"MATLAB 7.3 MAT-file, Platform: GLNXA64, HDF5 schema 1.00 ."
    content[: len(banner)] = banner
    path.write_bytes(content)
    return path


def test_matlab_matrix_is_turned_back(tmp_path):
    path = save_matlab(tmp_path / "1.mat", image=BODY[0], label=np.ones((1, 1)))
    volume = load(path, member="cjdata/image")
    assert np.array_equal(volume.slices, BODY[:1])


def test_matlab_stack_has_its_slices_last(tmp_path):
    path = save_matlab(tmp_path / "1.mat", image=BODY.transpose(1, 2, 0))
    assert np.array_equal(load(path, member="cjdata/image").slices, BODY)
    assert np.array_equal(load(path, member="cjdata/image", frame=3).slices, BODY[3:4])


def test_plain_hdf5_is_taken_as_it_stands(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["image"] = BODY
        file["mask"] = BODY > 0
    assert np.array_equal(load(tmp_path / "a.h5", member="image").slices, BODY)
    assert load(tmp_path / "a.h5", member="mask").slices.dtype == np.uint8


@pytest.mark.parametrize("member", [None, "cjdata/nothing", "cjdata"])
def test_member_that_is_no_array_is_refused_with_the_list_of_arrays(tmp_path, member):
    path = save_matlab(tmp_path / "1.mat", image=BODY[0])
    with pytest.raises(ReadError, match="cjdata/image") as excinfo:
        load(path, member=member)
    assert excinfo.value.code == "missing-member"


def test_old_matlab_file_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "cvind.mat"
    path.write_bytes(b"MATLAB 5.0 MAT-file, Platform: PCWIN".ljust(512))
    with pytest.raises(ReadError, match=r"-v7\.3") as excinfo:
        load(path, member="cvind")
    assert excinfo.value.code == "unsupported-format"


def test_damaged_matlab_file_is_refused(tmp_path):
    path = save_matlab(tmp_path / "1.mat", image=BODY[0])
    path.write_bytes(path.read_bytes()[:700])
    assert refused(path, member="cjdata/image") == "unreadable"


def test_numbers_and_text_are_no_pictures(tmp_path):
    path = save_matlab(tmp_path / "1.mat", PID=np.array([1, 2, 3]))
    assert refused(path, member="cjdata/PID") == "unsupported-format"
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["text"] = np.full((2, 2), b"abc")
    assert refused(tmp_path / "b.h5", member="text") == "unsupported-format"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "truncated"),
        (b"%PDF-1.7 something", "unsupported-format"),
        (b"\x1f\x8bnonsense", "unreadable"),
    ],
)
def test_content_that_is_no_image_is_refused(tmp_path, content, code):
    (tmp_path / "a.png").write_bytes(content)
    assert refused(tmp_path / "a.png") == code


def test_missing_file_is_named(tmp_path):
    assert refused(tmp_path / "a.png") == "missing-file"

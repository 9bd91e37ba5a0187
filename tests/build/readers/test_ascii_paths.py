"""Every reader reads a file whose name is not valid UTF-8 like any other file."""

from __future__ import annotations

import os

import h5py
import numpy as np
import pytest

from medrcube.build.pixels.volume import stack_slices
from medrcube.build.readers import read
from medrcube.facts import ImageRef
from medrcube.sources._synthetic import images

PICTURE = images.picture(48, 64, seed=1).astype(np.uint8)
BODY = np.stack([PICTURE, PICTURE[::-1]])


def write_matlab(path):
    with h5py.File(path, "w") as file:
        file["x"] = PICTURE


def metaimage(path):
    images.write_metaimage(path, BODY, spacing=(1, 1, 1))


WRITERS = {
    **dict.fromkeys(("png", "jpg", "gif"), lambda path: images.write_picture(path, PICTURE)),
    "dcm": lambda path: images.write_dicom(path, PICTURE),
    "nii": lambda path: images.write_nifti(path, BODY, spacing=(1, 1, 1)),
    "nii.gz": lambda path: images.write_nifti(path, BODY, spacing=(1, 1, 1)),
    "mha": metaimage,
    "mhd": metaimage,
    "mp4": lambda path: images.write_clip(path, [PICTURE] * 3),
    "h5": write_matlab,
}


def pixels(path):
    member = "x" if path.suffix == ".h5" else None
    return stack_slices(read(ImageRef(paths=(path,), member=member)).slices)


@pytest.mark.parametrize("kind", WRITERS)
def test_file_with_an_odd_name_is_read_like_any_other(tmp_path, kind):
    path = tmp_path / f"plain.{kind}"
    WRITERS[kind](path)
    expected = pixels(path)
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    path = path.rename(odd / os.fsdecode(b"\xe8" + f".{kind}".encode()))
    if kind == "mhd":
        (tmp_path / "plain.raw").rename(odd / "plain.raw")
    assert np.array_equal(pixels(path), expected)

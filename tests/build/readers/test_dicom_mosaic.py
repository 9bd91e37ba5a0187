"""A sheet of tiles is never taken for one slice."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
from pydicom import dcmread

from medrcube.build.readers import read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef
from medrcube.sources._synthetic.images import write_dicom

SHEET = np.random.default_rng(3).integers(0, 900, (96, 96), dtype=np.uint16)
# Files of a Siemens scanner that nibabel carries for its own tests.
REAL = Path(nib.__path__[0]) / "nicom" / "tests" / "data"


def code_of(path):
    try:
        read(ImageRef(paths=(path,)))
    except ReadError as error:
        return error.code
    return ""


def csa(tiles):
    entry = b"NumberOfImagesInMosaic".ljust(64, b"\0")
    text = str(tiles).encode().ljust(12, b"\0")
    items = struct.pack("<4i", 12, 12, 77, 12) + text
    return (
        b"SV10\4\3\2\1"
        + struct.pack("<2i", 1, 77)
        + entry
        + struct.pack("<i", 1)
        + b"US\0\0"
        + struct.pack("<3i", 0, 1, 77)
        + items
    )


def write(path, *, tiles=None, in_csa=None, **tags):
    write_dicom(path, SHEET, Modality="MR", **tags)
    data = dcmread(path)
    if tiles is not None:
        data.private_block(0x0019, "SIEMENS MR HEADER", create=True).add_new(0x0A, "US", tiles)
    if in_csa is not None:
        block = data.private_block(0x0029, "SIEMENS CSA HEADER", create=True)
        block.add_new(0x10, "OB", csa(in_csa))
    data.save_as(path)
    return code_of(path)


@pytest.mark.parametrize(
    "marks",
    [
        {"ImageType": ["ORIGINAL", "PRIMARY", "M", "ND", "MOSAIC"]},
        {"tiles": 9},
        {"in_csa": 9},
        {"AcquisitionMatrix": [32, 0, 0, 32], "PixelSpacing": [8, 8]},
    ],
    ids=["image type", "private element", "CSA header", "size"],
)
def test_mosaic_is_refused_by_any_of_its_marks(tmp_path, marks):
    assert write(tmp_path / "a.dcm", **marks) == "mosaic"


@pytest.mark.parametrize(
    "marks",
    [
        {"ImageType": ["ORIGINAL", "PRIMARY", "M", "ND"]},
        {"tiles": 0},
        {"in_csa": 0},
        {"in_csa": ""},
        {"AcquisitionMatrix": [48, 0, 0, 48], "PixelSpacing": [4, 4]},
        {"AcquisitionMatrix": [0, 64, 48, 0], "PixelSpacing": [8, 8]},
        {"AcquisitionMatrix": [96, 0, 0, 96], "PixelSpacing": [8, 8]},
    ],
    ids=[
        "no mark",
        "no tiles",
        "no tiles in CSA",
        "empty CSA",
        "interpolated",
        "no multiple",
        "one tile",
    ],
)
def test_single_slice_of_the_same_scanner_is_read(tmp_path, marks):
    assert write(tmp_path / "a.dcm", **marks) == ""


@pytest.mark.parametrize("keep", [True, False], ids=["as it is", "without ImageType and CSA"])
@pytest.mark.parametrize("name", ["siemens_dwi_0.dcm.gz", "siemens_dwi_1000.dcm.gz"])
def test_real_mosaic_is_refused(tmp_path, name, keep):
    if not (REAL / name).is_file():
        pytest.skip(f"this nibabel carries no {name}")
    path = tmp_path / "a.dcm"
    path.write_bytes(gzip.decompress((REAL / name).read_bytes()))
    if not keep:
        data = dcmread(path)
        data.ImageType = ["ORIGINAL", "PRIMARY"]
        data.remove_private_tags()
        data.save_as(path)
    assert code_of(path) == "mosaic"

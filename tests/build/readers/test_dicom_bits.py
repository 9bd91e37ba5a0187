"""Values of DICOM pixels wherever their bits lie, against the standard and against dcmtk."""

from __future__ import annotations

import base64
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pydicom import dcmread
from pydicom.encaps import encapsulate
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGLSLossless,
    RLELossless,
)

from medrcube.build.readers import read
from medrcube.errors import ReadError
from medrcube.facts import ImageRef
from medrcube.sources._synthetic.images import write_dicom

RAMP = (np.arange(64).reshape(8, 8) * 55 - 1800).astype(np.int16)
# The lower 12 bits of RAMP in a JPEG-LS stream of 16 bits, as dcmtk's encoder writes it.
LS_OF_16_BITS = base64.b64decode(
    "/9j/9wALEAAIAAgBAREA//gADQH//wASAEMBFABA/9oACAEBAAAAAAXvjbGuaZnstjsPcI3RsmqaLNZI3dusVgr1crVY"
    "jZ2zW1NLQzsyau1AAAAAAAAj9pACAIAgEAgAAkh3CTJKkiRqJNHbqFQJ9PJ1OLN2ibTSZTCYS6yA/9k="
)


def read_values(path):
    return read(ImageRef(paths=(path,))).slices[0]


def refused(path):
    with pytest.raises(ReadError) as excinfo:
        read_values(path)
    return excinfo.value.code


def placed(values, bits, high, *, spare):
    """16-bit pixels with a value of ``bits`` bits below bit ``high``, and other bits beside it."""
    low = high + 1 - bits
    mask = ((1 << bits) - 1) << low
    return (values.astype(np.uint16) << low & mask) | (spare & ~np.uint16(mask))


def write_placed(path, pixels, *, bits, high, signed):
    write_dicom(path, pixels, BitsStored=bits, HighBit=high, PixelRepresentation=int(signed))


@settings(max_examples=40)
@given(data=st.data(), signed=st.booleans())
def test_values_are_those_of_the_stored_bits_wherever_they_lie(tmp_path_factory, data, signed):
    path = tmp_path_factory.getbasetemp() / "placed.dcm"
    bits = data.draw(st.integers(2, 16))
    high = data.draw(st.integers(bits - 1, 15))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    low = -(1 << bits - 1) if signed else 0
    values = rng.integers(low, low + (1 << bits), (6, 5))
    spare = rng.integers(0, 65536, values.shape).astype(np.uint16)
    pixels = placed(values, bits, high, spare=spare)
    write_placed(path, pixels, bits=bits, high=high, signed=signed)
    assert np.array_equal(read_values(path), values)
    if bits > 8:  # of fewer, the encoder drops a byte
        coded = dcmread(path)
        coded.compress(RLELossless)
        coded.save_as(path)
        assert np.array_equal(read_values(path), values)


def test_bits_of_a_deflated_file_lie_where_its_header_says(tmp_path):
    values = np.arange(64).reshape(8, 8)
    write_placed(
        tmp_path / "a.dcm",
        placed(values, 12, 15, spare=np.uint16(5)),
        bits=12,
        high=15,
        signed=False,
    )
    data = dcmread(tmp_path / "a.dcm")
    data.file_meta.TransferSyntaxUID = DeflatedExplicitVRLittleEndian
    data.save_as(tmp_path / "b.dcm")
    assert np.array_equal(read_values(tmp_path / "b.dcm"), values)


def write_jpeg_ls(path, signed):
    write_dicom(path, RAMP, BitsStored=12, HighBit=11, PixelRepresentation=int(signed))
    data = dcmread(path)
    data.file_meta.TransferSyntaxUID = JPEGLSLossless
    data.PixelData = encapsulate([LS_OF_16_BITS])
    data["PixelData"].is_undefined_length = True
    data.save_as(path)


@pytest.mark.parametrize("signed", [True, False])
def test_jpeg_ls_of_more_bits_than_are_stored_keeps_value_and_sign(tmp_path, signed):
    write_jpeg_ls(tmp_path / "a.dcm", signed)
    assert np.array_equal(read_values(tmp_path / "a.dcm"), RAMP if signed else RAMP & 0xFFF)


@pytest.mark.parametrize("syntax", [None, JPEG2000Lossless])
def test_place_of_the_stored_bits_that_cannot_be_is_refused(tmp_path, syntax):
    path = tmp_path / "a.dcm"
    write_dicom(path, np.tile(np.abs(RAMP), (8, 8)), BitsStored=12, HighBit=11)
    data = dcmread(path)
    if syntax:
        data.compress(syntax)
    data.HighBit = 15 if syntax else 9
    data.save_as(path)
    assert refused(path) == ("unsupported-format" if syntax else "unreadable")


def by_tool(name, *arguments):
    subprocess.run([shutil.which(name), *arguments], check=True)


def by_dcmtk(path):
    """What dcmtk shows of a file from its lowest to its highest value, in 0 to 255."""
    target = path.with_suffix(".pgm")
    by_tool("dcm2pnm", "--write-raw-pnm", "+Wm", path, target)
    with Image.open(target) as picture:
        return np.asarray(picture).astype(float)


@pytest.mark.skipif(shutil.which("dcm2pnm") is None, reason="dcmtk (dcm2pnm) is not installed")
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize(("bits", "high"), [(12, 11), (12, 15), (10, 13), (8, 15)])
def test_dcmtk_shows_the_same_values(tmp_path, bits, high, signed):
    path = tmp_path / "a.dcm"
    values = np.arange(256).reshape(16, 16) % (1 << bits) - (1 << bits - 1 if signed else 0)
    pixels = placed(values, bits, high, spare=np.full((16, 16), 0x5A5A, np.uint16))
    write_placed(path, pixels, bits=bits, high=high, signed=signed)
    ours = read_values(path).astype(float)
    ours = (ours - ours.min()) * 255 / np.ptp(ours)
    assert np.abs(by_dcmtk(path) - ours).max() <= 1


@pytest.mark.skipif(shutil.which("dcm2pnm") is None, reason="dcmtk (dcm2pnm) is not installed")
@pytest.mark.parametrize("signed", [True, False])
def test_dcmtk_shows_the_same_values_of_jpeg_ls(tmp_path, signed):
    write_jpeg_ls(tmp_path / "a.dcm", signed)
    by_tool("dcmdjpls", tmp_path / "a.dcm", tmp_path / "b.dcm")
    ours = read_values(tmp_path / "a.dcm").astype(float)
    ours = (ours - ours.min()) * 255 / np.ptp(ours)
    assert np.abs(by_dcmtk(tmp_path / "b.dcm") - ours).max() <= 1


@pytest.mark.skipif(shutil.which("dcm2pnm") is None, reason="dcmtk (dcm2pnm) is not installed")
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "rle"])
@pytest.mark.parametrize("planar", [0, 1])
def test_dcmtk_shows_the_same_colours_however_the_planes_lie(tmp_path, planar, packed):
    """PS3.3 C.7.6.3.1.3: 0 is colour by pixel, 1 is colour by plane; both give one picture."""
    path = tmp_path / "a.dcm"
    colours = np.random.default_rng(1).integers(0, 256, (9, 14, 3), np.uint8)
    tags = {"SamplesPerPixel": 3, "PhotometricInterpretation": "RGB", "Columns": 14}
    write_dicom(path, colours.reshape(9, -1), **tags, PlanarConfiguration=planar)
    data = dcmread(path)
    data.PixelData = (colours.transpose(2, 0, 1) if planar else colours).tobytes()
    data.save_as(path)
    if packed:
        by_tool("dcmcrle", path, tmp_path / "b.dcm")
        path = tmp_path / "b.dcm"
    target = tmp_path / "a.ppm"
    by_tool("dcm2pnm", "--write-raw-pnm", path, target)
    with Image.open(target) as picture:
        theirs = np.asarray(picture)
    assert (theirs == colours).all()
    assert (read_values(path) == colours).all()

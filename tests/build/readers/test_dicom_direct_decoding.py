"""Frames that are decoded without pydicom's runner are those that pydicom decodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydicom.data import get_testdata_file
from pydicom.dataset import FileDataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.pixels.utils import pixel_array
from pydicom.uid import (
    UID,
    ExplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGLosslessSV1,
    RLELossless,
)

from medrcube.build.readers.dicom import direct_decoding
from medrcube.build.readers.dicom.decoding import decode_frame
from medrcube.build.readers.dicom.direct_decoding import decode_directly
from medrcube.build.readers.dicom.opening import open_header
from medrcube.errors import ReadError

LOSSLESS_JPEG = bytes.fromhex(
    "ffd8ffc400240000000601010101010101010101010000000102030405060708090a0b0c0d0e0f10ffc3000b0c"
    "0004000501011100ffda0008010100010000df9fff00689da27689da277aadda27689da27689deab7689da2768"
    "9da277aadda27689da27689fffd9"
)
"""4 x 5 pixels of 12 bits, process 14, first predictor."""


def write(
    path: Path, pixels: NDArray[Any], syntax: UID, coded: bytes | None = None, **elements: Any
) -> Path:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
    meta.MediaStorageSOPInstanceUID = "1.2.3"
    meta.TransferSyntaxUID = ExplicitVRLittleEndian if coded is None else syntax
    data = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    bits = 8 * pixels.dtype.itemsize
    values = {
        "SOPInstanceUID": "1.2.3",
        "Rows": pixels.shape[0],
        "Columns": pixels.shape[1],
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "BitsAllocated": bits,
        "BitsStored": bits,
        "HighBit": bits - 1,
        "PixelRepresentation": int(pixels.dtype.kind == "i"),
        **elements,
    }
    for keyword, value in values.items():
        setattr(data, keyword, value)
    data.PixelData = pixels.tobytes() if coded is None else coded
    data["PixelData"].VR = "OB" if coded is not None or bits == 8 else "OW"
    if coded is None:
        data.compress(syntax, generate_instance_uid=False)
    else:
        data["PixelData"].is_undefined_length = True
    data.save_as(path, enforce_file_format=True)
    return path


def grey(dtype: str) -> NDArray[Any]:
    info = np.iinfo(dtype)
    return np.random.default_rng(3).integers(info.min, info.max, (64, 72), dtype, endpoint=True)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
@pytest.mark.parametrize("syntax", [RLELossless, JPEG2000Lossless])
def test_a_grey_frame_is_decoded_to_its_pixels(tmp_path: Path, dtype: str, syntax: UID) -> None:
    pixels = grey(dtype)
    path = write(tmp_path / "slice.dcm", pixels, syntax)
    frame = decode_directly(path, open_header(path))
    assert frame is not None
    assert frame.dtype == pixels.dtype
    assert np.array_equal(frame, pixels)


@pytest.mark.parametrize("has_offsets", [True, False])
def test_lossless_jpeg_is_decoded_as_by_pydicom(tmp_path: Path, *, has_offsets: bool) -> None:
    pixels = (np.arange(20, dtype=np.uint16) * 137 % 4096).reshape(4, 5)
    coded = encapsulate([LOSSLESS_JPEG], has_bot=has_offsets)
    path = write(tmp_path / "slice.dcm", pixels, JPEGLosslessSV1, coded, BitsStored=12, HighBit=11)
    frame = decode_directly(path, open_header(path))
    assert frame is not None
    assert np.array_equal(frame, pixels)
    assert np.array_equal(frame, pixel_array(path))


def test_jpeg_2000_of_another_sign_than_its_header_is_left_to_pydicom() -> None:
    path = Path(str(get_testdata_file("J2K_pixelrep_mismatch.dcm")))
    header = open_header(path)
    assert decode_directly(path, header) is None
    assert decode_frame(path, header, 0).min() < 0


def test_the_fragments_of_a_frame_are_joined(tmp_path: Path) -> None:
    pixels = (np.arange(20, dtype=np.uint16) * 137 % 4096).reshape(4, 5)
    coded = encapsulate([LOSSLESS_JPEG], fragments_per_frame=2)
    path = write(tmp_path / "slice.dcm", pixels, JPEGLosslessSV1, coded, BitsStored=12, HighBit=11)
    frame = decode_directly(path, open_header(path))
    assert frame is not None
    assert np.array_equal(frame, pixels)


def test_a_frame_whose_items_end_otherwise_is_left_to_pydicom(tmp_path: Path) -> None:
    coded = encapsulate([LOSSLESS_JPEG])
    pixels = np.zeros((4, 5), np.uint16)
    path = write(tmp_path / "slice.dcm", pixels, JPEGLosslessSV1, coded, BitsStored=12, HighBit=11)
    header = open_header(path)
    whole = path.read_bytes()
    end = whole.rindex(b"\xfe\xff\xdd\xe0")
    path.write_bytes(whole[:end] + b"\xfe\xff\x0d\xe0" + bytes(4))
    assert decode_directly(path, header) is None
    path.write_bytes(whole[:end])
    assert decode_directly(path, header) is not None


def test_a_frame_of_another_size_than_its_header_is_reported(tmp_path: Path) -> None:
    coded = encapsulate([LOSSLESS_JPEG])
    path = write(
        tmp_path / "slice.dcm",
        np.zeros((4, 6), np.uint16),
        JPEGLosslessSV1,
        coded,
        BitsStored=12,
        HighBit=11,
    )
    header = open_header(path)
    assert decode_directly(path, header) is None
    with pytest.raises(ReadError):
        decode_frame(path, header, 0)


@pytest.mark.parametrize(
    "elements", [{"PhotometricInterpretation": "PALETTE COLOR"}, {"NumberOfFrames": 2}]
)
def test_what_is_not_one_grey_frame_is_left_to_pydicom(
    tmp_path: Path, elements: dict[str, Any]
) -> None:
    coded = encapsulate([LOSSLESS_JPEG])
    path = write(
        tmp_path / "slice.dcm",
        np.zeros((4, 5), np.uint16),
        JPEGLosslessSV1,
        coded,
        BitsStored=12,
        HighBit=11,
        **elements,
    )
    assert decode_directly(path, open_header(path)) is None


def test_without_the_decoder_of_a_syntax_pydicom_chooses_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = grey("uint16")
    path = write(tmp_path / "slice.dcm", pixels, RLELossless)
    monkeypatch.setattr(direct_decoding, "_decoder_of", lambda _syntax: None)
    assert np.array_equal(decode_frame(path, open_header(path), 0), pixels)

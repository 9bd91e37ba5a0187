"""The header that is read in one pass says what pydicom says, and pixels are those of pydicom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from pydicom import dcmread, dcmwrite
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.pixels.utils import pixel_array
from pydicom.sequence import Sequence
from pydicom.uid import (
    UID,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    RLELossless,
)

from medrcube.build.readers.dicom.header_scan import ScannedHeader, scan_header
from medrcube.build.readers.dicom.opening import open_header
from medrcube.build.readers.dicom.pixel_element import coded_frame, stored_frame

TAGS = frozenset((0x00080018, 0x00200032, 0x00280010, 0x00280011, 0x00281050, 0x00280120))


def write(
    path: Path, pixels: NDArray[Any], syntax: UID = ExplicitVRLittleEndian, **elements: Any
) -> Path:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.2"
    meta.MediaStorageSOPInstanceUID = "1.2.3"
    meta.TransferSyntaxUID = syntax
    data = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    values = {
        "SpecificCharacterSet": "ISO_IR 100",
        "SOPInstanceUID": "1.2.3",
        "PatientName": "Mueller",
        "ImagePositionPatient": [-1.5, 2.25, 3],
        "Rows": pixels.shape[-2],
        "Columns": pixels.shape[-1],
        "SamplesPerPixel": 1,
        "PhotometricInterpretation": "MONOCHROME2",
        "BitsAllocated": 8 * pixels.dtype.itemsize,
        "BitsStored": 8 * pixels.dtype.itemsize,
        "HighBit": 8 * pixels.dtype.itemsize - 1,
        "PixelRepresentation": int(pixels.dtype.kind == "i"),
        "PixelPaddingValue": 0,
        "WindowCenter": 40,
        "PixelData": pixels.tobytes() + b"\0" * (pixels.nbytes % 2),
        **elements,
    }
    for keyword, value in values.items():
        setattr(data, keyword, value)
    data["PixelData"].VR = "OW" if pixels.dtype.itemsize == 2 else "OB"
    if syntax == RLELossless:
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        data.compress(RLELossless, generate_instance_uid=False)
    data.save_as(path, enforce_file_format=True)
    return path


def grey(dtype: str = "int16", shape: tuple[int, ...] = (5, 7)) -> NDArray[Any]:
    info = np.iinfo(dtype)
    return np.random.default_rng(3).integers(info.min, info.max, shape, dtype, endpoint=True)


def scan(path: Path) -> tuple[ScannedHeader | None, int]:
    with path.open("rb") as file:
        return scan_header(file, TAGS), file.tell()


def nested(*, undefined: bool) -> Sequence:
    inner = Dataset()
    inner.CodeValue = "1"
    item = Dataset()
    item.PurposeOfReferenceCodeSequence = Sequence([inner])
    item["PurposeOfReferenceCodeSequence"].is_undefined_length = undefined
    item.is_undefined_length_sequence_item = undefined
    return Sequence([item, item])


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, ImplicitVRLittleEndian, RLELossless])
@pytest.mark.parametrize("undefined", [True, False])
def test_a_header_is_what_pydicom_reads(tmp_path: Path, syntax: UID, *, undefined: bool) -> None:
    path = tmp_path / "slice.dcm"
    write(path, grey(), syntax, SourceImageSequence=nested(undefined=undefined))
    data = dcmread(path)
    data["SourceImageSequence"].is_undefined_length = undefined
    data.save_as(path)
    with path.open("rb") as file:
        expected = dcmread(file, stop_before_pixels=True, specific_tags=list(TAGS))
        place = file.tell()
    header, stands = scan(path)
    assert header is not None
    assert (stands, header.pixels_at) == (place, place)
    assert Dataset(header) == Dataset(expected)
    assert header.file_meta.TransferSyntaxUID == expected.file_meta.TransferSyntaxUID
    assert header.original_encoding == expected.original_encoding
    assert header.original_character_set == expected.original_character_set
    for keyword in ("ImagePositionPatient", "WindowCenter", "PixelPaddingValue", "PatientName"):
        assert header.get(keyword, "none") == expected.get(keyword, "none")


def test_a_header_of_another_byte_order_is_left_to_pydicom(tmp_path: Path) -> None:
    path = write(tmp_path / "slice.dcm", grey())
    data = dcmread(path)
    data.file_meta.TransferSyntaxUID = ExplicitVRBigEndian
    dcmwrite(path, data, implicit_vr=False, little_endian=False, force_encoding=True)
    assert scan(path) == (None, 0)


def test_a_wanted_sequence_without_a_length_is_left_to_pydicom(tmp_path: Path) -> None:
    path = write(tmp_path / "slice.dcm", grey(), SourceImageSequence=nested(undefined=True))
    data = dcmread(path)
    data["SourceImageSequence"].is_undefined_length = True
    data.save_as(path)
    with path.open("rb") as file:
        assert scan_header(file, {0x00082112}) is None


@pytest.mark.parametrize("length", [100, 140, 200, 400])
def test_a_header_that_ends_early_is_left_to_pydicom(tmp_path: Path, length: int) -> None:
    path = write(tmp_path / "slice.dcm", grey())
    path.write_bytes(path.read_bytes()[:length])
    assert scan(path) == (None, 0)


@pytest.mark.parametrize("dtype", ["int16", "uint16", "uint8", "int8"])
@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, ImplicitVRLittleEndian])
@pytest.mark.parametrize("frames", [1, 3])
def test_pixels_are_those_of_pydicom(tmp_path: Path, dtype: str, syntax: UID, frames: int) -> None:
    pixels = grey(dtype, (frames, 5, 7))
    path = write(tmp_path / "film.dcm", pixels, syntax, NumberOfFrames=frames)
    header = open_header(path)
    for k in range(frames):
        frame = stored_frame(path, header, k)
        expected = pixel_array(path, index=k)
        assert frame is not None
        assert frame.dtype == expected.dtype
        assert np.array_equal(frame, expected)
    assert stored_frame(path, header, frames) is None


@pytest.mark.parametrize(
    "elements", [{"BitsStored": 17}, {"SamplesPerPixel": 3}, {"Rows": 6}, {"NumberOfFrames": 2}]
)
def test_pixels_that_the_header_does_not_describe_are_left_to_pydicom(
    tmp_path: Path, elements: dict[str, int]
) -> None:
    path = write(tmp_path / "slice.dcm", grey(), **elements)
    header, _ = scan_all(path)
    assert stored_frame(path, header, 0) is None


def scan_all(path: Path) -> tuple[ScannedHeader, int]:
    with path.open("rb") as file:
        header = scan_header(file, frozenset(range(0x00280000, 0x00290000)))
    assert header is not None
    return header, header.pixels_at


def test_a_coded_frame_decodes_as_from_its_file(tmp_path: Path) -> None:
    pixels = grey("uint16", (9, 6))
    path = write(tmp_path / "slice.dcm", pixels, RLELossless)
    source = coded_frame(path, open_header(path))
    assert source is not None
    assert np.array_equal(pixel_array(source), pixels)


def test_frames_of_one_coded_file_are_left_to_pydicom(tmp_path: Path) -> None:
    path = write(tmp_path / "film.dcm", grey("uint16", (2, 5, 6)), RLELossless, NumberOfFrames=2)
    assert coded_frame(path, open_header(path)) is None

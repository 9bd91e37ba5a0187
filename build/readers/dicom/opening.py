"""Header of a DICOM file: named elements, after checks that it has an image of plausible size.

Messages contain file names and technical values only, never the content of a text element.
"""

from __future__ import annotations

import struct
import zlib
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

from pydicom import dcmread
from pydicom.datadict import tag_for_keyword
from pydicom.dataset import Dataset
from pydicom.filereader import read_file_meta_info
from pydicom.uid import DeflatedExplicitVRLittleEndian

from medrcube.build.readers.dicom import mosaic
from medrcube.build.readers.dicom.bits import check_bits
from medrcube.build.readers.dicom.header import TAGS
from medrcube.build.readers.dicom.header_scan import ScannedHeader, scan_header
from medrcube.build.readers.dicom.truncation import has_pixel_data, is_whole
from medrcube.build.readers.read_errors import (
    MOST_BYTES,
    check_pixels,
    check_size,
    truncated,
    unreadable,
)
from medrcube.errors import ReadError
from medrcube.sources._formats.dicom.quiet_pydicom import silent_pydicom

__all__ = [
    "DAMAGE",
    "check_deflated",
    "damaged_elements",
    "frames_of",
    "modality_of",
    "open_header",
]

DAMAGE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)
"""Exceptions raised when elements of the wrong kind are converted to numbers."""


_HEAD = 1024


_STEP = 1 << 20


@silent_pydicom()
def modality_of(path: Path) -> str:
    """Return the modality of a DICOM file, such as ``CT``, ``SEG`` or ``RTSTRUCT``.

    Raises:
        ReadError: code ``unreadable``.
    """
    try:
        with path.open("rb") as file:
            check_deflated(path, file)
            header = dcmread(file, stop_before_pixels=True, specific_tags=["Modality"], force=True)
            return str(header.get("Modality") or "")
    except (MemoryError, ReadError):
        raise
    except Exception as error:  # noqa: BLE001  # damaged elements raise nearly any type
        raise damaged_elements(path, error) from None


@silent_pydicom()
def open_header(path: Path, tags: tuple[str, ...] = TAGS) -> Dataset:
    """Read named elements of an image file, after a check that the pixel data are complete.

    Raises:
        ReadError: code ``no-pixels``, ``truncated``, ``unreadable``, ``localiser`` for a scout
            image, which shows where the slices lie and is not one of them, or ``mosaic`` for all
            slices of a volume as one image.
    """
    try:
        with path.open("rb") as file:
            header = _read_header(path, file, tags)
            _check_pixel_data(path, file, header)
        _convert(header, _numbers_of(tags))
        localiser = "LOCALIZER" in (header.get("ImageType") or ())
        tiled = bool(header.get("Rows")) and mosaic.is_mosaic(header)
        _check_numbers(path, header)
    except EOFError as error:
        raise truncated(path, "its header ends early") from error
    except (MemoryError, ReadError):
        raise
    except Exception as error:  # noqa: BLE001
        # Damaged elements raise almost any type; the message may quote their content.
        raise damaged_elements(path, error) from None
    if not header.get("Rows") or not header.get("Columns"):
        raise ReadError(
            f"{path.name}: is DICOM without an image (a report, a plan or a directory?); "
            "expected Rows and Columns",
            code="no-pixels",
        )
    if localiser:
        raise ReadError(
            f"{path.name}: is a localiser (scout), not an image of the study; leave it out",
            code="localiser",
        )
    if tiled:
        raise ReadError(
            f"{path.name}: is a Siemens mosaic, a sheet of tiles that are the slices of a volume; "
            "expected one slice: convert it with another tool (dcm2niix) or leave it out",
            code="mosaic",
        )
    return header


def _read_header(path: Path, file: BinaryIO, tags: tuple[str, ...]) -> Dataset:
    """Read the wanted elements; the file is left where its pixel data begin."""
    scanned = scan_header(file, _numbers_of((*tags, *mosaic.KEYWORDS)) | set(mosaic.PRIVATE))
    if scanned is not None:
        return scanned
    check_deflated(path, file)
    all_tags: list[Any] = [*tags, *mosaic.KEYWORDS, *mosaic.PRIVATE]
    return dcmread(file, stop_before_pixels=True, specific_tags=all_tags, force=True)


def _convert(header: Dataset, tags: frozenset[int]) -> None:
    """Convert the wanted elements, so that a damaged one is noticed here."""
    if isinstance(header, ScannedHeader):
        header.convert(tags)
        return
    for tag in header.keys() & tags:
        header[tag]


@cache
def _numbers_of(keywords: tuple[str, ...]) -> frozenset[int]:
    """Return the tags of elements, given their keywords."""
    return frozenset(tag for word in keywords if (tag := tag_for_keyword(word)) is not None)


def frames_of(path: Path, header: Dataset) -> int:
    """Return the number of frames.

    Raises:
        ReadError: code ``truncated`` if the file is too short for that many.
    """
    count = int(header.get("NumberOfFrames") or 1)
    # An encoded frame has at least eight bytes, a native one at least a bit for each pixel.
    if count > path.stat().st_size and not _is_deflated(header):
        raise truncated(path, f"declares {count} frames, more than it has bytes")
    return count


def _is_deflated(header: Dataset) -> bool:
    syntax = header.file_meta.get("TransferSyntaxUID")
    return syntax is not None and bool(syntax.is_deflated)


def _check_numbers(path: Path, header: Dataset) -> None:
    """Reject an image that does not fit in memory, and invalid numbers."""
    rows, columns, samples, bits, frames = (
        int(header.get(keyword) or 1)
        for keyword in ("Rows", "Columns", "SamplesPerPixel", "BitsAllocated", "NumberOfFrames")
    )
    if min(rows, columns, samples, bits, frames) < 1:
        raise unreadable(path, "has a size, a depth or a number of frames below 1")
    check_pixels(path, (rows, columns))
    size = rows * columns * samples * bits // 8
    check_size(path, size)
    check_bits(path, header)
    syntax = header.file_meta.get("TransferSyntaxUID")
    bare = syntax is not None and not syntax.is_encapsulated and not syntax.is_deflated
    # Chroma subsampling may halve the stored size of colour (YBR_FULL_422).
    if header.get("Rows") and bare and size // 2 > path.stat().st_size:
        raise truncated(path, f"declares {size} bytes of pixels, more than it has")


def check_deflated(path: Path, file: BinaryIO) -> None:
    """Reject a deflated dataset that would exhaust memory: pydicom inflates it as a whole.

    Raises:
        ReadError: code ``too-large``.
    """
    deflated = DeflatedExplicitVRLittleEndian.encode() in file.read(_HEAD)
    file.seek(0)
    if not deflated:
        return
    # Preamble and prefix, the group length element, and the group (PS3.10 7.1).
    file.seek(132 + 12 + int(read_file_meta_info(path).FileMetaInformationGroupLength))
    stream, size = zlib.decompressobj(-zlib.MAX_WBITS), 0
    while size <= MOST_BYTES and (data := stream.unconsumed_tail or file.read(_STEP)):
        size += len(stream.decompress(data, _STEP))
    check_size(path, size)
    file.seek(0)


def _check_pixel_data(path: Path, file: BinaryIO, header: Dataset) -> None:
    syntax = header.file_meta.get("TransferSyntaxUID")
    # Deflated files are one stream: pydicom inflates them as a whole, or fails.
    if not header.get("Rows") or syntax is None or syntax.is_deflated:
        return
    if not has_pixel_data(file, syntax):
        raise ReadError(f"{path.name}: has an image's header but no pixel data", code="no-pixels")
    if not is_whole(file, syntax):
        raise truncated(path, "its pixel data end early")


def damaged_elements(path: Path, error: Exception) -> ReadError:
    """Return the error for damaged elements, without quoting them: they may hold identifiers."""
    return unreadable(
        path, f"has damaged DICOM elements ({error.__class__.__name__}); get the file again"
    )

"""DICOM image reader (pydicom): frames on demand, named elements only.

Messages carry file names and technical values only, never the content of a text element.
"""

from __future__ import annotations

import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.filereader import read_file_meta_info
from pydicom.pixels.decoders.base import get_decoder
from pydicom.pixels.processing import apply_color_lut
from pydicom.pixels.utils import pixel_array
from pydicom.uid import UID, DeflatedExplicitVRLittleEndian, JPEGBaseline8Bit, JPEGExtended12Bit

from medrcube.build.pixels.volume import (
    Array,
    LazySlices,
    PixelSemantics,
    Volume,
    without_equal_channels,
)
from medrcube.build.readers.dicom import mosaic
from medrcube.build.readers.dicom.bits import check_bits, stored_values
from medrcube.build.readers.dicom.header import (
    TAGS,
    geometry_of,
    pixel_millimetres,
    pixel_semantics_of,
    rescale_of,
)
from medrcube.build.readers.dicom.truncation import has_pixel_data, is_whole
from medrcube.build.readers.read_errors import (
    MOST_BYTES,
    check_finite,
    check_frame,
    check_pixels,
    check_size,
    truncated,
    unreadable,
    unsupported,
)
from medrcube.errors import ReadError
from medrcube.sources._formats.quiet_pydicom import silent_pydicom

__all__ = [
    "AS_SHOWN",
    "COLOUR",
    "DAMAGE",
    "GREY",
    "PALETTE",
    "check_deflated",
    "damaged_elements",
    "decode_frame",
    "decode_stored",
    "frames_of",
    "modality_of",
    "open_header",
    "read",
]

GREY = ("MONOCHROME1", "MONOCHROME2")
COLOUR = ("RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT")
PALETTE = "PALETTE COLOR"
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
"""What elements of the wrong kind raise when numbers are made of them."""
_HEAD = 1024
_STEP = 1 << 20
_LOSSY_JPEG = (JPEGBaseline8Bit, JPEGExtended12Bit)
# A window that leaves 8-bit values as they are: colour that turned out grey is ready to show.
AS_SHOWN = PixelSemantics(windows=((128.0, 256.0),))


@silent_pydicom()
def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read one file; frames of a multi-frame file are decoded when they are asked for.

    Grey frames are stored values, whose meaning ``PixelSemantics`` gives. Where the slices of one
    body are scaled differently, as in PET, they are modality values (float32) instead. Colour is
    RGB; a single picture without colour becomes grey, while a stack that is decoded on demand
    stays RGB.

    Raises:
        ReadError: code ``no-pixels``, ``unsupported-syntax`` (retired codings),
            ``unsupported-format``, ``unreadable``, ``truncated``, ``missing-frame``,
            ``singular-affine``, ``not-finite``, ``mosaic``, ``several-scales`` (frames that are
            scaled differently and are no slices of one body: several kinds of picture).
    """
    header = open_header(path)
    count = frames_of(path, header)
    check_frame(path, frame, count)
    frames = range(count) if frame is None else range(frame, frame + 1)
    try:
        spacing, affine = geometry_of(header, frames)
        measured = pixel_millimetres(header, frames[0]) is not None
        greys = pixel_semantics_of(header, frames)
        rescales = [rescale_of(header, k) for k in frames]
    except ReadError as error:
        raise ReadError(f"{path.name}: {error}", code=error.code) from error
    except DAMAGE as error:
        raise damaged_elements(path, error) from None
    photometric = str(header.get("PhotometricInterpretation", ""))
    if photometric not in (*GREY, *COLOUR, PALETTE):
        raise unsupported(path, "has a photometric interpretation that is not read")
    colour = photometric not in GREY
    if len(frames) == 1:
        picture = without_equal_channels(decode_frame(path, header, frames[0]))
        if colour:
            greys = AS_SHOWN
        return Volume(
            slices=picture[None],
            spacing=spacing,
            measured=measured,
            affine=affine,
            greys=greys,
            slice_ids=_ids(header, count),
        )
    mixed = not colour and len(set(rescales)) > 1
    if mixed and affine is None:
        raise ReadError(
            f"{path.name}: its {count} frames are scaled in {len(set(rescales))} ways and do not "
            "lie evenly in space, so they are several kinds of image and no film; the adapter "
            "must name one as ImageRef.frame",
            code="several-scales",
        )
    return Volume(
        slices=_Frames(path, header, count, rescales if mixed else None),
        spacing=spacing,
        measured=measured,
        affine=affine,
        greys=AS_SHOWN if colour else greys,
    )


@silent_pydicom()
def modality_of(path: Path) -> str:
    """What kind of object a DICOM file is, such as ``CT``, ``SEG`` or ``RTSTRUCT``.

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


def _ids(header: Dataset, frames: int) -> dict[str, int]:
    """A multi-frame file has one identity for all its frames: it names no slice."""
    uid = str(header.get("SOPInstanceUID") or "")
    return {uid: 0} if uid and frames == 1 else {}


class _Frames(LazySlices):
    """All frames of a file, decoded one by one; the first tells shape and type of all."""

    def __init__(
        self,
        path: Path,
        header: Dataset,
        count: int,
        rescales: list[tuple[float, float]] | None,
    ) -> None:
        self._path = path
        self._header = header
        self._rescales = rescales
        first = self._scaled(0)
        super().__init__((count, *first.shape), first.dtype)

    def _picture(self, k: int) -> Array:
        picture = self._scaled(k)
        if picture.shape != self.shape[1:] or picture.dtype != self.dtype:
            raise unreadable(
                self._path,
                f"frame {k} has {picture.shape} {picture.dtype} pixels where frame 0 has "
                f"{self.shape[1:]} {self.dtype}",
            )
        return picture

    def _scaled(self, k: int) -> Array:
        picture = decode_frame(self._path, self._header, k)
        if self._rescales is None:
            return picture
        slope, intercept = self._rescales[k]
        return (picture * slope + intercept).astype(np.float32)


@silent_pydicom()
def open_header(path: Path, tags: tuple[str, ...] = TAGS) -> Dataset:
    """Named elements of a file with a picture, after a check that the pixel data are whole.

    Raises:
        ReadError: code ``no-pixels``, ``truncated``, ``unreadable``, ``localiser`` for a scout
            image, which shows where the slices lie and is none of them, or ``mosaic`` for all
            slices of a volume as one picture.
    """
    try:
        with path.open("rb") as file:
            check_deflated(path, file)
            wanted: list[Any] = [*tags, *mosaic.KEYWORDS, *mosaic.PRIVATE]
            header = dcmread(file, stop_before_pixels=True, specific_tags=wanted, force=True)
            _check_pixel_data(path, file, header)
        for keyword in tags:
            header.get(keyword)
        localiser = "LOCALIZER" in (header.get("ImageType") or ())
        tiled = bool(header.get("Rows")) and mosaic.is_mosaic(header)
        _check_numbers(path, header)
    except EOFError as error:
        raise truncated(path, "its header ends early") from error
    except (MemoryError, ReadError):
        raise
    except Exception as error:  # noqa: BLE001
        # Damaged elements raise nearly any type; the message may quote their content.
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


def frames_of(path: Path, header: Dataset) -> int:
    """Number of frames.

    Raises:
        ReadError: code ``truncated`` when the file is too short for that many.
    """
    count = int(header.get("NumberOfFrames") or 1)
    # A coded frame has eight bytes at least, a stored one a bit for each pixel.
    if count > path.stat().st_size and not _is_deflated(header):
        raise truncated(path, f"promises {count} frames, more than it has bytes")
    return count


def _is_deflated(header: Dataset) -> bool:
    syntax = header.file_meta.get("TransferSyntaxUID")
    return syntax is not None and bool(syntax.is_deflated)


def _check_numbers(path: Path, header: Dataset) -> None:
    """Refuse a picture that no memory holds, and numbers that are none."""
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
    # Colour may be stored at half the size (YBR_FULL_422).
    if header.get("Rows") and bare and size // 2 > path.stat().st_size:
        raise truncated(path, f"promises {size} bytes of pixels, more than it has")


def check_deflated(path: Path, file: BinaryIO) -> None:
    """Refuse a deflated data set that would fill the memory: pydicom inflates it as a whole.

    Raises:
        ReadError: code ``too-large``.
    """
    deflated = DeflatedExplicitVRLittleEndian.encode() in file.read(_HEAD)
    file.seek(0)
    if not deflated:
        return
    # Preamble and prefix, the element of the group length, and the group (PS3.10 7.1).
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


@silent_pydicom()
def decode_frame(path: Path, header: Dataset, k: int) -> Array:
    """Frame ``k`` as stored, or as RGB in uint8.

    Raises:
        ReadError: as ``read``.
    """
    syntax = _checked_syntax(path, header)
    try:
        source = _inflated(path) if syntax.is_deflated else path
        picture = decode_stored(source, header, k)
        if header.PhotometricInterpretation == PALETTE:
            picture = _eight_bit(apply_color_lut(picture, header))
    except EOFError:
        raise truncated(path, "its pixel data end early") from None
    except (AttributeError, ValueError) as error:
        raise damaged_elements(path, error) from None
    except BaseException as error:
        # The RLE decoder is Rust: its panics are no Exception (PyO3).
        panic = type(error).__name__ == "PanicException"
        if isinstance(error, MemoryError) or not (isinstance(error, Exception) or panic):
            raise
        raise unreadable(
            path,
            f"{syntax.name} with {header.get('BitsStored')} stored bits could not be decoded "
            f"({error.__class__.__name__}); decompress it with another tool or leave it out",
        ) from error
    if picture.ndim == 3 and picture.dtype != np.uint8:
        raise unsupported(path, f"is coloured with {picture.dtype} channels; expected 8 bits")
    check_finite(path, picture)
    return picture.astype(picture.dtype.newbyteorder("="), copy=False)


def decode_stored(source: Path | Dataset, header: Dataset, k: int) -> Array:
    """Frame ``k`` by the decoders that survive damaged files; OpenJPEG goes before Pillow.

    GDCM, which pydicom tries first, ends the whole process on damaged JPEG, and takes a sixth
    longer for JPEG 2000. Pillow decodes lossy JPEG to the same pixels as GDCM.

    Raises:
        RuntimeError: no decoder can.
        ValueError: the file holds no such frame.
    """
    return stored_values(header, _decoded(source, header.file_meta.TransferSyntaxUID, k))


def _decoded(source: Path | Dataset, syntax: UID, k: int) -> Array:
    """Frame ``k`` with all bits that it came in: pydicom would clear some, by other rules."""
    if not syntax.is_encapsulated:
        view = isinstance(source, Path)  # nobody writes into stored pixels: they need no copy
        return pixel_array(source, index=k, view_only=view, correct_unused_bits=False)
    plugins = get_decoder(syntax).available_plugins
    order = ("pillow", "pylibjpeg") if syntax in _LOSSY_JPEG else ("pylibjpeg", "pydicom", "pillow")
    safe = [name for name in order if name in plugins] or [""]
    for name in safe[:-1]:
        with suppress(RuntimeError):  # what it cannot decode, others may
            return _by(name, source, k)
    return _by(safe[-1], source, k)


def _by(plugin: str, source: Path | Dataset, k: int) -> Array:
    return pixel_array(source, index=k, decoding_plugin=plugin, correct_unused_bits=False)


def _inflated(path: Path) -> Dataset:
    """A deflated file as a whole: pydicom finds no single frame in it by its path."""
    return dcmread(path, specific_tags=[*TAGS, "PixelData"], force=True)


def _checked_syntax(path: Path, header: Dataset) -> UID:
    syntax = header.file_meta.get("TransferSyntaxUID") if hasattr(header, "file_meta") else None
    if syntax is None:
        raise unreadable(path, "does not say how its pixels are coded (no transfer syntax)")
    try:
        decoder = get_decoder(syntax)
    except NotImplementedError:
        raise ReadError(
            f"{path.name}: is coded as {syntax.name}, which no decoder here knows; decompress "
            "it with another tool (gdcmconv, dcmdjpeg) or leave it out",
            code="unsupported-syntax",
        ) from None
    if not decoder.is_available:
        raise ReadError(
            f"{path.name}: is coded as {syntax.name}, whose decoder is not installed: run  "
            "pip install 'medrcube[build]'",
            code="missing-decoder",
        )
    return UID(syntax)


def _eight_bit(picture: Array) -> Array:
    """Palettes of 16 bits as 8; some writers keep 8-bit colours in 16-bit entries."""
    if picture.dtype == np.uint8:
        return picture
    return (picture >> 8 if picture.max() > 255 else picture).astype(np.uint8)


def damaged_elements(path: Path, error: Exception) -> ReadError:
    """Damaged elements; the message does not quote them, for they may hold an identifier."""
    return unreadable(
        path, f"has damaged DICOM elements ({error.__class__.__name__}); get the file again"
    )

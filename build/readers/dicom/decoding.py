"""DICOM frames as arrays, by decoders that survive damaged files."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import numpy as np
from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.pixels.decoders.base import get_decoder
from pydicom.pixels.processing import apply_color_lut
from pydicom.pixels.utils import pixel_array
from pydicom.uid import UID, JPEGBaseline8Bit, JPEGExtended12Bit

from medrcube.build.pixels.volume import Array
from medrcube.build.readers.dicom.bits import stored_values
from medrcube.build.readers.dicom.direct_decoding import decode_directly
from medrcube.build.readers.dicom.header import TAGS
from medrcube.build.readers.dicom.opening import damaged_elements
from medrcube.build.readers.dicom.pixel_element import coded_frame, stored_frame
from medrcube.build.readers.read_errors import check_finite, truncated, unreadable, unsupported
from medrcube.errors import ReadError
from medrcube.sources._formats.dicom.quiet_pydicom import silent_pydicom

__all__ = ["PALETTE", "decode_frame", "decode_stored"]

PALETTE = "PALETTE COLOR"


_LOSSY_JPEG = (JPEGBaseline8Bit, JPEGExtended12Bit)


@silent_pydicom()
def decode_frame(path: Path, header: Dataset, k: int) -> Array:
    """Decode frame ``k`` as stored, or as RGB in uint8.

    Raises:
        ReadError: as ``read``.
    """
    syntax = _checked_syntax(path, header)
    try:
        source = _inflated(path) if syntax.is_deflated else path
        picture = decode_stored(source, header, k)
        if header.get("PhotometricInterpretation") == PALETTE:
            picture = _eight_bit(apply_color_lut(picture, header))
    except EOFError:
        raise truncated(path, "its pixel data end early") from None
    except (AttributeError, ValueError) as error:
        raise damaged_elements(path, error) from None
    except BaseException as error:
        # The RLE decoder is written in Rust; its panics are not subclasses of Exception (PyO3).
        panic = type(error).__name__ == "PanicException"
        if isinstance(error, MemoryError) or not (isinstance(error, Exception) or panic):
            raise
        raise unreadable(
            path,
            f"{syntax.name} with {header.get('BitsStored')} stored bits could not be decoded "
            f"({error.__class__.__name__}); decompress it with another tool, or exclude it",
        ) from error
    if picture.ndim == 3 and picture.dtype != np.uint8:
        raise unsupported(path, f"is a colour image with {picture.dtype} channels; expected 8 bits")
    check_finite(path, picture)
    return picture.astype(picture.dtype.newbyteorder("="), copy=False)


def decode_stored(source: Path | Dataset, header: Dataset, k: int) -> Array:
    """Decode frame ``k`` with decoders that survive damaged files; OpenJPEG is tried before Pillow.

    GDCM, which pydicom tries first, kills the whole process on damaged JPEG, and takes a sixth
    longer for JPEG 2000. Pillow decodes lossy JPEG to the same pixels as GDCM.

    Raises:
        RuntimeError: no decoder can decode it.
        ValueError: the file holds no such frame.
    """
    return stored_values(header, _decoded(source, header, k))


def _decoded(source: Path | Dataset, header: Dataset, k: int) -> Array:
    """Return frame ``k`` with all allocated bits; pydicom would clear some, by other rules."""
    syntax = header.file_meta.TransferSyntaxUID
    if not syntax.is_encapsulated:
        frame = stored_frame(source, header, k) if isinstance(source, Path) else None
        if frame is not None:
            return frame
        view = isinstance(source, Path)  # stored pixels are never written to, so no copy is needed
        return pixel_array(source, index=k, view_only=view, correct_unused_bits=False)
    if isinstance(source, Path):
        frame = decode_directly(source, header) if k == 0 else None
        if frame is not None:
            return frame
        source = coded_frame(source, header) or source
    plugins = get_decoder(syntax).available_plugins
    order = ("pillow", "pylibjpeg") if syntax in _LOSSY_JPEG else ("pylibjpeg", "pydicom", "pillow")
    safe = [name for name in order if name in plugins] or [""]
    for name in safe[:-1]:
        with suppress(RuntimeError):  # try the next decoder
            return _by(name, source, k)
    return _by(safe[-1], source, k)


def _by(plugin: str, source: Path | Dataset, k: int) -> Array:
    return pixel_array(source, index=k, decoding_plugin=plugin, correct_unused_bits=False)


def _inflated(path: Path) -> Dataset:
    """Read a deflated file as a whole, in which pydicom cannot locate single frames by path."""
    return dcmread(path, specific_tags=[*TAGS, "PixelData"], force=True)


def _checked_syntax(path: Path, header: Dataset) -> UID:
    syntax = header.file_meta.get("TransferSyntaxUID") if hasattr(header, "file_meta") else None
    if syntax is None:
        raise unreadable(path, "has no transfer syntax, so the coding of its pixels is unknown")
    entry = _known_syntax(syntax)
    if entry is None:
        raise ReadError(
            f"{path.name}: is coded as {syntax.name}, which is not supported; decompress "
            "it with another tool (gdcmconv, dcmdjpeg) or leave it out",
            code="unsupported-syntax",
        )
    uid, is_available = entry
    if not is_available:
        raise ReadError(
            f"{path.name}: is coded as {syntax.name}, whose decoder is not installed: run  "
            "pip install 'medrcube[build]'",
            code="missing-decoder",
        )
    return uid


@lru_cache(maxsize=64)
def _known_syntax(syntax: str) -> tuple[UID, bool] | None:
    """Return a transfer syntax and whether its decoder is installed; ``None`` if pydicom has none.

    Kept from slice to slice, since pydicom checks a UID whenever it is made.
    """
    try:
        return UID(syntax), bool(get_decoder(syntax).is_available)
    except NotImplementedError:
        return None


def _eight_bit(picture: Array) -> Array:
    """Convert 16-bit palettes to 8 bits; some writers keep 8-bit colours in 16-bit entries."""
    if picture.dtype == np.uint8:
        return picture
    return (picture >> 8 if picture.max() > 255 else picture).astype(np.uint8)

"""Stored bits of DICOM pixels (PS3.5 8.1.1).

A pixel of ``BitsAllocated`` bits holds a value of ``BitsStored`` bits, the highest of which is
``HighBit``. The other bits are undefined: older files keep overlays there, and some encoders fill
them.
"""

from __future__ import annotations

from pathlib import Path

from pydicom.dataset import Dataset
from pydicom.uid import RLELossless

from medrcube.build.pixels.volume import Array
from medrcube.build.readers.read_errors import unreadable, unsupported

__all__ = ["check_bits", "stored_values"]


def check_bits(path: Path, header: Dataset) -> None:
    """Reject a bit position that does not exist, or that the transfer syntax cannot have.

    RLE encodes the bytes of a pixel as they are; other encodings hold integers, whose stored bits
    end at bit 0.

    Raises:
        ReadError: code ``unreadable`` or ``unsupported-format``.
    """
    allocated, bits_stored, high = (
        header.get(keyword) for keyword in ("BitsAllocated", "BitsStored", "HighBit")
    )
    if not bits_stored or high is None or high == bits_stored - 1:
        return
    if not bits_stored - 1 <= high < (allocated or 0):
        raise unreadable(
            path,
            f"states that its {bits_stored} stored bits end at bit {high} of {allocated}; expected "
            f"HighBit {bits_stored - 1}",
        )
    syntax = header.file_meta.get("TransferSyntaxUID")
    if syntax is not None and syntax.is_encapsulated and syntax != RLELossless:
        raise unsupported(
            path,
            f"is coded as {syntax.name} with HighBit {high} for {bits_stored} stored bits; "
            f"expected {bits_stored - 1}: decompress it with another tool "
            "(gdcmconv, dcmdjpeg) or leave it out",
        )


def stored_values(header: Dataset, pixels: Array) -> Array:
    """Return the values of the stored bits, sign-extended; the input array if nothing changes.

    Args:
        header: states which bits are stored.
        pixels: array from the file or a decoder, signed if the header says so.
    """
    bits_stored = header.get("BitsStored")
    if pixels.dtype.kind not in "iu" or not bits_stored or header.get("BitsAllocated") == 1:
        return pixels
    high = header.get("HighBit")
    high = bits_stored - 1 if high is None else high
    above = 8 * pixels.dtype.itemsize - 1 - high
    below = high + 1 - bits_stored
    if above < 0 or (above == 0 and below == 0):
        return pixels
    if below == 0 and _fits(pixels, high + 1):
        return pixels
    values: Array = pixels << above >> (above + below)
    return values


def _fits(pixels: Array, bits: int) -> bool:
    """Whether every pixel fits in ``bits`` bits, so that the bits above carry nothing else."""
    if pixels.dtype.kind == "u":
        return int(pixels.max()) < 1 << bits
    return -(1 << bits - 1) <= int(pixels.min()) and int(pixels.max()) < 1 << bits - 1

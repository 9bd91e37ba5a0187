"""Bytes of a tar shard that are not image bytes.

A shard is a plain ustar archive whose headers depend on name and size of each member alone: time,
owner and group are zero. So the bytes of a shard follow from its index and its images, whatever
machine writes it, and a reader can verify every byte without an archive library.
"""

from __future__ import annotations

import struct

__all__ = ["BLOCK", "END", "LONGEST_NAME", "member_header", "padding"]

BLOCK = 512
"""Headers and members start at multiples of this."""

END = bytes(2 * BLOCK)
"""End of an archive."""

LONGEST_NAME = 400
"""Most bytes of a member's name: a long file name in a short folder."""

_SHORT_NAME = 100
_LARGEST = 8**11 - 1
_HEADER = struct.Struct("100s8s8s8s12s12s8s1s100s6s2s32s32s8s8s155s12x")
"""POSIX.1-1988 (ustar): name, mode, uid, gid, size, mtime, checksum, type, link, magic, version,
user, group, major, minor, prefix.
"""
_BLANK_CHECKSUM = b" " * 8


def member_header(name: str, size: int) -> bytes:
    """Return the blocks before a member: its header, after one with its name if that is long.

    Args:
        name: path in the archive, at most ``LONGEST_NAME`` bytes.
        size: size in bytes.

    Raises:
        ValueError: a header cannot hold name or size.
    """
    encoded = name.encode("utf-8")
    if not 0 < len(encoded) <= LONGEST_NAME or not 0 <= size <= _LARGEST:
        raise ValueError(f"a tar header cannot hold the name {name!r} with {size:,} bytes")
    header = _header(encoded, size, b"0")
    if len(encoded) <= _SHORT_NAME:
        return header
    # GNU tar's form of a long name, which every tar program reads.
    name_data = encoded + b"\0"
    return (
        _header(b"././@LongLink", len(name_data), b"L")
        + name_data
        + padding(len(name_data))
        + header
    )


def padding(size: int) -> bytes:
    """Return the zero bytes between the end of a member and the next block."""
    return bytes(-size % BLOCK)


def _header(name: bytes, size: int, kind: bytes) -> bytes:
    checksum = sum(_packed(name, size, kind, _BLANK_CHECKSUM))
    return _packed(name, size, kind, b"%06o\0 " % checksum)


def _packed(name: bytes, size: int, kind: bytes, checksum: bytes) -> bytes:
    zero = b"%07o\0" % 0
    numbers = (b"%07o\0" % 0o644, zero, zero, b"%011o\0" % size, b"%011o\0" % 0, checksum)
    ends = (b"", b"ustar\0", b"00", b"", b"", zero, zero, b"")
    return _HEADER.pack(name[:_SHORT_NAME], *numbers, kind, *ends)

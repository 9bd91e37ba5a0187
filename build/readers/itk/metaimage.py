"""MetaImage reader (``.mhd`` with ``.raw``, ``.mha``), through ITK."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import Any

from medrcube.build.pixels.volume import Volume
from medrcube.build.readers.ascii_paths import ascii_path
from medrcube.build.readers.deflate import unpacked_length
from medrcube.build.readers.itk.itk_images import check_pixel_file, load_with_itk, volume_of
from medrcube.build.readers.read_errors import truncated, unreadable

__all__ = ["read"]

_DATA_FILE = re.compile(rb"^\s*ElementDataFile\s*=([^\r\n]*)", re.MULTILINE)
_AXES = re.compile(rb"^\s*NDims\s*=\s*(\d{1,9})\s*$", re.MULTILINE)
_PACKED = re.compile(rb"^\s*CompressedData\s*=\s*True\s*$", re.MULTILINE | re.IGNORECASE)
_TEXT = re.compile(rb"^\s*BinaryData\s*=\s*False\s*$", re.MULTILINE | re.IGNORECASE)
_HEADER_SIZE = re.compile(rb"^\s*HeaderSize\s*=\s*(-?\d{1,12})\s*$", re.MULTILINE)
_MOST_AXES = 5
_LONGEST_HEADER = 1 << 16


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read a 2-D, 3-D or 4-D MetaImage; ITK's LPS coordinates become RAS.

    Raises:
        ReadError: code ``truncated`` (also when the ``.raw`` file is missing or short),
            ``unreadable``, ``outside-root``, ``too-large``, ``unsupported-format``,
            ``singular-affine``, ``not-finite``, ``missing-frame``.
    """
    return volume_of(path, _load(path), frame)


def _load(path: Path) -> Any:
    pixels = _check_header(path)
    with ascii_path(path, [] if pixels == "LOCAL" else [pixels]) as link:
        return load_with_itk(path, link, "MetaImageIO", partial(_check_length, path, pixels))


def _check_header(path: Path) -> str:
    """Return the name of the pixel file, ``LOCAL`` for the file itself.

    Rejects a header that crashes ITK, or that leads to files that no case names.
    """
    with path.open("rb") as file:
        head = file.read(_LONGEST_HEADER)
    axes, match = _AXES.search(head), _DATA_FILE.search(head)
    if axes is None or not 1 <= int(axes[1]) <= _MOST_AXES:
        raise unreadable(path, f"has no number of axes (NDims) from 1 to {_MOST_AXES}")
    name = os.fsdecode(match[1]).strip() if match else ""
    if not name:
        raise unreadable(path, "does not say where its pixels are (ElementDataFile)")
    check_pixel_file(path, name)
    return name


def _check_length(path: Path, pixels: str, promised: int) -> None:
    """Reject a file that ends before its last voxel: ITK makes up missing values.

    Compressed data are decompressed piece by piece; for numbers written as text the length is
    unknown.

    Raises:
        ReadError: code ``truncated``.
    """
    local = pixels.upper() == "LOCAL"
    file = path if local else path.parent / pixels
    with path.open("rb") as header:
        head = header.read(_LONGEST_HEADER)
    if _TEXT.search(head):
        return
    match = _DATA_FILE.search(head)
    begin = head.find(b"\n", match.end()) + 1 if local and match else _skipped(head)
    if not file.is_file():
        raise truncated(path, f"its pixel file {file.name} is missing")
    if _PACKED.search(head):
        there = unpacked_length(file, begin, promised)
    else:
        # HeaderSize = -1 puts the pixels at the end of the file, whatever precedes them.
        there = file.stat().st_size - max(begin, 0)
    if there < promised:
        raise truncated(
            path, f"declares {promised:,} bytes of pixels but {file.name} holds {max(there, 0):,}"
        )


def _skipped(head: bytes) -> int:
    match = _HEADER_SIZE.search(head)
    return int(match[1]) if match else 0

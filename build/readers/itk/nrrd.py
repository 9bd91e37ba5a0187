"""NRRD reader (``.nrrd``, ``.nhdr`` with its pixel file), through ITK."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from medrcube.build.pixels.volume import Volume
from medrcube.build.readers.ascii_paths import ascii_path
from medrcube.build.readers.deflate import unpacked_length
from medrcube.build.readers.itk.itk_images import check_pixel_file, load_with_itk, volume_of
from medrcube.build.readers.read_errors import truncated, unreadable

__all__ = ["read"]

_LONGEST_HEADER = 1 << 16
_END = re.compile(rb"\r?\n\r?\n")
_FIELD = re.compile(r"([a-z ]+): *(.*)", re.IGNORECASE)
_MOST_AXES = 5
_PLACED = frozenset(
    {"right-anterior-superior", "ras", "left-anterior-superior", "las"}
    | {"left-posterior-superior", "lps"}
)
"""Spaces that define the direction of the axes in the patient; ITK converts each of them to LPS."""
_COUNTED = frozenset({"raw", "gzip", "gz"})


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read a 2-D, 3-D or 4-D NRRD; without a patient space it has no affine.

    Raises:
        ReadError: code ``truncated`` (also if its pixel file is missing or short), ``unreadable``,
            ``outside-root``, ``too-large``, ``unsupported-format``, ``singular-affine``,
            ``not-finite``, ``missing-frame``.
    """
    fields, begin = _header(path)
    pixels = _pixel_file(path, fields)
    with ascii_path(path, [pixels] if pixels else []) as link:
        check_length = partial(_check_length, path, pixels, fields, begin)
        image = load_with_itk(path, link, "NrrdImageIO", check_length)
    placed = fields.get("space", "").lower() in _PLACED and "space directions" in fields
    return volume_of(path, image, frame, placed=placed)


def _header(path: Path) -> tuple[dict[str, str], int]:
    """Return the fields by lower-case name, and the offset of pixels after an attached header."""
    with path.open("rb") as file:
        head = file.read(_LONGEST_HEADER)
    end = _END.search(head)
    text = head[: end.start() if end else None].decode("latin-1")
    fields: dict[str, str] = {}
    for line in text.splitlines()[1:]:
        match = _FIELD.match(line)
        if match and not line.startswith("#") and not line.startswith(match[1] + ":="):
            name = {"datafile": "data file"}.get(match[1].lower(), match[1].lower())
            if name in fields:
                raise unreadable(path, f"states {name!r} twice; get the file again")
            fields[name] = match[2].strip()
    axes = fields.get("dimension", "")
    if not axes.isdecimal() or not 1 <= int(axes) <= _MOST_AXES:
        raise unreadable(path, f"has no number of axes (dimension) from 1 to {_MOST_AXES}")
    if end is None and "data file" not in fields:
        raise truncated(path, "ends within its header")
    return fields, end.end() if end else len(head)


def _pixel_file(path: Path, fields: dict[str, str]) -> str:
    """Return the name of the pixel file; empty for the file itself.

    Rejects a header that leads to files that no case names.
    """
    name = fields.get("data file", "").removeprefix("./")
    check_pixel_file(path, name)
    if name and not (path.parent / name).is_file():
        raise truncated(path, f"its pixel file {name} is missing")
    return name


def _check_length(
    path: Path, pixels: str, fields: dict[str, str], begin: int, promised: int
) -> None:
    """Reject a file that ends before its last voxel; skipped parts and text have no known length.

    Raises:
        ReadError: code ``truncated``.
    """
    file = path.parent / pixels if pixels else path
    encoding = fields.get("encoding", "").lower()
    if encoding not in _COUNTED or not {"line skip", "byte skip"}.isdisjoint(fields):
        return
    begin = 0 if pixels else begin
    if encoding == "raw":
        there = file.stat().st_size - begin
    else:
        there = unpacked_length(file, begin, promised)
    if there < promised:
        raise truncated(
            path, f"declares {promised:,} bytes of pixels but {file.name} holds {max(there, 0):,}"
        )

"""File and PNG check: checksum, pixel hash, and chunks without pixels.

Images are untrusted input. The declared size is bounded, data are inflated in blocks and never
beyond the pixels, and every chunk without pixels is reported: text, EXIF and colour profiles can
identify a patient or a photographer.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.errors import ReleaseError
from medrcube.release_format.tree import LARGEST_PICTURE, open_file

__all__ = ["FileCheck", "check_file", "check_files", "check_picture"]

MOST_PIXELS = 89_478_485
"""Pillow takes a larger image for a decompression bomb."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = struct.Struct(">8s4x4sIIBBBBB4x")
"""Signature, then the first chunk: name, width, height, bits, colour type, three methods."""
_TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME"})
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_COLOURS = {3: "a palette", 4: "grey with alpha", 6: "colour with alpha"}
_UP = 2
_BLOCK = 2**22
_LIST_LIMIT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """Result of checking a file.

    Attributes:
        name: its path in the tree.
        sha256: digest of its bytes; ``None`` if it cannot be read.
        pixel_sha256: pixel hash of the image; ``None`` if it is not an image in the form that we
            write.
        size: width and height of the image in pixels; ``None`` if not stated.
        faults: (name of the check, what was found).
    """

    name: str
    sha256: str | None
    pixel_sha256: str | None = None
    size: tuple[int, int] | None = None
    faults: tuple[tuple[str, str], ...] = ()


def check_file(root: Path, name: str, *, picture: bool) -> FileCheck:
    """Read one file of a tree, and decode it if it should be an image."""
    try:
        with open_file(root, root / name) as file:
            if not picture:
                return FileCheck(name=name, sha256=_digest(file))
            return check_picture(name, file)
    except (ReleaseError, OSError) as error:
        return FileCheck(name=name, sha256=None, faults=(("special", f"{name}: {error}"),))


def check_files(root: Path, names: list[tuple[str, bool]]) -> list[FileCheck]:
    """``check_file`` for many files, in a worker."""
    return [check_file(root, name, picture=picture) for name, picture in names]


def check_picture(name: str, file: io.BufferedIOBase) -> FileCheck:
    """Digest and decode an image.

    Args:
        name: its path in the tree.
        file: its bytes, from the first to the last.
    """
    faults: list[tuple[str, str]] = []
    pixels: str | None = None
    size: tuple[int, int] | None = None
    try:
        header = _header(file)
        size = header.width, header.height
        data = _whole(file, header)
        faults += [(check, f"{name}: {example}") for check, example in _form(header)]
        body, extras = _chunks(data)
        faults += [(check, f"{name}: {example}") for check, example in extras]
        pixels = _decoded(header, body, data)
    except _PictureError as error:
        faults.append((error.check, f"{name}: {error}"))
    file.seek(0)
    return FileCheck(
        name=name, sha256=_digest(file), pixel_sha256=pixels, size=size, faults=tuple(faults)
    )


class _PictureError(Exception):
    """A file is not a valid image; carries the name of the check."""

    def __init__(self, check: str, message: str) -> None:
        super().__init__(message)
        self.check = check


@dataclass(frozen=True, slots=True, kw_only=True)
class _Header:
    width: int
    height: int
    bits: int
    colour: int
    interlaced: bool

    @property
    def stride(self) -> int:
        """Bytes of a row, without its filter byte."""
        return -(-self.width * self.bits * _CHANNELS[self.colour] // 8)

    @property
    def ours(self) -> bool:
        return self.bits == 8 and self.colour in {0, 2} and not self.interlaced


def _whole(file: io.BufferedIOBase, header: _Header) -> bytes:
    # Incompressible data take their own size plus a small overhead.
    most = min((header.stride + 1) * header.height * 1.01 + 2**16, LARGEST_PICTURE)
    size = file.seek(0, io.SEEK_END)
    if size > most:
        raise _PictureError("picture-extras", f"has {size:,} bytes, more than its pixels need")
    file.seek(0)
    return file.read()


def _digest(file: io.BufferedIOBase) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()


def _header(file: io.BufferedIOBase) -> _Header:
    start = file.read(_HEADER.size)
    if not start.startswith(_SIGNATURE):
        raise _PictureError("picture-format", "is not a PNG file")
    if len(start) < _HEADER.size:
        raise _PictureError("picture-damaged", "ends within its header")
    _, chunk, width, height, bits, colour, _, _, interlace = _HEADER.unpack(start)
    if chunk != b"IHDR" or colour not in _CHANNELS or not (width and height):
        raise _PictureError("picture-damaged", "has no valid header")
    if width * height > MOST_PIXELS:
        raise _PictureError("picture-size", f"states {width:,} x {height:,} pixels")
    return _Header(width=width, height=height, bits=bits, colour=colour, interlaced=interlace != 0)


def _form(header: _Header) -> Iterator[tuple[str, str]]:
    if header.bits != 8:
        yield "picture-format", f"has {header.bits} bits for each value, expected 8"
    if header.colour in _COLOURS:
        yield "picture-format", f"is {_COLOURS[header.colour]}, expected grey or colour"
    if header.interlaced:
        yield "picture-format", "is interlaced"


def _chunks(data: bytes) -> tuple[list[memoryview], list[tuple[str, str]]]:
    """Return the parts of the pixel data, and a fault for each kind of chunk without pixels."""
    view, at = memoryview(data), len(_SIGNATURE)
    body: list[memoryview] = []
    extras: dict[bytes, int] = {}
    name = b""
    while name != b"IEND":
        if at + 12 > len(data):
            raise _PictureError("picture-damaged", "ends before its end")
        length, name = int.from_bytes(view[at : at + 4]), bytes(view[at + 4 : at + 8])
        end = at + 12 + length
        if end > len(data):
            raise _PictureError("picture-damaged", "ends within a chunk")
        if zlib.crc32(view[at + 4 : end - 4]) != int.from_bytes(view[end - 4 : end]):
            raise _PictureError("picture-damaged", f"a chunk {name!r} has a wrong checksum")
        if name == b"IDAT":
            body.append(view[at + 8 : end - 4])
        elif name not in {b"IHDR", b"IEND", b"PLTE"} or (name == b"IEND" and length):
            extras[name] = extras.get(name, 0) + 1
        at = end
    faults = [
        ("picture-text" if chunk in _TEXTS else "picture-extras", f"contains a chunk {chunk!r}")
        for chunk in list(extras)[:_LIST_LIMIT]
    ]
    if at < len(data):
        faults.append(("picture-extras", f"{len(data) - at:,} bytes follow its end"))
    return body, faults


def _decoded(header: _Header, body: list[memoryview], data: bytes) -> str | None:
    """Return the pixel hash, with all pixels inflated; ``None`` for other PNG forms."""
    if header.interlaced:
        return None
    shape = (
        (header.height, header.width, 3) if header.colour == 2 else (header.height, header.width)
    )
    digest: hashlib._Hash | None = None
    if header.ours:
        digest = hashlib.sha256(f"{shape}{np.dtype(np.uint8).str}".encode())
    above = np.zeros(header.stride, np.uint8)
    for rows in _rows(header, body):
        if digest is None:
            continue
        if (rows[:, 0] != _UP).any():
            digest = None
            continue
        lines = rows[:, 1:]
        lines[0] += above
        np.add.accumulate(lines, axis=0, out=lines)
        above = lines[-1].copy()
        digest.update(np.ascontiguousarray(lines).data)
    if digest is not None:
        return digest.hexdigest()
    return _by_pillow(data) if header.ours else None


def _rows(header: _Header, body: list[memoryview]) -> Iterator[NDArray[np.uint8]]:
    """Yield inflated scanlines, ``(rows, 1 + stride)``, in blocks."""
    width = header.stride + 1
    remaining = width * header.height
    inflate = zlib.decompressobj()
    rest = bytearray()
    try:
        for part in body:
            todo: bytes | memoryview = part
            while len(todo) and not inflate.eof:
                inflated = inflate.decompress(todo, _BLOCK)
                todo = inflate.unconsumed_tail
                remaining -= len(inflated)
                if remaining < 0:
                    raise _PictureError("picture-damaged", "contains more than its pixels")
                rest += inflated
                whole = len(rest) // width
                if whole:
                    block = np.frombuffer(bytes(rest[: whole * width]), np.uint8)
                    del rest[: whole * width]
                    yield block.reshape(whole, width).copy()
            if len(todo) or inflate.unused_data:
                raise _PictureError("picture-extras", "data follows its pixels")
    except zlib.error as error:
        raise _PictureError("picture-damaged", f"its pixels cannot be inflated: {error}") from None
    if remaining or not inflate.eof:
        raise _PictureError("picture-damaged", "has fewer pixels than its header states")


def _by_pillow(data: bytes) -> str:
    """Return the pixel hash of an image whose rows use other filters than ours."""
    from PIL import Image  # noqa: PLC0415 - needed for foreign images alone

    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as picture:
            return pixel_hash(np.asarray(picture))
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error) as error:
        raise _PictureError("picture-damaged", f"cannot be decoded: {error}") from None

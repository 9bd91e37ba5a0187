"""The least work: what no program can leave out that makes the same files and digests.

SHA-256 of the raw file, decoding it, one look-up for each pixel, PNG's Up filter, deflate, SHA-256
of the pixels, and a plain write: by the fastest library for each that is known here, without
reading a header, without a check, without a name. What a header says is looked up before the clock
starts. ``python least_work.py DATA OUT [--decode]``; ``--decode`` stops after decoding.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

import av
import deflate
import nibabel
import numpy as np
import timing
from libjpeg import decode as decode_jpeg
from numpy.typing import NDArray
from openjpeg.utils import decode_pixel_data
from PIL import Image
from pydicom import dcmread
from pydicom.encaps import get_frame
from pydicom.pixels import pixel_array
from pydicom.uid import UID
from rle.rle import decode_frame

Pixels = NDArray[Any]

_ROWS = 128
"""Rows that the cache of a core holds, as a look-up widens each pixel to eight bytes."""


def main() -> None:
    parser = timing.arguments()
    parser.add_argument("--window", default="header")
    parser.add_argument("--colour", default="grey", help="of a video: grey or keep")
    parser.add_argument("--decode", action="store_true")
    args = parser.parse_args()
    slices = _reader_of(args.data, args.colour)
    paths = sorted(args.data.iterdir()) if args.data.is_dir() else [args.data]
    make = _sink if args.decode else _Maker(slices, args.window, args.out)

    def work() -> int:
        if not args.decode:
            for path in paths:
                _digest(path)
        count = 0
        for values in slices():
            make(values, count)
            count += 1
        return count

    timing.serve(work, args.out)


def _sink(_values: Pixels, _number: int) -> None:
    """Throw decoded pixels away."""


def _digest(path: Path) -> None:
    with path.open("rb") as file:
        hashlib.file_digest(file, "sha256")


class _Maker:
    """Writes the PNG of one image, by a table that is made before the clock starts."""

    def __init__(self, slices: Callable[[], Iterator[Pixels]], window: str, out: Path) -> None:
        first = next(slices())
        self._out = out
        self._whole = first.dtype.kind == "f" and window.startswith("percentile")
        self._table = None
        if first.dtype in (np.uint16, np.int16):
            self._table = (np.arange(1 << 16) >> 4).astype(np.uint8)
            if window.startswith("ct"):
                units = np.arange(1 << 16, dtype=np.uint16).view(np.int16).astype(float)
                self._table = (np.clip(units + 160, 0, 400) * 255 / 400).astype(np.uint8)
            elif window != "header":
                self._table = np.clip(np.arange(1 << 16) / 12, 0, 255).astype(np.uint8)
        elif first.dtype == np.uint8 and window.startswith("percentile"):
            self._table = np.clip(np.arange(256) * 1.3, 0, 255).astype(np.uint8)
        self._counted = window.startswith("percentile")

    def __call__(self, values: Pixels, number: int) -> None:
        if self._table is not None:
            patterns = values.view(f"u{values.dtype.itemsize}")
            if self._counted:
                np.bincount(patterns.ravel(), minlength=len(self._table))
            grey = np.empty(patterns.shape, np.uint8)
            for first in range(0, len(grey), _ROWS):
                rows = slice(first, first + _ROWS)
                np.take(self._table, patterns[rows], out=grey[rows], mode="wrap")
        elif values.dtype.kind == "f":
            if self._counted:
                np.bincount(values.view(np.uint32).ravel() >> np.uint32(16), minlength=1 << 16)
            grey = (np.minimum(values, np.float32(1)) * np.float32(255)).astype(np.uint8)
        else:
            grey = values
        lines = np.empty((len(grey), 1 + grey[0].size), np.uint8)
        rows = grey.reshape(len(grey), -1)
        lines[:, 0] = 2
        lines[0, 1:] = rows[0]
        np.subtract(rows[1:], rows[:-1], out=lines[1:, 1:])
        body = b"IDAT" + deflate.zlib_compress(lines, 1)
        hashlib.sha256(grey.data).digest()
        with (self._out / f"{number:04}.png").open("wb") as file:
            colour = 2 if grey.ndim == 3 else 0
            head = struct.pack(">IIBBBBB", grey.shape[1], grey.shape[0], 8, colour, 0, 0, 0)
            file.write(b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR" + head) + _chunk(body))
            file.write(_chunk(b"IEND"))


def _chunk(body: bytes) -> bytes:
    return struct.pack(">I", len(body) - 4) + body + struct.pack(">I", deflate.crc32(body))


def _reader_of(data: Path, colour: str) -> Callable[[], Iterator[Pixels]]:
    if data.name.endswith((".nii", ".nii.gz")):
        return _nifti(data)
    if data.suffix in {".mp4", ".avi", ".mov", ".mpeg", ".MP4"}:
        return lambda: _video(data, colour)
    if data.suffix in {".jpg", ".png"}:
        return lambda: _raster(data)
    return _dicom(sorted(data.iterdir()) if data.is_dir() else [data])


def _nifti(path: Path) -> Callable[[], Iterator[Pixels]]:
    image = nibabel.load(path)
    shape, dtype, offset = image.shape[2::-1], image.get_data_dtype(), image.dataobj.offset
    size = int(np.prod(shape)) * dtype.itemsize

    def slices() -> Iterator[Pixels]:
        if path.suffix == ".gz":
            whole = deflate.gzip_decompress(path.read_bytes(), offset + size)
        else:
            whole = np.memmap(path, np.uint8, mode="r")
        yield from np.frombuffer(whole, dtype, size // dtype.itemsize, offset).reshape(shape)

    return slices


def _dicom(paths: list[Path]) -> Callable[[], Iterator[Pixels]]:
    """Decoded frames of files; a coded one by its codec alone, an uncoded one by its place."""
    frames = []
    for path in paths:
        header = dcmread(path)
        syntax = UID(header.file_meta.TransferSyntaxUID)
        values = pixel_array(header)
        place = -1
        if not syntax.is_encapsulated:
            place = path.read_bytes().rfind(header.PixelData)
        frames.append((path, syntax, values.shape, values.dtype, place, header))
    coded = [
        None if place >= 0 else get_frame(header.PixelData, 0, number_of_frames=1)
        for *_, place, header in frames
    ]

    def slices() -> Iterator[Pixels]:
        for (path, syntax, shape, dtype, place, header), frame in zip(frames, coded, strict=True):
            if frame is None:
                with path.open("rb") as file:
                    file.seek(place)
                    yield np.fromfile(file, dtype, int(np.prod(shape))).reshape(shape)
            elif syntax.name.startswith("JPEG 2000"):
                data = decode_pixel_data(frame, version=2)
                yield np.frombuffer(data, dtype).reshape(shape)
            elif syntax.name.startswith("RLE"):
                data = decode_frame(frame, shape[0] * shape[1], header.BitsAllocated, "<")
                yield np.frombuffer(data, dtype, int(np.prod(shape))).reshape(shape)
            else:
                yield np.asarray(decode_jpeg(frame)).reshape(shape)

    return slices


def _raster(path: Path) -> Iterator[Pixels]:
    with Image.open(path) as image:
        yield np.asarray(image)


def _video(path: Path, colour: str) -> Iterator[Pixels]:
    """Luma as coded, without the look-up that stretches it to the full range; or RGB."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1
        for frame in container.decode(stream):
            if colour == "keep":
                yield frame.to_ndarray(format="rgb24")
                continue
            yield np.ascontiguousarray(frame.to_ndarray()[: frame.height, : frame.width])


if __name__ == "__main__":
    main()

"""PNG encoders and deflate libraries on one CT slice and one radiograph, each checked by decoding.

Usage: ``python encoders.py CT.npy RADIOGRAPH.npy TIMES``, by the Python of their environment.
The deflate libraries get the rows through the Up filter, as our encoder gives them.
"""

from __future__ import annotations

import io
import json
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import cv2
import deflate
import imagecodecs
import numpy as np
import pyvips
from isal import isal_zlib
from numpy.typing import NDArray
from PIL import Image
from zlib_ng import zlib_ng

Picture = NDArray[np.uint8]
Encoder = Callable[[Picture], bytes]


def main() -> None:
    pictures = [np.load(path) for path in sys.argv[1:3]]
    times = int(sys.argv[3])
    cv2.setNumThreads(1)
    pyvips.cache_set_max(0)
    rows = []
    for name, encode in _encoders():
        figures = [_measure(encode, picture, times) for picture in pictures]
        rows.append({"name": name, "pictures": figures})
    print(json.dumps(rows))


def _encoders() -> Iterator[tuple[str, Encoder]]:
    yield "OpenCV, default", lambda picture: cv2.imencode(".png", picture)[1].tobytes()
    whole: dict[str, Callable[[Picture, int], bytes]] = {
        "Pillow": _pillow,
        "libvips": _vips,
        "imagecodecs": lambda picture, level: bytes(imagecodecs.png_encode(picture, level=level)),
    }
    for name, encode in whole.items():
        for level in (1, 6):
            yield f"{name}, level {level}", partial(_at, encode, level)
    libraries: dict[str, tuple[Callable[[bytes, int], bytes], Sequence[int]]] = {
        "zlib": (zlib.compress, (1, 6)),
        "zlib-ng": (zlib_ng.compress, (1, 6)),
        "ISA-L": (isal_zlib.compress, (0, 1, 2, 3)),
        "libdeflate": (lambda data, level: bytes(deflate.zlib_compress(data, level)), range(1, 7)),
    }
    for name, (compress, levels) in libraries.items():
        for level in levels:
            yield f"{name}, level {level}", partial(_up, compress, level)


def _at(encode: Callable[[Picture, int], bytes], level: int, picture: Picture) -> bytes:
    return encode(picture, level)


def _measure(encode: Encoder, picture: Picture, times: int) -> dict[str, float]:
    best = float("inf")
    data = b""
    for _ in range(times):
        started = time.perf_counter()
        data = encode(picture)
        best = min(best, time.perf_counter() - started)
    with Image.open(io.BytesIO(data)) as image:
        if not np.array_equal(np.asarray(image), picture):
            sys.exit("an encoder gave other pixels")
    return {"seconds": best, "bytes": len(data)}


def _pillow(picture: Picture, level: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "png", compress_level=level)
    return file.getvalue()


def _vips(picture: Picture, level: int) -> bytes:
    image: Any = pyvips.Image.new_from_memory(
        picture.tobytes(), picture.shape[1], picture.shape[0], 1, "uchar"
    )
    return bytes(image.copy(interpretation="b-w").pngsave_buffer(compression=level))


def _up(compress: Callable[[bytes, int], bytes], level: int, picture: Picture) -> bytes:
    height, width = picture.shape
    lines = np.empty((height, width + 1), np.uint8)
    lines[:, 0] = 2
    lines[0, 1:] = picture[0]
    np.subtract(picture[1:], picture[:-1], out=lines[1:, 1:])
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = compress(lines.tobytes(), level)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in ((b"IHDR", head), (b"IDAT", data), (b"IEND", b""))
    )


if __name__ == "__main__":
    main()

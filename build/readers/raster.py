"""PNG, JPEG, GIF and BMP reader (Pillow)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from medrcube.build.pixels.volume import (
    Array,
    ForwardSlices,
    Volume,
    is_grey,
    without_equal_channels,
)
from medrcube.build.readers.read_errors import check_frame, truncated, unreadable, unsupported
from medrcube.errors import ReadError

__all__ = ["is_lossy", "read", "read_labels"]

_SIXTEEN_BIT = ("I;16", "I;16L", "I;16B", "I;16N")
_PNG = b"\x89PNG\r\n\x1a\n"
_BAND = 128


def read(path: Path, frame: int | None = None, member: str | None = None) -> Volume:  # noqa: ARG001
    """Read an image, or the frames of an animated one.

    Grey images keep their depth (1 bit becomes 0 and 255, 16 bits stay), colour is RGB, a palette
    is applied, and RGB with three equal channels becomes grey. Transparency is flattened onto
    black; an opaque alpha channel changes nothing. EXIF rotation is applied.

    Raises:
        ReadError: code ``truncated``, ``unreadable``, ``too-large`` (Pillow's limit against
            decompression bombs), ``unsupported-format`` (16 bits a channel), ``missing-frame``.
    """
    _refuse_deep_colour(path)
    with _Faults(path), Image.open(path) as image:
        count = int(getattr(image, "n_frames", 1))
        check_frame(path, frame, count)
        if count == 1 or frame is not None:
            image.seek(frame or 0)
            return Volume(slices=without_equal_channels(_pixels(path, image))[None])
        shape = (count, *_pixels(path, image).shape[:2])
    if not all(picture.ndim == 2 or is_grey(picture) for picture in _frames(path)):
        shape = (*shape, 3)
    return Volume(slices=ForwardSlices(lambda: _frames(path), shape))


def read_labels(path: Path) -> Array:
    """Return the stored labels of a mask image, ``(n, rows, columns)``; for a palette, its indices.

    Raises:
        ReadError: as ``read``; code ``unsupported-format`` if the image is coloured.
    """
    with _Faults(path), Image.open(path) as image:
        if image.mode == "P" and getattr(image, "n_frames", 1) == 1:
            return _array(_upright(image))[None]
    volume = read(path)
    if volume.colour:
        raise unsupported(
            path, "is a colour mask, so a single pixel value selects nothing; expected greyscale"
        )
    return np.stack([volume.slices[k] for k in range(volume.slices.shape[0])])


def is_lossy(path: Path) -> bool:
    """Whether the image is a JPEG, whose pixels differ slightly from what was drawn."""
    with path.open("rb") as file:
        return file.read(3) == b"\xff\xd8\xff"


class _Faults:
    """Translates Pillow's exceptions on damaged files into ``ReadError``."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, (Image.DecompressionBombError, Image.DecompressionBombWarning)):
            raise ReadError(
                f"{self._path.name}: {error}; expected an image of ordinary size",
                code="too-large",
            ) from error
        if isinstance(error, UnidentifiedImageError):
            raise unreadable(self._path, "does not contain the image that its first bytes announce")
        if isinstance(error, (OSError, SyntaxError, ValueError, struct.error, EOFError)):
            if "truncated" in str(error) or isinstance(error, EOFError):
                raise truncated(self._path, f"ends early ({error})") from error
            raise unreadable(self._path, f"is damaged ({error}); get the file again") from error


def _frames(path: Path) -> Iterator[Array]:
    with _Faults(path), Image.open(path) as image:
        for k in range(int(getattr(image, "n_frames", 1))):
            image.seek(k)
            picture = _pixels(path, image)
            yield picture if picture.ndim == 3 else np.stack([picture] * 3, axis=-1)


def _pixels(path: Path, image: Image.Image) -> Array:
    """Return the current frame as ``(rows, columns)`` or ``(rows, columns, 3)``."""
    upright = _upright(image)
    if upright.mode in _SIXTEEN_BIT:
        return np.asarray(upright).astype(np.uint16)
    if upright.mode == "1":
        return _array(upright.convert("L"))
    if upright.mode in {"L", "RGB"} and "transparency" not in upright.info:
        return _array(upright)
    if upright.has_transparency_data:
        upright = upright.convert("RGBA")
        black = Image.new("RGBA", upright.size, (0, 0, 0, 255))
        return _array(Image.alpha_composite(black, upright).convert("RGB"))
    if upright.mode in {"P", "CMYK", "YCbCr", "RGBX", "L", "RGB"}:
        return _array(upright.convert("RGB"))
    raise unsupported(path, f"has pixels of Pillow mode {upright.mode}; expected grey or RGB")


def _array(image: Image.Image) -> Array:
    """Return 8-bit pixels, converted band by band: Pillow makes two copies of what it exports."""
    image.load()
    array = np.empty((image.height, image.width, len(image.getbands())), np.uint8)
    for top in range(0, image.height, _BAND):
        bottom = min(top + _BAND, image.height)
        band = np.asarray(image.crop((0, top, image.width, bottom)))
        array[top:bottom] = band.reshape(array[top:bottom].shape)
    return array if array.shape[2] > 1 else array[..., 0]


def _upright(image: Image.Image) -> Image.Image:
    # Pillow copies the image even if no rotation is needed.
    turned = image.getexif().get(ExifTags.Base.Orientation, 1) != 1
    return ImageOps.exif_transpose(image) if turned else image


def _refuse_deep_colour(path: Path) -> None:
    """Reject PNG with 16-bit colour or alpha, of which Pillow silently keeps the upper 8 bits."""
    with path.open("rb") as file:
        head = file.read(26)
    if head.startswith(_PNG) and len(head) == 26 and head[24] == 16 and head[25] != 0:
        raise unsupported(
            path, "is a PNG with 16 bits a channel and colour or alpha; expected 8 bits"
        )

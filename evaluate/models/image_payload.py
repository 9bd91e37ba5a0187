"""Image bytes for an endpoint: the file's own bytes wherever possible.

Chat endpoints accept PNG, JPEG, GIF and WebP. Other formats are converted to 8-bit PNG, by the
rules named in ``POLICY``; everything else is sent unchanged:

- TIFF and BMP: the first page, keeping its colour mode.
- More than 8 bits of grey, also in PNG: one linear window from the smallest to the largest value of
  the image, so that nothing is clipped. Pillow's ``convert("RGB")`` would clip values above 255.
- 16 bits per colour channel: the upper 8 of each, as in the PNG specification (section 13.12).
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from medrcube.errors import MissingExtraError
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.protocol import RejectedError

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["POLICY", "sendable_bytes"]

POLICY = "own-bytes, else png8/1"
"""Name of the rules above, part of a model's identity."""

_MEDIA_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}
_DEPTH_AT = 24
"""Byte offset of the bit depth in a PNG: signature, length and name of IHDR, width, height."""


def sendable_bytes(picture: ImageFile) -> tuple[str, bytes]:
    """Return media type and bytes to send. May decode the image, so call it in a thread.

    Raises:
        RejectedError: the image cannot be decoded.
        MissingExtraError: that needs Pillow, which is not installed.
    """
    if picture.media_type in _MEDIA_TYPES and not _is_deep(picture):
        return picture.media_type, picture.data
    return "image/png", _png8(picture.data)


def _is_deep(picture: ImageFile) -> bool:
    return picture.media_type == "image/png" and picture.data[_DEPTH_AT : _DEPTH_AT + 1] == b"\x10"


def _png8(data: bytes) -> bytes:
    try:
        from PIL import Image  # noqa: PLC0415 - few benchmarks need it
    except ImportError as error:
        raise MissingExtraError("PIL", "evaluate") from error
    try:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            deep = image.mode.startswith(("I", "F"))
            flat = _windowed(image) if deep else image
            if flat.mode not in {"1", "L", "LA", "P", "RGB", "RGBA"}:
                flat = flat.convert("RGB")
            out = io.BytesIO()
            flat.save(out, "PNG", compress_level=1)
            return out.getvalue()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise RejectedError(f"the image cannot be decoded: {error}", code="picture") from error


def _windowed(image: Image.Image) -> Image.Image:
    values = image.convert("F")
    # One band has one pair; of several, which "F" never has, there would be a pair for each.
    low, high = (float(value) for value in values.getextrema() if not isinstance(value, tuple))
    scale = 255.0 / (high - low) if high > low else 0.0
    return values.point(lambda value: value * scale + (0.5 - low * scale)).convert("L")

"""Decode images for local models: 8-bit RGB by one fixed rule.

An image is first converted as for an endpoint, so that 16-bit grey is treated the same in both
cases; then it is decoded, which an endpoint does itself.
"""

from __future__ import annotations

import io

from medrcube.errors import MissingExtraError
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.image_payload import POLICY, sendable_bytes

try:
    from PIL import Image, ImageOps
except ImportError as error:
    raise MissingExtraError("PIL", "local") from error

__all__ = ["PIXELS", "decode_picture", "picture_size"]

PIXELS = f"{POLICY}; upright rgb8 on white/1"
"""Changed whenever the same file would give different pixels."""


def picture_size(picture: ImageFile) -> tuple[int, int]:
    """Return height and width from the file header.

    Raises:
        OSError: the bytes are not an image that Pillow can read.
    """
    with Image.open(io.BytesIO(picture.data)) as image:
        return image.height, image.width


def decode_picture(picture: ImageFile) -> Image.Image:
    """Return the upright image as 8-bit RGB; transparency is composited on white.

    Raises:
        RejectedError: the image cannot be decoded.
        OSError: the bytes are not an image that Pillow can read, or are truncated.
    """
    _, data = sendable_bytes(picture)
    with Image.open(io.BytesIO(data)) as file:
        file.load()
        image: Image.Image = ImageOps.exif_transpose(file)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image).convert("RGB")
    return image.convert("RGB")

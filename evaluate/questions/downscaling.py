"""Downscale images for a model; never upscale.

Every output pixel is the mean of the area that it covers (Pillow's BOX filter), so that a thin
drawn mark becomes paler but never disappears. The result is a PNG, so that only resolution is
lost. Images that are small enough keep their own bytes.
"""

from __future__ import annotations

import hashlib
import io

from medrcube.errors import MissingExtraError
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.image_payload import sendable_bytes
from medrcube.evaluate.models.protocol import RejectedError

try:
    from PIL import Image, ImageOps
except ImportError as error:
    raise MissingExtraError("PIL", "evaluate") from error

__all__ = ["RULE", "shrink", "size_of", "size_within"]

RULE = "means of areas, png8/1"
"""Changed whenever the same image would give different pixels."""


def size_within(size: tuple[int, int], longest: int | None) -> tuple[int, int]:
    """Return width and height scaled to a longer side of at most ``longest`` pixels."""
    width, height = size
    if longest is None or max(width, height) <= longest:
        return size
    scale = longest / max(width, height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def size_of(picture: ImageFile) -> tuple[int, int]:
    """Return width and height from the file header.

    Raises:
        RejectedError: it cannot be read.
    """
    try:
        with Image.open(io.BytesIO(picture.data)) as image:
            width, height = image.size
            return width, height
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise RejectedError(f"the image cannot be decoded: {error}", code="picture") from error


def shrink(picture: ImageFile, longest: int) -> ImageFile:
    """Downscale an image to a longer side of at most ``longest`` pixels; call it in a thread.

    Grey images of more than 8 bits are first converted to 8 bits as for sending
    (``models.image_payload``), and EXIF orientation is applied.

    Raises:
        RejectedError: it cannot be decoded.
    """
    if max(size_of(picture)) <= longest:
        return picture
    _, data = sendable_bytes(picture)
    try:
        with Image.open(io.BytesIO(data)) as file:
            file.load()
            image: Image.Image = ImageOps.exif_transpose(file)
        if image.mode == "P":
            image = image.convert("RGBA" if image.has_transparency_data else "RGB")
        elif image.mode not in {"L", "LA", "RGB", "RGBA"}:
            image = image.convert("L" if image.mode == "1" else "RGB")
        small = image.resize(size_within(image.size, longest), Image.Resampling.BOX)
        out = io.BytesIO()
        small.save(out, "PNG", compress_level=1)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise RejectedError(f"the image cannot be decoded: {error}", code="picture") from error
    png = out.getvalue()
    return ImageFile(data=png, media_type="image/png", sha256=hashlib.sha256(png).hexdigest())

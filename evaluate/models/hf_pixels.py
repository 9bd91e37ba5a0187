"""The pixels that a local model sees: 8-bit RGB, made in one stated way.

An endpoint gets the bytes of the file and decodes them itself; here we are the endpoint.
"""

from __future__ import annotations

import io

from medrcube.errors import MissingExtraError
from medrcube.evaluate.images import Picture

try:
    from PIL import Image, ImageOps
except ImportError as error:
    raise MissingExtraError("PIL", "local") from error

PIXELS = "rgb8/1"
"""Changes whenever the same file would give other pixels."""

_WIDE = {"I", "I;16", "I;16B", "I;16L", "F"}


def picture_size(picture: Picture) -> tuple[int, int]:
    """Height and width, from the header alone.

    Raises:
        OSError: the bytes are no picture that Pillow knows.
    """
    with Image.open(io.BytesIO(picture.data)) as image:
        return image.height, image.width


def decode_picture(picture: Picture) -> Image.Image:
    """The upright picture as 8-bit RGB.

    A grey picture of more than 8 bits is stretched from its darkest to its brightest value:
    Pillow's own conversion would clip it to white. Transparent parts lie on white.

    Raises:
        OSError: the bytes are no picture that Pillow knows, or are cut short.
    """
    with Image.open(io.BytesIO(picture.data)) as file:
        file.load()
        image: Image.Image = ImageOps.exif_transpose(file)
    if image.mode in _WIDE:
        return _stretched(image).convert("RGB")
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(white, image).convert("RGB")
    return image.convert("RGB")


def _stretched(image: Image.Image) -> Image.Image:
    values = image.convert("F")
    extrema = values.getextrema()
    low, high = float(extrema[0]), float(extrema[1])  # type: ignore[arg-type]
    scale = 255.0 / (high - low) if high > low else 0.0
    return values.point(lambda value: value * scale - low * scale).convert("L")

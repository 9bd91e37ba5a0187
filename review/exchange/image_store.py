"""Content-addressed image store: every image is decoded and re-encoded as PNG.

Only pixels are kept: no camera or scanner metadata, no embedded files, nothing that a browser would
execute. File names are never taken from the input.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from hashlib import sha256
from pathlib import Path

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from PIL import Image, ImageOps

from medrcube.files.atomic import private_folder
from medrcube.review.errors import ReviewError
from medrcube.review.models import Asset

__all__ = [
    "KINDS",
    "MOST_BYTES",
    "MOST_PIXELS",
    "encode_png",
    "image_path",
    "load_image",
    "store_image",
]

KINDS = ("PNG", "JPEG", "WEBP")
"""Accepted formats. No other decoder is tried, so that none of them can be exploited."""
MOST_BYTES = 64 * 2**20
MOST_PIXELS = 64 * 2**20
"""Maximum number of pixels; a mammogram of 24 x 30 cm at 50 micrometres has 29 million."""
_UNREADABLE = (
    OSError,
    SyntaxError,
    ValueError,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)
"""Exceptions that Pillow raises for bytes that are not an image, or a too large one."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_COLOURS = {"L": "L", "RGB": "RGB", "1": "L", "P": "RGB"}
"""Pillow mode of the input -> mode of the stored image."""


def store_image(picture: Path | bytes) -> Asset:
    """Store a PNG, JPEG or WebP image; identical pixels yield the same row.

    Args:
        picture: file or bytes. The EXIF orientation is applied, because every viewer would do so
            and the tag is dropped.

    Raises:
        ReviewError: not such an image, larger than ``MOST_BYTES`` or ``MOST_PIXELS``, in a colour
            format that cannot be preserved (16 bit, CMYK, transparency), or animated.
    """
    data = _read_bytes(picture)
    pixels = _decode(data, picture.name if isinstance(picture, Path) else "picture")
    encoded = encode_png(pixels)
    digest = sha256(encoded).hexdigest()
    _write(image_path(digest), encoded)
    height, width = pixels.shape[:2]
    row, _ = Asset.objects.get_or_create(
        sha256=digest,
        defaults={"width": width, "height": height},
    )
    return row


def image_path(digest: str) -> Path:
    """Return the path of an image, which depends only on its digest.

    Raises:
        ReviewError: ``digest`` is not a digest.
    """
    if not _DIGEST.fullmatch(digest):
        raise ReviewError("the digest of an image has 64 hexadecimal digits")
    return Path(settings.FOLDER) / "assets" / digest[:2] / f"{digest}.png"


def load_image(asset: Asset) -> bytes:
    """Return the bytes of the stored PNG.

    Raises:
        ReviewError: the file is missing, was modified, or is a link to another place.
    """
    path = image_path(asset.sha256)
    root = os.path.realpath(path.parents[1])
    real = os.path.realpath(path)
    expected = os.path.join(root, *path.parts[-2:])  # noqa: PTH118  (compared as text)
    if real != expected or os.path.commonpath((root, real)) != root:
        raise ReviewError(f"image {asset.id}: it is reached through a link; import it again")
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
    except OSError as error:
        raise ReviewError(f"image {asset.id}: {error.strerror}; import it again") from error
    if sha256(data).hexdigest() != asset.sha256:
        raise ReviewError(f"image {asset.id}: the file was changed; import it again")
    return data


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Encode ``(rows, columns)`` or ``(rows, columns, 3)`` as PNG with pixel chunks only."""
    buffer = io.BytesIO()
    # A new image has no profile, resolution or text to pass on.
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _read_bytes(picture: Path | bytes) -> bytes:
    if isinstance(picture, bytes):
        data = picture
    else:
        with picture.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ReviewError(f"the image has more than {MOST_BYTES} bytes; make it smaller")
    return data


def _decode(data: bytes, name: str) -> NDArray[np.uint8]:
    try:
        opened = Image.open(io.BytesIO(data), formats=KINDS)
        _check_header(opened, data, name)
        opened.load()
    except _UNREADABLE as error:
        raise ReviewError(f"{name}: not a readable PNG, JPEG or WebP image ({error})") from error
    image = ImageOps.exif_transpose(opened)
    if "A" in image.getbands() or "transparency" in image.info:
        image = _opaque(image, name)
    mode = _COLOURS.get(image.mode)
    if mode is None:
        raise ReviewError(f"{name}: colours {image.mode}, expected grey or RGB")
    return np.asarray(image if image.mode == mode else image.convert(mode))


def _check_header(image: Image.Image, data: bytes, name: str) -> None:
    """Reject an image by its header, before any pixel is decoded."""
    if image.width * image.height > MOST_PIXELS:
        raise ReviewError(f"{name}: {image.width} x {image.height}, at most {MOST_PIXELS} pixels")
    if getattr(image, "n_frames", 1) != 1:
        raise ReviewError(f"{name}: is animated; expected a single image")
    if image.format == "PNG" and data[24] == 16:  # bit depth in IHDR, the first chunk
        raise ReviewError(f"{name}: 16 bits, expected an image of 8")


def _opaque(image: Image.Image, name: str) -> Image.Image:
    whole = image.convert("RGBA")
    if whole.getchannel("A").getextrema() != (255, 255):
        raise ReviewError(f"{name}: has transparent pixels, expected opaque ones")
    return whole.convert("L" if image.mode in ("L", "LA", "1") else "RGB")


def _write(path: Path, data: bytes) -> None:
    if path.is_file() and not path.is_symlink():
        return
    private_folder(path.parent.parent)
    private_folder(path.parent)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise

"""Read an item's image as the bytes on disk, never decoded or re-encoded.

A model sees exactly the pixels that the release was validated with; transcoding would change them
(JPEG blurs a thin red outline, conversion to 8 bits clips a 16-bit image).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from medrcube.errors import ReleaseError
from medrcube.release_format.images import DamagedShardError, ReleaseImages

__all__ = ["ImageFile", "UnusablePictureError", "media_type", "read_picture"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageFile:
    """Bytes of an image file, with their digest.

    Attributes:
        data: the file's own bytes.
        media_type: media type by signature, not by file name.
        sha256: hex digest of ``data``.
    """

    data: bytes
    media_type: str
    sha256: str


class UnusablePictureError(Exception):
    """An image is absent, unreadable or of unknown format; the message says which."""


def read_picture(images: ReleaseImages, image: str) -> ImageFile:
    """Read one image of a release.

    Args:
        images: the images of the release; nothing outside it is opened.
        image: path of the image in it.

    Raises:
        UnusablePictureError: there is no file, it cannot be read, it is not an image, or it lies
            outside the release.
        DamagedShardError: the shard that holds it is truncated or changed.
    """
    try:
        data = images.read(image)
    except DamagedShardError:
        raise
    except ReleaseError as error:
        raise UnusablePictureError(str(error)) from error
    except OSError as error:
        raise UnusablePictureError(error.strerror or type(error).__name__) from error
    kind = media_type(data)
    if kind is None:
        raise UnusablePictureError("not a PNG, JPEG, GIF, WebP, BMP or TIFF file")
    return ImageFile(data=data, media_type=kind, sha256=hashlib.sha256(data).hexdigest())


def media_type(data: bytes) -> str | None:
    """Return the media type by a file's magic bytes; ``None`` for other formats."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), None)


_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)

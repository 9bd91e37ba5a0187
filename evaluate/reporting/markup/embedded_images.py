"""Embed images in a page within a size budget: the file's own bytes, or a downscaled copy."""

from __future__ import annotations

import base64
import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.image_files import ImageFile, UnusablePictureError, read_picture
from medrcube.evaluate.outcomes import Result

if TYPE_CHECKING:
    from PIL.Image import Image as Raster

__all__ = [
    "LONGEST_SIDE",
    "MOST_BYTES",
    "SMALL_ENOUGH",
    "ImageEmbedder",
    "jpeg_within",
    "reduced_jpeg",
]

MOST_BYTES = 9_000_000
"""Maximum total bytes of a page's images, before Base64 adds a third."""

SMALL_ENOUGH = 60_000
"""Files of up to this many bytes are embedded unchanged."""

LONGEST_SIDE = 448
"""Longer side of a downscaled copy in pixels."""

_LARGEST_PLAIN = 1_000_000
_MOST_PIXELS = 50_000_000
_SURELY = 4 / 3
_SAFE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


@dataclass(slots=True, kw_only=True)
class ImageEmbedder:
    """The distinct images of a page, within a budget.

    Attributes:
        release: folder with the images.
        uris: data URI of each image on the page, in the order they were added.
    """

    release: Benchmark
    uris: list[str] = field(default_factory=list)
    _numbers: dict[str, tuple[int | None, str]] = field(default_factory=dict)
    _bytes: int = 0

    def take(self, result: Result) -> tuple[int | None, str]:
        """Return the number of the item's image on the page, or ``None`` and why it is not shown.

        It is the image that was asked about, verified by its digest; a restricted one is never
        opened.
        """
        if result.item.restricted:
            return None, "This image may not be redistributed."
        digest = result.question.image_sha256
        image = result.item.image
        if digest is None or image is None:
            return None, "No image was shown."
        if digest not in self._numbers:
            self._numbers[digest] = self._new(image, digest)
        return self._numbers[digest]

    def _new(self, image: str, digest: str) -> tuple[int | None, str]:
        try:
            picture = read_picture(self.release.images, image)
        except UnusablePictureError:
            return None, "The release does not have this image."
        if picture.sha256 != digest:
            return None, "The release has another image here than the one that was asked."
        copy = _reduced(picture)
        if copy is None or self._bytes + len(copy.data) > MOST_BYTES:
            return None, "Left out to keep this page small."
        self._bytes += len(copy.data)
        self.uris.append(_uri(copy))
        return len(self.uris) - 1, ""


def _uri(picture: ImageFile) -> str:
    return f"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode('ascii')}"


def _reduced(picture: ImageFile) -> ImageFile | None:
    safe = picture.media_type in _SAFE
    if safe and len(picture.data) <= SMALL_ENOUGH:
        return picture
    try:
        import PIL  # noqa: F401, PLC0415 - only where it is installed
    except ImportError:
        return picture if safe and len(picture.data) <= _LARGEST_PLAIN else None
    data = reduced_jpeg(picture.data)
    if data is None:
        return None
    return ImageFile(data=data, media_type="image/jpeg", sha256=picture.sha256)


def reduced_jpeg(data: bytes) -> bytes | None:
    """Return a downscaled copy without chroma subsampling, so that a thin red outline stays red.

    ``None`` if the image cannot be read. Pillow must be installed.
    """
    return jpeg_within(data, ((LONGEST_SIDE, 88),))


def jpeg_within(
    data: bytes, steps: Sequence[tuple[int, int]], most: float = math.inf
) -> bytes | None:
    """Return the copy at the first step that fits.

    Steps that would be a third too large, judging by an earlier one, are skipped.

    Args:
        data: bytes of an image.
        steps: (pixels of the longer side, quality), the largest first.
        most: maximum size of the copy in bytes.

    Returns:
        ``None`` if the image cannot be read, or no step fits.
    """
    from PIL import Image  # noqa: PLC0415 - only where it is installed

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data)) as picture:
                if picture.width * picture.height > _MOST_PIXELS:
                    return None
                full = _eight_bits(picture)
        per_pixel = 0.0
        for side, quality in steps:
            last = (side, quality) == steps[-1]
            if not last and per_pixel * _pixels(full, side) > most * _SURELY:
                continue
            copy = full.copy()
            copy.thumbnail((side, side), Image.Resampling.LANCZOS)
            out = io.BytesIO()
            copy.save(out, "JPEG", quality=quality, subsampling=0, optimize=True)
            if out.tell() <= most:
                return out.getvalue()
            per_pixel = out.tell() / (copy.width * copy.height)
    except (OSError, ValueError, SyntaxError, Warning, Image.DecompressionBombError):
        return None
    return None


def _pixels(picture: Raster, side: int) -> float:
    """Return the number of pixels after scaling the longer side to at most ``side``."""
    scale = min(1.0, side / max(picture.size))
    return picture.width * picture.height * scale * scale


def _eight_bits(picture: Raster) -> Raster:
    """Convert to 8-bit grey or colour; deeper images are scaled from their minimum to maximum."""
    if picture.mode in {"L", "RGB"}:
        return picture.copy()
    if not picture.mode.startswith(("I", "F")):
        return picture.convert("RGB")
    deep = picture.convert("F")
    extrema = deep.getextrema()
    low, high = (float(value) for value in extrema if isinstance(value, int | float))
    scale = 255 / (high - low) if high > low else 0.0
    return deep.point(lambda value: value * scale - low * scale).convert("L")

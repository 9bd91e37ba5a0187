"""Degrade an image by an operation of stated size, keeping width and height.

Grey images of more than 8 bits are first converted to 8 bits as for sending
(``models.image_payload``), and EXIF orientation is applied. Transparency is kept. The result is a
PNG, so that nothing but the degradation changes.

- ``noise``: one Gaussian number per pixel, added to all its channels, clipped at black and white;
  the seed is a digest of the file and the size, so an image always gets the same noise.
- ``jpeg``: encoded without chroma subsampling, and decoded.
- ``blur``: Gaussian, with the stated sigma.
- ``downscale``: area means on a grid that is smaller by the factor, then bilinear interpolation
  back to the original size.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Mapping

from medrcube.errors import MissingExtraError
from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.image_payload import sendable_bytes
from medrcube.evaluate.models.protocol import RejectedError
from medrcube.evaluate.questions.degradation import Degradation

try:
    import numpy as np
    from PIL import Image, ImageFilter, ImageOps
except ImportError as error:
    raise MissingExtraError("PIL", "evaluate") from error

__all__ = ["degrade"]


def degrade(picture: ImageFile, degradation: Degradation) -> ImageFile:
    """Return the degraded image; call it in a thread.

    Raises:
        RejectedError: it cannot be decoded.
    """
    _, data = sendable_bytes(picture)
    try:
        with Image.open(io.BytesIO(data)) as file:
            file.load()
            image: Image.Image = ImageOps.exif_transpose(file)
        if image.has_transparency_data:
            image = image.convert("LA" if image.mode in {"L", "LA"} else "RGBA")
        elif image.mode not in {"L", "RGB"}:
            image = image.convert("L" if image.mode == "1" else "RGB")
        alpha = image.getchannel("A") if image.mode in {"LA", "RGBA"} else None
        colours = image.convert("L" if image.mode in {"L", "LA"} else "RGB")
        changed = _OPERATIONS[degradation.operation](colours, degradation.size, picture.sha256)
        if alpha is not None:
            changed.putalpha(alpha)
        out = io.BytesIO()
        changed.save(out, "PNG", compress_level=1)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise RejectedError(f"the image cannot be decoded: {error}", code="picture") from error
    png = out.getvalue()
    return ImageFile(data=png, media_type="image/png", sha256=hashlib.sha256(png).hexdigest())


def _noise(image: Image.Image, size: float, sha256: str) -> Image.Image:
    seed = hashlib.sha256(f"noise {size!r} {sha256}".encode()).digest()
    draw = np.random.default_rng(int.from_bytes(seed[:8]))
    values = np.asarray(image, dtype=np.float32)
    field = draw.standard_normal(values.shape[:2], dtype=np.float32) * np.float32(255 * size)
    noisy = values + (field if values.ndim == 2 else field[..., None])
    return Image.fromarray(np.clip(np.rint(noisy), 0, 255).astype(np.uint8), image.mode)


def _jpeg(image: Image.Image, size: float, _sha256: str) -> Image.Image:
    coded = io.BytesIO()
    image.save(coded, "JPEG", quality=int(size), subsampling=0)
    with Image.open(coded) as decoded:
        return decoded.convert(image.mode)


def _blur(image: Image.Image, size: float, _sha256: str) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(size))


def _downscale(image: Image.Image, size: float, _sha256: str) -> Image.Image:
    small = (max(1, round(image.width / size)), max(1, round(image.height / size)))
    return image.resize(small, Image.Resampling.BOX).resize(image.size, Image.Resampling.BILINEAR)


_OPERATIONS: Mapping[str, Callable[[Image.Image, float, str], Image.Image]] = {
    "noise": _noise,
    "jpeg": _jpeg,
    "blur": _blur,
    "downscale": _downscale,
}

"""Perceptual hashes of the images of a release; see ``medrcube.perceptual_hash``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO

from medrcube.errors import MissingExtraError
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.image_files import UnusablePictureError, read_picture

try:
    from PIL import Image

    from medrcube.perceptual_hash import dct_hashes, thumbnail
except ImportError as error:
    raise MissingExtraError(error.name or "numpy", "evaluate") from error

__all__ = ["perceptual_hashes"]


def perceptual_hashes(
    benchmark: Benchmark, images: Iterable[str], known_hashes: Mapping[str, int]
) -> dict[str, int]:
    """Return the perceptual hash of each image by its path; undecodable images are left out.

    Args:
        benchmark: the release.
        images: image paths in it.
        known_hashes: stored hashes by the SHA-256 of a file.
    """
    digests = benchmark.image_digests
    hashes = {
        image: known_hashes[sha256]
        for image in images
        if (sha256 := str(digests[image])) in known_hashes
    }
    rest = sorted(set(images) - set(hashes))
    with ThreadPoolExecutor() as pool:
        hashed = zip(rest, pool.map(lambda image: _hash_image(benchmark, image), rest), strict=True)
        return {
            **hashes,
            **{image: hash_value for image, hash_value in hashed if hash_value is not None},
        }


def _hash_image(benchmark: Benchmark, image: str) -> int | None:
    try:
        data = read_picture(benchmark.images, image).data
        with Image.open(BytesIO(data)) as picture:
            return int(dct_hashes(thumbnail(picture)[None])[0])
    except (
        UnusablePictureError,
        OSError,
        ValueError,
        SyntaxError,
        Image.DecompressionBombError,
    ):
        return None

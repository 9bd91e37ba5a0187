"""Downscaled images of a site, within a size budget; restricted ones are never opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from medrcube.console.progress import Advance, ignored
from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.image_files import UnusablePictureError, read_picture
from medrcube.evaluate.reporting.markup.embedded_images import jpeg_within
from medrcube.files.atomic import write_again

__all__ = [
    "ABSENT",
    "ANOTHER",
    "FOLDER",
    "LONGEST_SIDE",
    "MOST_BYTES",
    "NONE_NAMED",
    "TOO_LARGE",
    "WITHHELD",
    "SiteImage",
    "count_pictures",
    "write_pictures",
]

FOLDER = "pictures"

MOST_BYTES = 30_000_000
"""Maximum total bytes of all images."""

_STEPS = ((448, 88), (384, 84), (320, 80), (256, 76), (192, 70), (160, 64), (128, 60), (96, 50))
"""(pixels of the longer side, quality); the last step fits 10,000 images."""
LONGEST_SIDE = _STEPS[0][0]
"""Maximum longer side of an image in pixels."""
_DIGEST = 20

WITHHELD = "This image may not be redistributed."
NONE_NAMED = "The question has no image."
ABSENT = "The release does not have this image."
ANOTHER = "The release has another image here than the one that was asked."
TOO_LARGE = "Left out to keep this site small."


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteImage:
    """Image of an item on the site.

    Attributes:
        file: its file below ``pictures``; empty without one.
        why: reason for no image, in words.
    """

    file: str = ""
    why: str = ""


def write_pictures(
    out: Path,
    release: Benchmark,
    digests: Mapping[str, str],
    items: Sequence[BenchmarkItem],
    advance: Advance = ignored,
) -> dict[str, SiteImage]:
    """Write a downscaled copy of every image that may be redistributed.

    Args:
        out: folder for the files.
        release: the release.
        digests: digest of the image that models were asked about, by item name.
        items: items of the site.
        advance: called after each image.

    Returns:
        The image of each item by item name.
    """
    out.mkdir(parents=True, exist_ok=True)
    images = sorted(_publishable(items))
    allotment = MOST_BYTES // max(1, len(images))
    copies_by_image = {}
    with ThreadPoolExecutor() as pool:
        copies = pool.map(lambda image: _write(out, release, image, allotment), images)
        for image, copy in zip(images, copies, strict=True):
            copies_by_image[image] = copy
            advance()
    return {item.name: _site_image(item, digests.get(item.name), copies_by_image) for item in items}


def count_pictures(items: Sequence[BenchmarkItem]) -> int:
    """Return how many distinct images may be redistributed."""
    return len(_publishable(items))


def _publishable(items: Sequence[BenchmarkItem]) -> set[str]:
    withheld = {item.image for item in items if item.restricted}
    return {item.image for item in items if item.image is not None and item.image not in withheld}


def _site_image(
    item: BenchmarkItem, asked_digest: str | None, copies: Mapping[str, tuple[SiteImage, str]]
) -> SiteImage:
    if item.restricted:
        return SiteImage(why=WITHHELD)
    if item.image is None:
        return SiteImage(why=NONE_NAMED)
    if item.image not in copies:
        return SiteImage(why=WITHHELD)
    image, digest = copies[item.image]
    return SiteImage(why=ANOTHER) if asked_digest and digest and asked_digest != digest else image


def _write(out: Path, release: Benchmark, image: str, allotment: int) -> tuple[SiteImage, str]:
    """Write the copy; return it and the digest of the original."""
    try:
        picture = read_picture(release.images, image)
    except UnusablePictureError:
        return SiteImage(why=ABSENT), ""
    data = jpeg_within(picture.data, _STEPS, allotment)
    if data is None:
        return SiteImage(why=TOO_LARGE), picture.sha256
    name = f"{picture.sha256[:_DIGEST]}.jpg"
    write_again(out / name, data)
    return SiteImage(file=name), picture.sha256

"""Digests of the images of a release when last read (``dataset-lock.jsonl``).

Reading five thousand images takes seconds, so a later session treats an image as unchanged while
its size, modification time (to the nanosecond) and inode are the same. If that is not reliable (a
copy that preserves times, a file system without inodes), all images can be read again. An image is
always read and compared before it is sent.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from medrcube.errors import ReleaseError
from medrcube.evaluate.image_files import UnusablePictureError, read_picture
from medrcube.evaluate.runner.json_lines import parse_line
from medrcube.files.atomic import write_text
from medrcube.release_format.images import DamagedShardError, ImageState, ReleaseImages

__all__ = ["FILE", "ImageDigest", "digest_image", "is_unchanged", "read_lock", "write_lock"]

FILE = "dataset-lock.jsonl"

_SETTLED = 2_000_000_000
"""Nanoseconds after which a change shows in the modification time on any file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDigest:
    """Digest and state of an image when it was read.

    Attributes:
        sha256: digest of its bytes; ``None`` for an unusable image.
        size: size in bytes.
        mtime_ns: modification time of the file that holds it; ``None`` if it was so recent that a
            further change might not show.
        inode: inode number of that file.
    """

    sha256: str | None
    size: int
    mtime_ns: int | None
    inode: int


def is_unchanged(images: ReleaseImages, image: str, digest: ImageDigest) -> bool:
    """Whether an image is in the state of its last read; unusable images are always reread."""
    state = _state(images, image)
    if state is None:
        return False
    now = (state.size, state.mtime_ns, state.inode)
    return digest.sha256 is not None and now == (digest.size, digest.mtime_ns, digest.inode)


def digest_image(images: ReleaseImages, image: str) -> ImageDigest | None:
    """Digest an image; ``None`` if this copy of the release lacks it.

    Raises:
        DamagedShardError: the shard that holds it is truncated or changed.
    """
    state = _state(images, image)
    if state is None:
        return None
    try:
        sha256 = read_picture(images, image).sha256
    except UnusablePictureError:
        sha256 = None
    settled = state.mtime_ns < time.time_ns() - _SETTLED
    return ImageDigest(
        sha256=sha256,
        size=state.size,
        mtime_ns=state.mtime_ns if settled else None,
        inode=state.inode,
    )


def _state(images: ReleaseImages, image: str) -> ImageState | None:
    """Return the state of an image; ``None`` too for one that must not be opened."""
    try:
        return images.state(image)
    except DamagedShardError:
        raise
    except (ReleaseError, OSError):
        return None


def read_lock(path: Path) -> dict[str, ImageDigest]:
    """Return the digests that ``write_lock`` wrote; empty if the file is missing or damaged."""
    try:
        with path.open("rb") as file:
            rows = (parse_line(line) for line in file if line.strip())
            return {sys.intern(row.pop("image")): ImageDigest(**row) for row in rows}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_lock(path: Path, digests: Mapping[str, ImageDigest]) -> None:
    """Write the digests, one line per image."""
    rows = ({"image": image, **_row(digest)} for image, digest in sorted(digests.items()))
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _row(digest: ImageDigest) -> dict[str, str | int | None]:
    return {name: getattr(digest, name) for name in _COLUMNS}


_COLUMNS = tuple(column.name for column in fields(ImageDigest))

"""Digests of the images of a release at the last reading (``dataset-lock.jsonl``).

Reading five thousand pictures takes seconds, so a later session believes that a picture is
unchanged while its size, its time of change to the nanosecond and its inode are. Whoever cannot
rely on that (a copy that keeps times, a file system without inodes) has everything read again.
A picture is read and compared in any case before it is sent.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from medrcube.evaluate.image_files import UnusablePictureError, read_picture
from medrcube.files.atomic import write_text

FILE = "dataset-lock.jsonl"

_SETTLED = 2_000_000_000
"""Nanoseconds after which a change would show in the time of a file on every file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDigest:
    """A picture file as it was read.

    Attributes:
        sha256: digest of its bytes; ``None`` when it was no usable picture.
        size: bytes.
        mtime_ns: time of its last change; ``None`` when that was so short before the reading
            that a further change might not show.
        inode: its number in the file system.
    """

    sha256: str | None
    size: int
    mtime_ns: int | None
    inode: int


def is_unchanged(path: Path, digest: ImageDigest) -> bool:
    """Whether a picture looks as it did when it was read; an unusable one is always read again."""
    try:
        state = path.stat()
    except OSError:
        return False
    now = (state.st_size, state.st_mtime_ns, state.st_ino)
    return digest.sha256 is not None and now == (digest.size, digest.mtime_ns, digest.inode)


def digest_image(root: Path, image: str) -> ImageDigest | None:
    """Read a picture; ``None`` when there is no file."""
    path = root / image
    try:
        state = path.stat()
    except OSError:
        return None
    try:
        sha256 = read_picture(path, root=root).sha256
    except UnusablePictureError:
        sha256 = None
    settled = state.st_mtime_ns < time.time_ns() - _SETTLED
    return ImageDigest(
        sha256=sha256,
        size=state.st_size,
        mtime_ns=state.st_mtime_ns if settled else None,
        inode=state.st_ino,
    )


def read_lock(path: Path) -> dict[str, ImageDigest]:
    """What ``write_lock`` wrote; nothing where there is no such file or it was damaged."""
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        return {row.pop("image"): ImageDigest(**row) for row in rows}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_lock(path: Path, digests: Mapping[str, ImageDigest]) -> None:
    """Keep what was seen, a line for each picture."""
    rows = ({"image": image, **asdict(digest)} for image, digest in sorted(digests.items()))
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

"""Safe writes into an untrusted release tree: no path leaves it, no link is followed."""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image

from medrcube.build.pixels.pixel_hash import pixel_hash
from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.files.atomic import PARTIAL, write_again
from medrcube.release_format.images import DamagedShardError, ReleaseImages
from medrcube.release_format.shards import FOLDER as SHARD_FOLDER
from medrcube.release_format.tree import PICTURES, leaves_folder, safe_repr

__all__ = ["lock_tree", "place_picture", "safe_path", "stored_hash"]

_HEADER = struct.Struct(">8s4x4sIIBB")
"""Signature, length and name of the first chunk, width, height, bits, colour type."""

_MOST_PIXELS = 89_478_485
"""Pillow takes a larger image for a decompression bomb; it counts as missing, and is rendered
again.
"""


def safe_path(tree: Path, image: str) -> Path:
    """Return the file of an image, after checking that its folders lie in the tree.

    Args:
        tree: the release, with all links resolved.
        image: path of the image in it.

    Raises:
        ReleaseError: the path leads out of the tree, itself or by a link.
    """
    path = PurePosixPath(image)
    if leaves_folder(image) or len(path.parts) < 2:
        raise ReleaseError(f"{safe_repr(image)}: leads out of its folder; expected pictures/<name>")
    folder = tree
    for part in path.parts[:-1]:
        folder /= part
        if folder.is_symlink():
            raise ReleaseError(
                f"{folder}: is a link, which is never followed for writing; expected a folder"
            )
        if folder.exists() and not folder.is_dir():
            raise ReleaseError(f"{folder}: is a file; expected the folder of images")
    target = folder / path.name
    if target.is_dir():
        raise ReleaseError(f"{target}: is a folder; expected an image, or nothing")
    return target


def place_picture(tree: Path, image: str, data: bytes) -> None:
    """Write the file of an image atomically.

    Raises:
        ReleaseError: the path leads out of the tree.
        WorkspaceError: the tree cannot be written.
    """
    write_again(safe_path(tree, image), data)


def stored_hash(images: ReleaseImages, image: str) -> str | None:
    """Return the pixel hash of an image; ``None`` if it is missing or not in our PNG form.

    Raises:
        DamagedShardError: the shard that holds it is truncated or changed.
    """
    try:
        data = images.read(image)
        if len(data) < _HEADER.size:
            return None
        signature, name, width, height, bits, colour = _HEADER.unpack_from(data)
        ours = (signature, name, bits) == (b"\x89PNG\r\n\x1a\n", b"IHDR", 8)
        if not ours or colour not in (0, 2) or width * height > _MOST_PIXELS:
            return None
        with Image.open(io.BytesIO(data), formats=("PNG",)) as picture:
            return pixel_hash(np.asarray(picture))
    except DamagedShardError:
        raise
    except (ReleaseError, OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error):
        return None


@contextmanager
def lock_tree(tree: Path) -> Iterator[None]:
    """Lock a tree for this process, and delete partial files left by a killed one.

    Raises:
        WorkspaceError: another process is using it.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl  # noqa: PLC0415 - does not exist everywhere

    folder = os.open(tree, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WorkspaceError(
                f"{tree}: another process is running here; wait for it to finish"
            ) from None
        _sweep(tree)
        yield
    finally:
        os.close(folder)


def _sweep(tree: Path) -> None:
    folders = [tree]
    for source in _folders_in(tree):
        for folder in _folders_in(source):
            if folder.name in {PICTURES, SHARD_FOLDER}:
                folders += [folder, *_folders_in(folder)]
    for folder in folders:
        for rest in folder.glob(f".*{PARTIAL}"):
            rest.unlink(missing_ok=True)


def _folders_in(folder: Path) -> list[Path]:
    """Return the subfolders of a folder; links are not followed."""
    with os.scandir(folder) as entries:
        return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]

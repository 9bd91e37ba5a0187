"""Where the images of a release are: loose files in folders, or shards.

Callers name an image by its path in a release with loose files and do not know which of the two it
is. A release is untrusted: nothing outside its tree is read, and the bytes of an image in a shard
are verified whenever they are read.
"""

from __future__ import annotations

import hashlib
import os
import stat
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from medrcube.errors import ReleaseError
from medrcube.release_format.shards import FOLDER, SHARDS, Shard, read_members, read_shards
from medrcube.release_format.tree import LARGEST_PICTURE, open_file, stat_file

__all__ = [
    "DamagedShardError",
    "FolderImages",
    "ImageState",
    "ReleaseImages",
    "ShardImages",
    "open_images",
]


class DamagedShardError(ReleaseError):
    """A shard is truncated or changed; the message names it and says what to do."""

    def __init__(self, shard: str, fault: str) -> None:
        super().__init__(
            f"{shard}: {fault}; download this shard again, or, if it holds "
            "restricted images, delete it and run  medrcube reconstruct"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageState:
    """What shows, without reading an image, whether it has changed.

    Attributes:
        size: size of the image in bytes.
        mtime_ns: modification time of the file that holds it.
        inode: inode number of that file.
    """

    size: int
    mtime_ns: int
    inode: int


class ReleaseImages(Protocol):
    """Read access to the images of a release, each named ``BUSI/pictures/NAME.png``."""

    def state(self, image: str) -> ImageState | None:
        """Return the state of an image; ``None`` if this copy of the release lacks it.

        Raises:
            ReleaseError: it must not be opened: a link leads out of the release, or it is not a
                regular file.
        """
        ...

    def read(self, image: str) -> bytes:
        """Return the bytes of an image.

        Raises:
            DamagedShardError: the bytes are not those of the index of its shard.
            ReleaseError: it is missing, unreadable or too large.
        """
        ...

    def file_of(self, image: str) -> str | None:
        """Return the path in the release of the file that holds an image; ``None`` if none does."""
        ...


class FolderImages:
    """Images as loose files, ``SOURCE/pictures/NAME.png``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._real_root = os.path.realpath(root)
        self._plain_folders: dict[str, bool] = {}

    def state(self, image: str) -> ImageState | None:
        """Return the state of the file."""
        status = self._stat(image)
        if status is None:
            return None
        return ImageState(size=status.st_size, mtime_ns=status.st_mtime_ns, inode=status.st_ino)

    def read(self, image: str) -> bytes:
        """Return the bytes of the file."""
        with open_file(self._root, self._root / image, largest=LARGEST_PICTURE) as file:
            return file.read()

    def file_of(self, image: str) -> str | None:
        """Return the image itself if it is there."""
        return None if self._stat(image) is None else image

    def _stat(self, image: str) -> os.stat_result | None:
        """Like ``stat_file``, but fast for a regular file in a folder reached without links."""
        folder, _, _ = image.rpartition("/")
        if folder not in self._plain_folders:
            real = os.path.realpath(self._root / folder)
            self._plain_folders[folder] = real == os.path.join(self._real_root, folder)  # noqa: PTH118
        if self._plain_folders[folder]:
            try:
                status = os.lstat(f"{self._real_root}/{image}")
            except (OSError, ValueError):
                pass
            else:
                if stat.S_ISREG(status.st_mode):
                    return status
        return stat_file(self._root, self._root / image)


class ShardImages:
    """Images in shards; an image whose shard is missing may lie there as a loose file.

    ``medrcube reconstruct`` writes loose files until it has every image of a shard. The tables of a
    source are read on first use and kept in columns, about 0.2 KB for each image.
    """

    def __init__(self, root: Path, shards: tuple[Shard, ...]) -> None:
        self._root = root
        self._loose = FolderImages(root)
        self._shards: dict[str, list[Shard]] = {}
        for shard in shards:
            self._shards.setdefault(shard.dataset, []).append(shard)
        self._places: dict[str, _Places] = {}
        self._present: dict[str, bool] = {}

    def state(self, image: str) -> ImageState | None:
        """Return size of the image, and time and inode of its shard."""
        place = self._place(image)
        if place is None:
            return self._loose.state(image)
        status = (self._root / place.shard.name).stat()
        return ImageState(size=place.size, mtime_ns=status.st_mtime_ns, inode=status.st_ino)

    def read(self, image: str) -> bytes:
        """Return the bytes of the image, verified by their digest."""
        place = self._place(image)
        if place is None:
            return self._loose.read(image)
        shard = place.shard.name
        if place.size > LARGEST_PICTURE:
            raise ReleaseError(f"{image}: has {place.size:,} bytes; expected less")
        with open_file(self._root, self._root / shard) as file:
            file.seek(place.offset)
            data = file.read(place.size)
        if hashlib.sha256(data).digest() != place.sha256:
            raise DamagedShardError(shard, f"the bytes of {image} differ from the released ones")
        return data

    def file_of(self, image: str) -> str | None:
        """Return the shard, or the loose file."""
        place = self._place(image)
        return self._loose.file_of(image) if place is None else place.shard.name

    def _place(self, image: str) -> _Place | None:
        """Return where an image is in a shard; ``None`` unless that shard is there."""
        dataset = image.partition("/")[0]
        if dataset not in self._places:
            self._places[dataset] = _Places(self._root, self._shards.get(dataset, []))
        place = self._places[dataset].find(image)
        return place if place and self._is_present(place.shard) else None

    def _is_present(self, shard: Shard) -> bool:
        if shard.name not in self._present:
            state = stat_file(self._root, self._root / shard.name)
            if state is not None and state.st_size != shard.size:
                raise DamagedShardError(
                    shard.name, f"has {state.st_size:,} bytes, expected {shard.size:,}"
                )
            self._present[shard.name] = state is not None
        return self._present[shard.name]


def open_images(root: Path) -> ReleaseImages:
    """Return the images of a release, in whichever form it holds them.

    Raises:
        ReleaseError: the list of shards breaks a rule, or is missing although there are shards.
    """
    if shards := read_shards(root):
        return ShardImages(root, shards)
    stray = next(root.glob(f"*/{FOLDER}/*.tar"), None)
    if stray is not None:
        raise ReleaseError(
            f"{root / SHARDS}: is missing, but {stray.relative_to(root).as_posix()} is there; "
            "download the list again"
        )
    return FolderImages(root)


@dataclass(frozen=True, slots=True)
class _Place:
    shard: Shard
    offset: int
    size: int
    sha256: bytes


class _Places:
    """The tables of all shards of one source, in columns sorted by image."""

    def __init__(self, root: Path, shards: list[Shard]) -> None:
        self._shards = shards
        names: list[str] = []
        numbers, offsets, sizes = array("L"), array("Q"), array("Q")
        digests = bytearray()
        for number, shard in enumerate(shards):
            for member in read_members(root, shard):
                names.append(member.image)
                numbers.append(number)
                offsets.append(member.offset)
                sizes.append(member.size)
                digests += bytes.fromhex(member.sha256)
        order = sorted(range(len(names)), key=names.__getitem__)
        self._rows = array("Q", order)
        self._names = [names[row] for row in order]
        self._numbers, self._offsets, self._sizes = numbers, offsets, sizes
        self._digests = bytes(digests)

    def find(self, image: str) -> _Place | None:
        at = bisect_left(self._names, image)
        if at == len(self._names) or self._names[at] != image:
            return None
        row = self._rows[at]
        return _Place(
            self._shards[self._numbers[row]],
            self._offsets[row],
            self._sizes[row],
            self._digests[32 * row : 32 * row + 32],
        )

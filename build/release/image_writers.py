"""Writers of the images of a new release: as loose files, or in shards of a stated size.

Both write the same images. Shards are filled in the order of image names, those with restricted
images apart from the others, so that their bytes depend on the images and the size alone, and the
public and the private edition have the same shards of redistributable images.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Protocol

from medrcube.errors import ReleaseError, WorkspaceError
from medrcube.files.atomic import sha256_of
from medrcube.release_format.format_version import CURRENT, SHARDED, ReleaseFormat
from medrcube.release_format.shards import (
    Shard,
    ShardMember,
    member_name,
    shard_name,
    write_members,
    write_shards,
)
from medrcube.release_format.tar_members import END, member_header, padding
from medrcube.release_format.tree import PICTURES

__all__ = ["FolderWriter", "ImageWriter", "ShardBytes", "ShardWriter", "parse_shard_size"]


SMALLEST = 10**6
"""Smallest size that a user can choose: smaller shards are slower than loose files."""

_SIZE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?([KMGT]i?B)", re.IGNORECASE)
_UNITS = {
    f"{letter}{binary}b": (1024 if binary else 1000) ** power
    for power, letter in enumerate("kmgt", 1)
    for binary in ("", "i")
}


class ImageWriter(Protocol):
    """Writes the images of a new release."""

    @property
    def release_format(self) -> ReleaseFormat:
        """Format of a release with images in this form."""
        ...

    def write(
        self, tree: Path, files: Mapping[str, Path], restricted: Collection[str], *, private: bool
    ) -> Mapping[str, str]:
        """Write the images.

        Args:
            tree: the new release.
            files: path of each image in a release with loose files -> its file.
            restricted: those that may not be redistributed.
            private: write these too.

        Returns:
            Path in the private release -> digest of each file with restricted images, whether it
            was written or not.

        Raises:
            ReleaseError: an image cannot be stored under its name.
        """
        ...


class FolderWriter:
    """Writes each image as a file of its own."""

    release_format = CURRENT

    def write(
        self, tree: Path, files: Mapping[str, Path], restricted: Collection[str], *, private: bool
    ) -> Mapping[str, str]:
        """Copy the files."""
        for dataset in {image.partition("/")[0] for image in files}:
            (tree / dataset / PICTURES).mkdir(parents=True, exist_ok=True)
        for image, file in files.items():
            if private or image not in restricted:
                place = tree / image
                place.parent.mkdir(exist_ok=True)
                shutil.copyfile(file, place)
        return {image: sha256_of(files[image]) for image in restricted}


class ShardWriter:
    """Writes images into tar files of at most ``size`` bytes, one image at least in each."""

    release_format = SHARDED

    def __init__(self, size: int) -> None:
        self._size = size

    def write(
        self, tree: Path, files: Mapping[str, Path], restricted: Collection[str], *, private: bool
    ) -> Mapping[str, str]:
        """Write shards, their tables and the list of shards."""
        shards: list[Shard] = []
        groups: dict[tuple[str, bool], list[str]] = {}
        for image in sorted(files):
            groups.setdefault((image.partition("/")[0], image in restricted), []).append(image)
        for (dataset, is_closed), images in sorted(groups.items()):
            for number, part in enumerate(self._parts(images, files)):
                name = shard_name(dataset, number, restricted=is_closed)
                is_kept = private or not is_closed
                shards.append(
                    _write(tree, name, part, files, restricted=is_closed, is_kept=is_kept)
                )
        write_shards(tree, shards)
        return {shard.name: shard.sha256 for shard in shards if shard.restricted}

    def _parts(self, images: Iterable[str], files: Mapping[str, Path]) -> Iterator[list[str]]:
        """Yield the images of one shard after another."""
        part: list[str] = []
        filled = len(END)
        for image in images:
            size = files[image].stat().st_size
            path = image.partition("/")[2]
            size += len(padding(size)) + len(member_header(member_name(path), size))
            if part and filled + size > self._size:
                yield part
                part, filled = [], len(END)
            part.append(image)
            filled += size
        yield part


def parse_shard_size(text: str | None) -> int | None:
    """Return the number of bytes of a size such as ``512MB``, ``2GB`` or ``64MiB``.

    Raises:
        WorkspaceError: it is not such a size, or is less than a megabyte.
    """
    if text is None:
        return None
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * _UNITS[match[2].lower()]) if match else 0
    if size < SMALLEST:
        raise WorkspaceError(
            f"shard size {text!r}: expected a number of at least one megabyte with its unit, such "
            "as 512MB or 2GB"
        )
    return size


class ShardBytes:
    """The bytes of one shard, as images are added in the order of their names.

    Args:
        sink: file to write to; ``None`` to compute the digest alone.
    """

    def __init__(self, sink: BinaryIO | None) -> None:
        self._sink = sink
        self._digest = hashlib.sha256()
        self.size = 0

    def add(self, image: str, data: bytes) -> ShardMember:
        """Append an image.

        Raises:
            ReleaseError: a tar header cannot hold its name or size.
        """
        path = image.partition("/")[2]
        try:
            self._put(member_header(member_name(path), len(data)))
        except ValueError as error:
            raise ReleaseError(f"{image}: cannot be stored in a shard: {error}") from None
        offset = self.size
        self._put(data)
        self._put(padding(len(data)))
        digest = hashlib.sha256(data).hexdigest()
        return ShardMember(image=image, offset=offset, size=len(data), sha256=digest)

    def finish(self) -> str:
        """Append the end of the archive and return the digest of all bytes."""
        self._put(END)
        return self._digest.hexdigest()

    def _put(self, data: bytes) -> None:
        self._digest.update(data)
        self.size += len(data)
        if self._sink is not None:
            self._sink.write(data)


def _write(
    tree: Path,
    name: str,
    images: Sequence[str],
    files: Mapping[str, Path],
    *,
    restricted: bool,
    is_kept: bool,
) -> Shard:
    """Write a shard, unless it is not kept, and its table in any case."""
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        content = ShardBytes(stack.enter_context(path.open("xb")) if is_kept else None)
        members = [content.add(image, files[image].read_bytes()) for image in images]
        digest = content.finish()
    shard = Shard(
        name=name,
        size=content.size,
        sha256=digest,
        images=len(members),
        restricted=restricted,
    )
    write_members(tree / shard.index, members)
    return shard

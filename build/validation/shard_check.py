"""Shard check: every byte of a shard against its table, in one pass.

Table and images determine the whole archive, so headers, padding and end are compared with what
they must be, and nothing can hide between images. Memory is bounded by the largest image, and
damage costs only the images that it touches.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from medrcube.build.validation.findings import FaultLog
from medrcube.build.validation.png_check import FileCheck, check_picture
from medrcube.errors import ReleaseError
from medrcube.release_format.shards import Shard, ShardMember, read_members, read_shards
from medrcube.release_format.tar_members import END, padding
from medrcube.release_format.tree import LARGEST_PICTURE, open_file

__all__ = ["ShardList", "check_shard", "list_shards"]

_CHUNK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardList:
    """Shards of a release.

    Attributes:
        present: those in the tree.
        absent: the others; in a public tree those with restricted images.
    """

    present: Sequence[Shard] = ()
    absent: Sequence[Shard] = ()

    def without_absent(self, root: Path, restricted: Mapping[str, str]) -> Mapping[str, str]:
        """Return a list of digests with the images of each absent shard in its place.

        Reconstructed images lie in the tree as loose files until their shard is complete.
        """
        digests = dict(restricted)
        for shard in self.absent:
            if digests.pop(shard.name, None) is not None:
                digests |= {member.image: member.sha256 for member in _sound(root, shard)}
        return digests


def list_shards(root: Path, files: Collection[str], findings: FaultLog) -> ShardList:
    """Read the list of shards; an unreadable one is recorded, and its shards are plain files."""
    try:
        shards = read_shards(root)
    except ReleaseError as error:
        findings.add("shard-table", str(error))
        shards = ()
    return ShardList(
        present=[shard for shard in shards if shard.name in files],
        absent=[shard for shard in shards if shard.name not in files],
    )


def check_shard(root: Path, shard: Shard) -> list[FileCheck]:
    """Read a shard once; return the check of the file, then those of the images in it."""
    try:
        with open_file(root, root / shard.name) as file:
            reader = _Reader(shard, file)
            images = list(reader.images(root))
            return [reader.finish(), *images]
    except (ReleaseError, OSError) as error:
        fault = ("special", f"{shard.name}: {error}")
        return [FileCheck(name=shard.name, sha256=None, faults=(fault,))]


def _sound(root: Path, shard: Shard) -> Iterator[ShardMember]:
    """Yield the rows of a table up to the first that cannot be read."""
    try:
        yield from read_members(root, shard)
    except ReleaseError:
        return


class _Reader:
    """Reads a shard from its first byte to its last."""

    def __init__(self, shard: Shard, file: BinaryIO) -> None:
        self._shard = shard
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        self._digest = hashlib.sha256()
        self._faults: list[tuple[str, str]] = []
        file.seek(0)

    def images(self, root: Path) -> Iterator[FileCheck]:
        """Yield the check of every image that the shard holds in full."""
        count = 0
        try:
            for member in read_members(root, self._shard):
                if member.offset + member.size > self._size:
                    self._fault(
                        f"ends at byte {self._size:,}, after {count:,} of {self._shard.images:,} "
                        "images"
                    )
                    return
                yield self._image(member)
                count += 1
        except ReleaseError as error:
            self._faults.append(("shard-table", str(error)))
            return
        if self._file.tell() + len(END) != self._size or self._read(len(END)) != END:
            self._fault("continues after its last image")

    def finish(self) -> FileCheck:
        """Return the check of the file."""
        while self._read(_CHUNK):
            pass
        digest = self._digest.hexdigest()
        if digest != self._shard.sha256 and not self._faults:
            self._fault("its digest differs from that in the list of shards")
        return FileCheck(name=self._shard.name, sha256=digest, faults=tuple(self._faults))

    def _image(self, member: ShardMember) -> FileCheck:
        if self._read(len(member.header)) != member.header:
            self._fault(f"the header of {member.image} differs from its index")
        if member.size > LARGEST_PICTURE:
            self._skip(member.size)
            fault = ("picture-size", f"{member.image}: has {member.size:,} bytes")
            return FileCheck(name=member.image, sha256=None, faults=(fault,))
        data = self._read(member.size)
        file_check = check_picture(member.image, io.BytesIO(data))
        if file_check.sha256 != member.sha256:
            self._fault(f"the bytes of {member.image} differ from its index")
            file_check = replace(file_check, faults=())
        if self._read(len(padding(member.size))) != padding(member.size):
            self._fault(f"bytes follow {member.image}")
        return file_check

    def _read(self, count: int) -> bytes:
        data = self._file.read(count)
        self._digest.update(data)
        return data

    def _skip(self, count: int) -> None:
        while count:
            count -= len(self._read(min(count, _CHUNK)))

    def _fault(self, what: str) -> None:
        self._faults.append(("shard", f"{self._shard.name}: {what}"))

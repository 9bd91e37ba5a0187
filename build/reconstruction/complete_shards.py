"""Shards of a release whose reconstructed images are all present.

Reconstruction writes loose files, so that it can be interrupted and continued, whatever the order
of sources. Once every image of a shard is there with the bytes that were released, the shard is
written and its loose files are deleted: a release with all its restricted images is then the
private edition, byte for byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from medrcube.build.reconstruction.safe_writes import safe_path
from medrcube.build.release.image_writers import ShardBytes
from medrcube.errors import ReleaseError
from medrcube.files.atomic import replacing
from medrcube.release_format.images import FolderImages
from medrcube.release_format.shards import (
    SHARDS,
    Shard,
    ShardMember,
    read_members,
    read_shards,
)
from medrcube.release_format.tree import stat_file

__all__ = ["CompletedShards", "complete_shards"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedShards:
    """Result for a release with shards.

    Attributes:
        written: number of shards that were completed now.
        loose: number of images that stay loose files, because other images of their shard are
            missing, or because another version of the PNG encoder gave other bytes.
    """

    written: int
    loose: int


def complete_shards(tree: Path) -> CompletedShards | None:
    """Write every missing shard whose images are all in the tree; ``None`` without any shards.

    Args:
        tree: the release, with all links resolved.

    Raises:
        ReleaseError: a table of shards breaks a rule, or a path leads out of the tree.
        WorkspaceError: the tree cannot be written.
    """
    shards = read_shards(tree)
    if not shards:
        return None
    completed = loose = 0
    files = FolderImages(tree)
    for shard in shards:
        members = tuple(read_members(tree, shard))
        here = [member for member in members if files.state(member.image) is not None]
        if not here:
            continue
        is_there = stat_file(tree, tree / shard.name) is not None
        if not is_there and len(here) == len(members) and _write(tree, shard, members):
            is_there = True
            completed += 1
        if is_there:
            _delete(tree, here)
        else:
            loose += len(here)
    return CompletedShards(written=completed, loose=loose)


class _OtherBytesError(Exception):
    """A loose file has the released pixels and other bytes."""


def _write(tree: Path, shard: Shard, members: Sequence[ShardMember]) -> bool:
    """Write a shard from loose files, unless their bytes are not those that were released."""
    images = FolderImages(tree)
    target = safe_path(tree, shard.name)
    with suppress(_OtherBytesError), replacing(target) as path, path.open("wb") as file:
        content = ShardBytes(file)
        for member in members:
            if content.add(member.image, images.read(member.image)) != member:
                raise _OtherBytesError
        if content.finish() != shard.sha256:
            raise ReleaseError(
                f"{shard.index}: does not match the digest of {shard.name} in {SHARDS}; "
                "download both again"
            )
        return True
    return False


def _delete(tree: Path, members: Sequence[ShardMember]) -> None:
    folders = set()
    for member in members:
        path = safe_path(tree, member.image)
        path.unlink()
        folders.update(list(path.parents)[: len(PurePosixPath(member.path).parts) - 1])
    for folder in sorted(folders, reverse=True):
        with suppress(OSError):  # other images are waiting for their shard
            folder.rmdir()

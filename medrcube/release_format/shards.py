"""Shards of a release: tar files with its images, and the tables that say where each image is.

``shards.csv`` lists the shards with size and digest. Beside each shard, a table of the same name
ends in ``.csv`` and holds offset, size and digest of every image in it, so that one image can be
read without unpacking. The tables are in both editions of a release; a shard with restricted images
is in the private edition only.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from medrcube.errors import ReleaseError
from medrcube.files.atomic import write_text
from medrcube.release_format.tar_members import END, member_header, padding
from medrcube.release_format.tree import (
    PICTURES,
    leaves_folder,
    open_file,
    safe_repr,
    stat_file,
)

__all__ = [
    "FOLDER",
    "SHARDS",
    "Shard",
    "ShardMember",
    "member_name",
    "read_members",
    "read_shards",
    "shard_name",
    "write_members",
    "write_shards",
]

SHARDS = "shards.csv"
"""List of all shards of a release; a release without it holds its images as loose files."""

FOLDER = "shards"
"""Folder of the shards of one source."""

_SHARD_COLUMNS = ("shard", "bytes", "sha256", "images", "restricted")
_MEMBER_COLUMNS = ("image_path", "offset", "bytes", "sha256")
_YES_NO = {"yes": True, "no": False}
_NAME = re.compile(rf"[^/]+/{FOLDER}/(images|restricted)-[0-9]{{5,}}\.tar")
_PATH = re.compile(rf"{PICTURES}/([0-9a-f]{{2}}/)?[A-Za-z0-9._-]{{1,300}}")
_NUMBER = re.compile("0|[1-9][0-9]{0,17}")
_SIZE = re.compile("0|[1-9][0-9]{0,8}")
_DIGEST = re.compile("[0-9a-f]{64}")
_LARGEST = 2**28


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """One shard.

    Attributes:
        name: path in the release.
        size: size in bytes.
        sha256: digest of its bytes.
        images: number of images in it.
        restricted: whether its images may not be redistributed.
    """

    name: str
    size: int
    sha256: str
    images: int
    restricted: bool

    @property
    def index(self) -> str:
        """Path of the table of its images in the release."""
        return f"{self.name.removesuffix('.tar')}.csv"

    @property
    def dataset(self) -> str:
        """Folder of its source in the release."""
        return self.name.partition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardMember:
    """One image in a shard.

    Attributes:
        image: path of the image in a release with loose files, ``BUSI/pictures/NAME.png``.
        offset: offset of its first byte in the shard.
        size: size in bytes.
        sha256: digest of its bytes.
    """

    image: str
    offset: int
    size: int
    sha256: str

    @property
    def path(self) -> str:
        """Path of the image in the folder of its source."""
        return self.image.partition("/")[2]

    @property
    def header(self) -> bytes:
        """Bytes before the image in the shard."""
        return member_header(member_name(self.path), self.size)


def member_name(path: str) -> str:
    """Return the name of an image in the archive: its path with ``+`` for all dots but the last.

    WebDataset takes all that stands before the first dot as the key of a sample, so that each image
    is a sample of its own.
    """
    stem, dot, ending = path.rpartition(".")
    return f"{stem.replace('.', '+')}{dot}{ending}"


def shard_name(dataset: str, number: int, *, restricted: bool) -> str:
    """Return the path of a shard in a release."""
    kind = "restricted" if restricted else "images"
    return f"{dataset}/{FOLDER}/{kind}-{number:05d}.tar"


def write_shards(tree: Path, shards: Iterable[Shard]) -> None:
    """Write ``shards.csv`` of a new release."""
    rows = (
        (
            shard.name,
            shard.size,
            shard.sha256,
            shard.images,
            "yes" if shard.restricted else "no",
        )
        for shard in shards
    )
    write_text(tree / SHARDS, _as_csv(_SHARD_COLUMNS, rows))


def write_members(path: Path, members: Iterable[ShardMember]) -> None:
    """Write the table of the images of one shard."""
    rows = ((member.path, member.offset, member.size, member.sha256) for member in members)
    write_text(path, _as_csv(_MEMBER_COLUMNS, rows))


def read_shards(root: Path) -> tuple[Shard, ...]:
    """Read ``shards.csv``; empty if the release has no such list.

    Raises:
        ReleaseError: the list breaks a rule; names the line.
    """
    if stat_file(root, root / SHARDS) is None:
        return ()
    shards: dict[str, Shard] = {}
    for line, row in _rows(root, SHARDS, _SHARD_COLUMNS):
        name, size, digest, images, restricted = row
        numbers = _NUMBER.fullmatch(size) and _NUMBER.fullmatch(images)
        sound = _NAME.fullmatch(name) and not leaves_folder(name) and name not in shards
        if not (numbers and sound and _DIGEST.fullmatch(digest) and restricted in _YES_NO):
            raise ReleaseError(f"{SHARDS} line {line}: {safe_repr(row)} is no shard")
        shards[name] = Shard(
            name=name,
            size=int(size),
            sha256=digest,
            images=int(images),
            restricted=_YES_NO[restricted],
        )
    return tuple(shards.values())


def read_members(root: Path, shard: Shard) -> Iterator[ShardMember]:
    """Yield the images of a shard in the order of their bytes, each checked.

    Offsets must be those of an archive with these members and nothing between them.

    Raises:
        ReleaseError: the table is missing or breaks a rule; names the line.
    """
    end, count, last = 0, 0, ""
    for line, row in _rows(root, shard.index, _MEMBER_COLUMNS):
        path, offset, size, digest = row
        numbers = _NUMBER.fullmatch(offset) and _SIZE.fullmatch(size)
        sound = _PATH.fullmatch(path) and not leaves_folder(path) and last < path
        if not (numbers and sound and _DIGEST.fullmatch(digest)):
            raise ReleaseError(f"{shard.index} line {line}: {safe_repr(row)} is no image")
        member = ShardMember(
            image=f"{shard.dataset}/{path}", offset=int(offset), size=int(size), sha256=digest
        )
        start = end + len(member.header)
        if member.offset != start:
            raise ReleaseError(
                f"{shard.index} line {line}: offset is {offset}; expected {start}, next to the "
                "image before"
            )
        end = start + member.size + len(padding(member.size))
        count, last = count + 1, path
        yield member
    if (count, end + len(END)) != (shard.images, shard.size):
        raise ReleaseError(
            f"{shard.index}: has {count:,} images for a shard of {end + len(END):,} bytes; "
            f"{SHARDS} says {shard.images:,} and {shard.size:,}"
        )


def _as_csv(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _rows(root: Path, name: str, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row."""
    with open_file(root, root / name, largest=_LARGEST) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            reader = csv.reader(text, strict=True)
            if tuple(next(reader, ())) != columns:
                raise ReleaseError(f"{name}: expected the columns {', '.join(columns)}")
            for row in reader:
                if len(row) != len(columns):
                    raise ReleaseError(
                        f"{name} line {reader.line_num}: has {len(row)} values; expected "
                        f"{len(columns)}"
                    )
                yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise ReleaseError(f"{name}: cannot be read: {error}") from None

"""Results of shards in the build cache: looked up, kept, and their texts read back in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.incremental.result_cache import RecordStore, dump_record, load_record
from medrcube.build.incremental.shards import pack_states
from medrcube.build.stages.shard_result import ShardBuild, ShardTexts
from medrcube.errors import WorkspaceError

__all__ = ["BETWEEN", "KeptShard", "PictureLines", "RecipeTexts", "keep_shard", "load_shard"]

BETWEEN = "\0"
"""Stands between paths of images, in which it cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _ShardRecord:
    """What a shard gave, and its images.

    Attributes:
        build: the result.
        images: their paths below the folder of the source's images, one after another.
        states: states in which their bytes were right, as ``shards.pack_states`` packs them.
    """

    build: ShardBuild
    images: str
    states: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptShard:
    """A shard in the cache.

    Attributes:
        name: of its records, less their kind.
        key: hash of all that its result depends on beside its images.
        build: the result.
        images: as in the record.
        states: as in the record.
    """

    name: str
    key: str
    build: ShardBuild
    images: str
    states: bytes

    def image_names(self) -> list[str]:
        """Paths of its images below the folder of the source's images."""
        return self.images.split(BETWEEN) if self.images else []

    def holds(self, pictures: TreeSnapshot) -> bool:
        """Whether its images are in the states in which they were left."""
        return pack_states(map(pictures.states.get, self.image_names())) == self.states


def load_shard(memory: RecordStore, name: str, key: str) -> KeptShard | None:
    """The result that was kept of a shard under a key, if the cache has it."""
    record = load_record(memory, f"shard/{name}", key, _ShardRecord)
    if record is None:
        return None
    return KeptShard(
        name=name, key=key, build=record.build, images=record.images, states=record.states
    )


def keep_shard(memory: RecordStore, shard: KeptShard, texts: ShardTexts) -> None:
    """Keep a result in place of the last one of that name."""
    record = _ShardRecord(build=shard.build, images=shard.images, states=shard.states)
    memory.remember(f"texts/{shard.name}", shard.key, dump_record(texts))
    memory.remember(f"shard/{shard.name}", shard.key, dump_record(record))


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeTexts:
    """Recipes of the images of a source, one text for each shard, read as they are asked for."""

    memory: RecordStore
    shards: Sequence[tuple[str, str]]

    def __iter__(self) -> Iterator[str]:
        for name, key in self.shards:
            yield _texts(self.memory, name, key).recipes


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLines:
    """Raw files that the images of a source are made of, in the order of their names.

    Attributes:
        memory: the cache.
        shards: name, key, and first and last name of the files of each shard.
    """

    memory: RecordStore
    shards: Sequence[tuple[str, str, tuple[str, ...]]]

    def __iter__(self) -> Iterator[str]:
        for group in self._overlapping():
            lines: dict[str, str] = {}
            for name, key in group:
                lines.update(_texts(self.memory, name, key).files)
            yield "".join(line for _, line in sorted(lines.items()))

    def _overlapping(self) -> Iterator[list[tuple[str, str]]]:
        """Shards whose files have to be sorted together; as a rule each stands alone."""
        group: list[tuple[str, str]] = []
        end = ""
        spans = sorted((span, name, key) for name, key, span in self.shards if span)
        for (first, last), name, key in spans:
            if group and first > end:
                yield group
                group = []
            end = max(end, last) if group else last
            group.append((name, key))
        if group:
            yield group


def _texts(memory: RecordStore, name: str, key: str) -> ShardTexts:
    texts = load_record(memory, f"texts/{name}", key, ShardTexts)
    if texts is None:
        source = name.partition("/")[0]
        memory.forget(f"shard/{source}/", ())
        raise WorkspaceError(
            f"the build cache has lost recipes of {source!r}, as after damage to its file; build "
            "again, and they are made anew"
        )
    return texts

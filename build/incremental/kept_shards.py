"""Cached shard results: look-up, storage, and reading their texts back in order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from medrcube.build.column_blocks import Spool, SpoolRange
from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.incremental.result_cache import RecordStore, dump_record, load_record
from medrcube.build.incremental.state_table import NO_FILE, with_states
from medrcube.build.stages.shard_result import (
    ShardBuild,
    ShardTables,
    ShardTexts,
    TablesInSpool,
)
from medrcube.errors import WorkspaceError

__all__ = [
    "KINDS",
    "KeptShard",
    "PictureLines",
    "RecipeTexts",
    "ShardRecord",
    "keep_shard",
    "load_shard",
]

Record = TypeVar("Record")

KINDS = ("shard", "recipes", "lines")
"""Kinds of records of a shard; the name of a record begins with its kind."""

_BETWEEN = "\0"
"""Separator between image paths, in which it cannot occur."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRecord:
    """Result of a shard, and its images.

    Attributes:
        build: the result.
        tables: its tables.
        images: paths of its images relative to the folder of the source's images.
        states: states in which their bytes were verified, packed by ``StateTable.packed``.
    """

    build: ShardBuild
    tables: ShardTables
    images: tuple[str, ...]
    states: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _FileLines:
    """See ``ShardTexts.files``."""

    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptShard:
    """A shard in the cache; what takes memory is in a spool.

    Attributes:
        name: name of its records, without their kind.
        key: hash of everything that its result depends on besides its images.
        build: the result.
        tables: its tables.
        images: see ``ShardRecord``; concatenated.
        states: see ``ShardRecord``.
    """

    name: str
    key: str
    build: ShardBuild
    tables: TablesInSpool
    images: SpoolRange
    states: SpoolRange

    def image_names(self) -> list[str]:
        """Return the paths of its images relative to the folder of the source's images."""
        images = os.fsdecode(self.images.read())
        return images.split(_BETWEEN) if images else []

    def recorded(self) -> Iterator[tuple[str, bytes]]:
        """Yield its images with the packed states in which their bytes were verified."""
        return with_states(self.image_names(), self.states.read())

    def verified(self) -> Iterator[tuple[str, bytes]]:
        """Yield the same, except images whose bytes were not verified."""
        return ((name, state) for name, state in self.recorded() if state != NO_FILE)

    def holds(self, pictures: TreeSnapshot) -> bool:
        """Whether its images still have the recorded states."""
        return pictures.states.packed(self.image_names()) == self.states.read()


def load_shard(
    memory: RecordStore, spool: Spool, name: str, key: str, kinds: dict[bytes, bytes]
) -> KeptShard | None:
    """Load the result stored for a shard under a key, if the cache has it.

    Args:
        memory: the cache.
        spool: where its tables are kept until they are needed.
        name: name of the shard.
        key: its key.
        kinds: kinds of questions of the shards loaded before; see ``ShardBuild.sharing``.
    """
    record = load_record(memory, f"shard/{name}", key, ShardRecord)
    if record is None:
        return None
    return _in_spool(name, key, replace(record, build=record.build.sharing(kinds)), spool)


def keep_shard(
    memory: RecordStore,
    spool: Spool,
    record: ShardRecord,
    texts: ShardTexts,
    *,
    name: str,
    key: str,
) -> KeptShard:
    """Store a result in place of the last one of that name; arguments as of ``load_shard``."""
    memory.remember(f"recipes/{name}", key, texts.recipes.encode())
    memory.remember(f"lines/{name}", key, dump_record(_FileLines(lines=texts.files)))
    memory.remember(f"shard/{name}", key, dump_record(record))
    return _in_spool(name, key, record, spool)


def _in_spool(name: str, key: str, record: ShardRecord, spool: Spool) -> KeptShard:
    return KeptShard(
        name=name,
        key=key,
        build=record.build,
        tables=record.tables.to_spool(spool),
        images=spool.add(os.fsencode(_BETWEEN.join(record.images))),
        states=spool.add(record.states),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeTexts:
    """Recipes of the images of a source, one text for each shard, read on iteration."""

    memory: RecordStore
    shards: Sequence[tuple[str, str]]

    def __iter__(self) -> Iterator[str]:
        for name, key in self.shards:
            recipes = self.memory.recall(f"recipes/{name}", key)
            yield _require(self.memory, name, recipes).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLines:
    """Raw files that the images of a source are made of, sorted by name.

    Attributes:
        memory: the cache.
        shards: name, key, and first and last file name of each shard.
    """

    memory: RecordStore
    shards: Sequence[tuple[str, str, tuple[str, ...]]]

    def __iter__(self) -> Iterator[str]:
        for group in self._overlapping():
            lines: dict[str, str] = {}
            for name, key in group:
                record = load_record(self.memory, f"lines/{name}", key, _FileLines)
                lines.update(_require(self.memory, name, record).lines)
            yield "".join(line for _, line in sorted(lines.items()))

    def _overlapping(self) -> Iterator[list[tuple[str, str]]]:
        """Yield groups of shards whose files must be sorted together; usually single shards."""
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


def _require(memory: RecordStore, name: str, record: Record | None) -> Record:
    """Return a record of a shard; without it, the shard has to be built again."""
    if record is None:
        source = name.partition("/")[0]
        memory.forget(f"shard/{source}/", ())
        raise WorkspaceError(
            f"the build cache has lost recipes of {source!r}, as after damage to its file; build "
            "again to recreate them"
        )
    return record

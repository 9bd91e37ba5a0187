"""Shards: runs of consecutive cases of a source, the unit in which its results are kept.

A shard ends where the hash of a case's key says so, so that a case that comes or goes changes the
shard in which it lies and no other. What a shard gave is kept under a hash of all that went into
it: card, adapter, code and settings of the source, every statement about its cases, and the states
of their raw files. It is taken again only while its images are in the states in which they were
left. Thus one changed file costs the cases of one shard, and no record holds a whole source.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from operator import attrgetter
from pathlib import PurePath
from typing import Any

from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.incremental.result_cache import hash_values
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.source_result import ShardBuild

__all__ = ["CASES", "Shard", "ShardRecord", "in_shards", "key_of_shard", "name_of_shard"]

CASES = 1_000
"""Cases of a shard on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Consecutive cases of a source, as jobs.

    Attributes:
        name: of its record.
        key: hash of all that its result depends on beside its images; ``None`` where a change of
            a raw file might not show in it.
        jobs: one for each case, in the order of the scan; none once there is a result.
    """

    name: str
    key: str | None
    jobs: tuple[RenderJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRecord:
    """What a shard gave, and its images.

    Attributes:
        build: the result.
        images: path below the folder of images -> state in which its bytes were right.
    """

    build: ShardBuild
    images: Mapping[str, tuple[int, ...]]


def in_shards(jobs: Sequence[RenderJob]) -> Iterator[tuple[RenderJob, ...]]:
    """Consecutive jobs of one source; where they are parted depends on keys of cases alone."""
    first = 0
    for end, job in enumerate(jobs, 1):
        digest = hashlib.sha256(job.case.key.encode(errors="surrogateescape")).digest()
        if int.from_bytes(digest[:8]) % CASES == 0 or end == len(jobs):
            yield tuple(jobs[first:end])
            first = end


def name_of_shard(jobs: Sequence[RenderJob]) -> str:
    """Name of the record of a shard; two shards of a source differ in their last cases."""
    return f"shard/{jobs[-1].source}/{hash_values(jobs[-1].case.key)[:32]}"


def key_of_shard(common: str, jobs: Sequence[RenderJob], raw: TreeSnapshot) -> str | None:
    """Hash of what the result of a shard depends on beside its images.

    Args:
        common: hash of what all cases of the source depend on.
        jobs: of its cases.
        raw: the source's raw tree.

    Returns:
        The hash, or ``None`` where a change of a raw file might not show in it.
    """
    if not raw.settled:
        return None
    digest = hashlib.sha256(common.encode())
    for job in jobs:
        states = [raw.state(path) for path in job.case.files()]
        stated = (job.name, _plain(job.case), states)
        digest.update(repr(stated).encode(errors="surrogateescape") + b"\n")
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """A record as plain values whose ``repr`` tells all of it, in a fraction of the time."""
    kind = type(value)
    if kind in _PLAIN or value is None:
        return value
    if kind is tuple:
        return tuple(map(_plain, value)) if value else ()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return (kind.__name__, *map(_plain, _values_of(kind)(value)))
    return value


_PLAIN = frozenset({str, int, float, bool})


def _values_of(kind: type) -> attrgetter[tuple[Any, ...]]:
    """All values of a record, as a tuple, also of a record of one: the first stands twice."""
    getter = _GETTERS.get(kind)
    if getter is None:
        names = [field.name for field in fields(kind)]
        getter = _GETTERS[kind] = attrgetter(names[0], *names)
    return getter


_GETTERS: dict[type, attrgetter[tuple[Any, ...]]] = {}

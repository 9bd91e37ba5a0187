"""Build of shards: what is new is rendered, and each shard is stored once its last job is done.

Cases, jobs and render results are in memory for a few shards at a time. Of the others, only the
number of results that are missing is.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from medrcube.build.incremental.build_context import BuildContext
from medrcube.build.incremental.file_states import TreeSnapshot
from medrcube.build.incremental.job_list import JobList, NewJobs
from medrcube.build.incremental.kept_scan import KeptScan
from medrcube.build.incremental.kept_shards import (
    KeptShard,
    ShardRecord,
    keep_shard,
    load_shard,
)
from medrcube.build.incremental.result_cache import hash_values
from medrcube.build.incremental.shards import Portion, key_of_shard
from medrcube.build.incremental.source_state import SourceState
from medrcube.build.incremental.state_table import StateTable
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.rendered_picture import RenderResult
from medrcube.build.stages.shard_result import ShardBuilder, UnreadableCase
from medrcube.files.atomic import remove_partial_files

__all__ = ["PlannedShard", "ShardRun", "SourceShards", "look_up_shards"]


@dataclass(slots=True, kw_only=True)
class PlannedShard:
    """A shard that is taken from the cache or has to be built.

    Attributes:
        portion: its cases.
        key: hash of everything that its result depends on besides its images, or a key that no
            later build uses if a change of a raw file might go unnoticed.
        fresh: whether its result was built now.
        kept_shard: its result and the states of its images; ``None`` until it is built.
    """

    portion: Portion
    key: str
    fresh: bool = False
    kept_shard: KeptShard | None = None

    @property
    def result(self) -> KeptShard:
        """The result, once there is one."""
        if self.kept_shard is None:
            raise ValueError(f"{self.portion.name}: asked for its result before it was complete")
        return self.kept_shard


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceShards:
    """All shards of a source.

    Attributes:
        source_state: the source.
        kept_scan: its scan.
        shards: its shards, in the order of the scan.
        folders: folders of its images, relative to its own, that jobs may have written to.
    """

    source_state: SourceState
    kept_scan: KeptScan
    shards: Sequence[PlannedShard]
    folders: set[str] = field(default_factory=set)

    def cases_to_build(self) -> int:
        """Return the number of cases of the shards that have no result yet."""
        return sum(shard.portion.cases for shard in self.shards if shard.kept_shard is None)


def look_up_shards(
    source_state: SourceState, kept_scan: KeptScan, context: BuildContext
) -> SourceShards:
    """Return all shards of a source, with cached results where nothing has changed.

    Raises:
        LostRecordError: the cache has lost a part of the scan.
    """
    common = hash_values(source_state.common, kept_scan.head.layout.layout)
    pictures = source_state.pictures
    kinds: dict[bytes, bytes] = {}
    shards: list[PlannedShard] = []
    for portion in kept_scan.head.portions:
        key = key_of_shard(common, portion.digest, kept_scan.files(portion), source_state.raw)
        shard = None
        if key and pictures.settled:
            shard = load_shard(context.cache, context.spool, portion.name, key, kinds)
        if shard is not None and (shard.build.unread or not shard.holds(pictures)):
            shard = None
        shards.append(
            PlannedShard(portion=portion, key=key or secrets.token_hex(), kept_shard=shard)
        )
    return SourceShards(source_state=source_state, kept_scan=kept_scan, shards=shards)


@dataclass(slots=True, kw_only=True)
class _OpenShard:
    """A shard to build, and the results of its jobs so far.

    Attributes:
        owner: its source.
        shard: the shard.
        builder: builds its result.
        missing: number of jobs without a result.
        keys: case -> key of its result in the cache.
        unread: cases whose files could not be read.
        states: image relative to the folder of its source -> state in which its bytes were
            verified.
    """

    owner: SourceShards
    shard: PlannedShard
    builder: ShardBuilder
    missing: int = 0
    keys: dict[str, str] = field(default_factory=dict)
    unread: dict[str, UnreadableCase] = field(default_factory=dict)
    states: dict[str, bytes] = field(default_factory=dict)

    def jobs(self) -> tuple[RenderJob, ...]:
        return self.owner.kept_scan.jobs(self.shard.portion)


class ShardRun:
    """Build of all shards that are not in the cache."""

    def __init__(self, context: BuildContext, advance: Callable[[int], object]) -> None:
        """Begin without any shard.

        Args:
            context: state of the build.
            advance: called with the number of cases that are done.
        """
        self._context = context
        self._advance = advance
        self._open: list[_OpenShard] = []
        self._new: list[NewJobs] = []
        self._hashes: list[NDArray[np.int64]] = []

    def look_up(self, owner: SourceShards) -> None:
        """Find cached render results; a shard that lacks none is built at once.

        Raises:
            LostRecordError: the cache has lost a part of the scan.
            SourceError: a label or region names a field or value that the card lacks.
        """
        layout, raw = owner.kept_scan.head.layout.layout, owner.source_state.raw
        builder = ShardBuilder(owner.source_state.source, layout, raw)
        for shard in owner.shards:
            if shard.kept_shard is None:
                self._find(_OpenShard(owner=owner, shard=shard, builder=builder))

    def render(self) -> int:
        """Render what is new and build its shards; return the number of new cases.

        Raises:
            MedrcubeError: an image cannot be written.
        """
        jobs = JobList(self._new, lambda number: self._open[number].jobs())
        by_hash = _ByHash(self._hashes)
        for job, rendered in self._context.engine.run(jobs, self._context.images):
            number = _shard_of(job, by_hash, jobs)
            opened = self._open[number]
            self._receive(opened, job, rendered)
            if not opened.missing:
                self._complete(opened, jobs.of_shard(number))
            self._advance(1)
        # A worker that died may have left partial files.
        remove_partial_files(self._context.images, depth=2)
        return len(jobs)

    def _find(self, opened: _OpenShard) -> None:
        source_state, cache = opened.owner.source_state, self._context.cache
        jobs = opened.jobs()
        new: list[int] = []
        for place, job in enumerate(jobs):
            cached = cache.find(job, source_state.raw, self._context.images, source_state.pictures)
            if cached is None:
                new.append(place)
                opened.owner.folders.add(job.place.rpartition("/")[0])
                continue
            opened.keys[job.case.key], paths = cached
            names = [path.partition("/")[2] for path in paths]
            opened.states.update(
                (name, source_state.pictures.states.packed([name])) for name in names
            )
        self._advance(len(jobs) - len(new))
        opened.missing = len(new)
        if not new:
            self._complete(opened, jobs)
            return
        sizes = [_size(jobs[place], source_state.raw) for place in new]
        self._new.append(
            NewJobs(
                shard=len(self._open),
                cases=len(jobs),
                places=np.array(new, np.int32),
                sizes=np.array(sizes, np.int64),
            )
        )
        self._hashes.append(np.array([_hash(jobs[place]) for place in new], np.int64))
        self._open.append(opened)

    def _receive(self, opened: _OpenShard, job: RenderJob, rendered: RenderResult) -> None:
        """Store the result of a job."""
        raw, images = opened.owner.source_state.raw, self._context.images
        key = self._context.cache.keep(job, rendered, raw, images)
        opened.missing -= 1
        if key is None:
            opened.unread[job.case.key] = UnreadableCase(job=job, rendered=rendered)
            return
        opened.keys[job.case.key] = key
        for image in rendered.files:
            opened.states[image.path.partition("/")[2]] = image.state

    def _complete(self, opened: _OpenShard, jobs: Sequence[RenderJob]) -> None:
        """Build the result of a shard from its render results, and store it."""
        cache, shard = self._context.cache, opened.shard
        results = {
            job.case.key: opened.unread[job.case.key].rendered
            if job.case.key in opened.unread
            else cache.result_of(job, opened.keys[job.case.key])
            for job in jobs
        }
        pictures = [picture for result in results.values() for picture in result.pictures]
        names = [picture.path.partition("/")[2] for picture in pictures]
        unread = [opened.unread[key] for key in results if key in opened.unread]
        build, tables, texts = opened.builder.build([job.case for job in jobs], results, unread)
        record = ShardRecord(
            build=build,
            tables=tables,
            images=tuple(names),
            states=StateTable(opened.states.items()).packed(names),
        )
        shard.kept_shard = keep_shard(
            cache, self._context.spool, record, texts, name=shard.portion.name, key=shard.key
        )
        shard.fresh = True
        opened.keys, opened.unread, opened.states = {}, {}, {}


class _ByHash:
    """Numbers of the shards that have a job with some hash."""

    def __init__(self, hashes: Sequence[NDArray[np.int64]]) -> None:
        joined = np.concatenate([np.empty(0, np.int64), *hashes])
        order = np.argsort(joined, kind="stable")
        counts = [len(part) for part in hashes]
        self._sorted = joined[order]
        self._shards = np.repeat(np.arange(len(hashes), dtype=np.int32), counts)[order]

    def find(self, number: int) -> list[int]:
        first, end = (
            int(np.searchsorted(self._sorted, number, side)) for side in ("left", "right")
        )
        return list(dict.fromkeys(self._shards[first:end].tolist()))


def _shard_of(job: RenderJob, by_hash: _ByHash, jobs: JobList) -> int:
    """Return the number of the shard of a job."""
    numbers = by_hash.find(_hash(job))
    if len(numbers) == 1:
        return numbers[0]
    case = (job.source, job.case.key)
    return next(
        number
        for number in numbers
        if any((other.source, other.case.key) == case for other in jobs.of_shard(number))
    )


def _hash(job: RenderJob) -> int:
    return hash((job.source, job.case.key))


def _size(job: RenderJob, raw: TreeSnapshot) -> int:
    states = [raw.state(path) for path in job.case.files()]
    return sum(state.size for state in states if state is not None)

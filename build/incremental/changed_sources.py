"""Incremental build of all sources: process changed shards, reuse stored results of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from medrcube.build.execution.local import RenderEngine
from medrcube.build.execution.progress import Stages
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.file_states import FileState, TreeSnapshot, snapshot
from medrcube.build.incremental.result_cache import dump_record, hash_values, load_record
from medrcube.build.incremental.shards import (
    Shard,
    ShardRecord,
    in_shards,
    key_of_shard,
    name_of_shard,
)
from medrcube.build.incremental.source_state import SourceState
from medrcube.build.stages.plan import RenderJob, plan_jobs
from medrcube.build.stages.render import RenderResult
from medrcube.build.stages.scan import Scan, scan
from medrcube.build.stages.source_result import (
    ShardBuild,
    ShardBuilder,
    SourceBuild,
    UnreadableCase,
    join_shards,
    retry_unreadable,
)
from medrcube.errors import SourceError
from medrcube.files.atomic import remove_partial_files

__all__ = ["BuildContext", "SourceResults", "build_sources", "jobs_of", "refusal", "store_results"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResults:
    """What all sources gave.

    Attributes:
        parts: one for each source that could be scanned, in order of id.
        refused: why the others could not, by id.
        fresh: sources that were gone through now, by id: all their shards.
        rendered: cases rendered now.
        reused: cases taken from earlier builds.
    """

    parts: tuple[SourceBuild, ...]
    refused: Mapping[str, str]
    fresh: Mapping[str, Sequence[_BuiltShard]]
    rendered: int
    reused: int

    def once_asked(self) -> SourceResults:
        """The same without what only questions are made of: much memory, and no table shows it."""
        parts = tuple(replace(part, queries=(), open_questions=()) for part in self.parts)
        return replace(self, parts=parts, fresh={})


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """What the stages of one build share."""

    images: Path
    secret: bytes
    cache: BuildCache
    engine: RenderEngine
    stages: Stages


def build_sources(source_states: Sequence[SourceState], context: BuildContext) -> SourceResults:
    """Build every source.

    Raises:
        MedrcubeError: an image cannot be written.
    """
    parts: dict[str, SourceBuild] = {}
    refused: dict[str, str] = {}
    scans: list[tuple[SourceState, Scan]] = []
    with context.stages.stage("scan", len(source_states)) as advance:
        for source_state in source_states:
            result = _unchanged_source(source_state, context)
            if result is not None:
                parts[source_state.id] = result
            else:
                try:
                    source_scan = scan(
                        source_state.source,
                        source_state.raw.root,
                        context.secret,
                        context.cache,
                        source_state.raw,
                    )
                    scans.append((source_state, source_scan))
                except SourceError as error:
                    refused[source_state.id] = refusal(source_state.id, error)
            advance()
    rendering = _RenderTally()
    shards = {
        source_state.id: list(_look_up_shards(source_state, source_scan, context))
        for source_state, source_scan in scans
    }
    rendered = _render(
        [
            (source_state, job)
            for source_state, _ in scans
            for built in shards[source_state.id]
            for job in built.shard.jobs
        ],
        rendering,
        context,
    )
    cases = sum(len(source_scan.cases) for _, source_scan in scans)
    reused = cases - rendered + sum(part.cases for part in parts.values())
    rendered_again = sum(len(part.unread) for part in parts.values())
    for source_state, source_scan in scans:
        builder = ShardBuilder(source_scan)
        for built in shards[source_state.id]:
            built.complete(builder, rendering, context)
        parts[source_state.id] = join_shards(
            source_scan, source_state.raw, [built.build for built in shards[source_state.id]]
        )
    return SourceResults(
        parts=tuple(
            parts[source_state.id] for source_state in source_states if source_state.id in parts
        ),
        refused=refused,
        fresh=shards,
        rendered=rendered + rendered_again,
        reused=reused - rendered_again,
    )


def jobs_of(source_state: SourceState, context: BuildContext) -> list[RenderJob]:
    """Jobs of a source, from what is remembered of its scan where nothing has changed."""
    result = scan(
        source_state.source, source_state.raw.root, context.secret, context.cache, source_state.raw
    )
    return plan_jobs(source_state.source, result.root, result.cases)


def refusal(source: str, error: SourceError) -> str:
    """Why a source cannot be built, beginning with its id."""
    text = str(error)
    return text if text.startswith(f"{source}: ") else f"{source}: {text}"


def store_results(
    source_states: Sequence[SourceState], results: SourceResults, context: BuildContext
) -> tuple[str, ...] | None:
    """Keep what the sources gave for the next build, and remove images that none of them has.

    Returns:
        Keys of all sources, or ``None`` where one cannot be kept: somebody writes into its raw
        tree, or an image was changed while the build was at work.
    """
    keys: list[str | None] = []
    for source_state, part in zip(source_states, results.parts, strict=True):
        if source_state.id in results.fresh:
            shards = results.fresh[source_state.id]
            keys.append(_store_result(source_state, part, shards, context))
        else:
            keys.append(source_state.key(source_state.pictures))
    whole = tuple(key for key in keys if key is not None)
    return whole if len(whole) == len(keys) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _RenderTally:
    """What became of the jobs.

    Attributes:
        kept: job -> key under which the cache holds its result.
        unread: jobs whose files could not be read, with their results.
        intact: path of an image below ``images`` -> state in which its bytes were right.
    """

    kept: dict[_Case, str] = field(default_factory=dict)
    unread: dict[_Case, UnreadableCase] = field(default_factory=dict)
    intact: dict[str, FileState] = field(default_factory=dict)


_Case = tuple[str, str]
"""Source and key of a case."""


@dataclass(slots=True, kw_only=True)
class _BuiltShard:
    """A shard on its way to a result: taken as it was kept, or made anew.

    Attributes:
        shard: its cases.
        record: its result and the states of its images; ``None`` while it has to be made.
        known: whether the cache holds the record already.
    """

    shard: Shard
    record: ShardRecord | None
    known: bool

    @property
    def build(self) -> ShardBuild:
        """The result, once there is one."""
        if self.record is None:
            raise ValueError(f"{self.shard.name}: asked for its result before it was complete")
        return self.record.build

    def complete(
        self, builder: ShardBuilder, rendering: _RenderTally, context: BuildContext
    ) -> None:
        """Make the result, where there is none yet, from what became of the jobs; lets them go."""
        if self.record is not None:
            return
        results: dict[str, RenderResult] = {}
        unread: list[UnreadableCase] = []
        for job in self.shard.jobs:
            case = (job.source, job.case.key)
            if case in rendering.unread:
                unread.append(rendering.unread[case])
                results[job.case.key] = rendering.unread[case].rendered
            else:
                results[job.case.key] = context.cache.result_of(job, rendering.kept[case])
        paths = [picture.path for result in results.values() for picture in result.pictures]
        self.record = ShardRecord(
            build=builder.build([job.case for job in self.shard.jobs], results, unread),
            images={
                path: tuple(rendering.intact[path]) for path in paths if path in rendering.intact
            },
        )
        self.shard = replace(self.shard, jobs=())


def _unchanged_source(source_state: SourceState, context: BuildContext) -> SourceBuild | None:
    key = source_state.key(source_state.pictures)
    head = (
        load_record(context.cache, f"source/{source_state.id}", key, _SourceRecord) if key else None
    )
    if head is None:
        return None
    shards: list[ShardBuild] = []
    for name, shard_key in head.shards:
        record = load_record(context.cache, name, shard_key, ShardRecord)
        if record is None:
            return None
        shards.append(record.build)
    if not retry_unreadable(head.part.unread, context.engine, context.images):
        return None
    return head.part.with_shards(shards)


def _look_up_shards(
    source_state: SourceState, source_scan: Scan, context: BuildContext
) -> Iterator[_BuiltShard]:
    """All shards of a source, with their results where nothing about them has changed."""
    common = hash_values(source_state.common, source_scan.layout.layout)
    pictures = source_state.pictures
    jobs = plan_jobs(source_state.source, source_scan.root, source_scan.cases)
    for portion in in_shards(jobs):
        key = key_of_shard(common, portion, source_state.raw)
        shard = Shard(name=name_of_shard(portion), key=key, jobs=portion)
        record = None
        if key is not None and pictures.settled:
            record = load_record(context.cache, shard.name, key, ShardRecord)
        if record is not None and (
            record.build.unread
            or any(
                pictures.state(context.images / path) != state
                for path, state in record.images.items()
            )
        ):
            record = None
        if record is not None:
            shard = replace(shard, jobs=())
        yield _BuiltShard(shard=shard, record=record, known=record is not None)


def _render(
    jobs: Sequence[tuple[SourceState, RenderJob]], rendering: _RenderTally, context: BuildContext
) -> int:
    """Render what is new and note what the cache holds; returns how many were new."""
    source_states = {source_state.id: source_state for source_state, _ in jobs}
    new: list[RenderJob] = []
    with context.stages.stage("render", len(jobs)) as advance:
        for source_state, job in jobs:
            cached = context.cache.find(
                job, source_state.raw, context.images, source_state.pictures
            )
            if cached is None:
                new.append(job)
                continue
            key, paths = cached
            rendering.kept[job.source, job.case.key] = key
            for path in paths:
                state = source_state.pictures.state(context.images / path)
                if state is not None:
                    rendering.intact[path] = state
            advance()
        # Large files first: no worker is left alone with one at the end.
        new.sort(key=lambda job: -_size(job, source_states[job.source]))
        for job, rendered in context.engine.run(new, context.images):
            kept = context.cache.keep(job, rendered, source_states[job.source].raw, context.images)
            case = (job.source, job.case.key)
            if kept is None:
                rendering.unread[case] = UnreadableCase(job=job, rendered=rendered)
            else:
                rendering.kept[case], states = kept
                rendering.intact.update(states)
            advance()
    remove_partial_files(context.images)  # a worker that died may have been writing
    return len(new)


def _size(job: RenderJob, source_state: SourceState) -> int:
    states = [source_state.raw.state(path) for path in job.case.files()]
    return sum(state.size for state in states if state is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceRecord:
    """What a source gave, without its shards, and under which names and keys those are kept."""

    part: SourceBuild
    shards: tuple[tuple[str, str], ...]


def _store_result(
    source_state: SourceState,
    part: SourceBuild,
    shards: Sequence[_BuiltShard],
    context: BuildContext,
) -> str | None:
    folder = context.images / source_state.id
    wanted = {sample.image.rpartition("/")[2] for sample in part.samples}
    for stray in folder.glob("*.png"):
        if stray.name not in wanted:
            stray.unlink(missing_ok=True)
    after = snapshot(folder)
    stored = [_store_shard(built, after, context) for built in shards]
    key = source_state.key(after)
    keys = tuple(entry for entry in stored if entry is not None)
    if key is None or len(keys) < len(stored):
        return None
    context.cache.remember(
        f"source/{source_state.id}",
        key,
        dump_record(_SourceRecord(part=part.without_shards(), shards=keys)),
    )
    context.cache.forget(f"shard/{source_state.id}/", {name for name, _ in keys})
    return key


def _store_shard(
    built: _BuiltShard, after: TreeSnapshot, context: BuildContext
) -> tuple[str, str] | None:
    """Keep what a shard gave; its name and key, or ``None`` where an image is not as it was."""
    shard, record = built.shard, built.record
    if shard.key is None or record is None or not after.settled:
        return None
    paths = {sample.image.partition("/")[2] for sample in record.build.samples}
    if any(after.state(context.images / path) != record.images.get(path) for path in paths):
        return None
    if not built.known:
        context.cache.remember(shard.name, shard.key, dump_record(record))
    return shard.name, shard.key

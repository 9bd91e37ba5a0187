"""Incremental build of all sources: changed shards are processed, other results are reused."""

from __future__ import annotations

import os
import pickle
import secrets
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from medrcube.build.execution.local import RenderEngine
from medrcube.build.execution.progress import Stages
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.kept_scan import KeptScan, LostRecordError, keep_scan, scan_anew
from medrcube.build.incremental.kept_shards import (
    BETWEEN,
    KINDS,
    KeptShard,
    PictureLines,
    RecipeTexts,
    keep_shard,
    load_shard,
)
from medrcube.build.incremental.result_cache import dump_record, hash_values, load_record
from medrcube.build.incremental.shards import key_of_shard
from medrcube.build.incremental.source_state import SourceState
from medrcube.build.incremental.state_table import StateTable
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.rendering.rendered_picture import RenderResult
from medrcube.build.stages.shard_result import ShardBuilder, UnreadableCase
from medrcube.build.stages.source_result import (
    SourceBuild,
    SourceFacts,
    join_shards,
    retry_unreadable,
)
from medrcube.errors import SourceError, WorkspaceError
from medrcube.files.atomic import remove_partial_files

__all__ = ["BuildContext", "SourceResults", "build_sources", "jobs_of", "refusal", "store_results"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResults:
    """Results of all sources.

    Attributes:
        parts: one for each source that could be scanned, sorted by id.
        refused: why the others could not be scanned, by id.
        fresh: sources of which all shards were processed now, by id.
        rendering: results of the jobs.
        rendered: number of cases rendered now.
        reused: number of cases taken from earlier builds.
    """

    parts: tuple[SourceBuild, ...]
    refused: Mapping[str, str]
    fresh: Mapping[str, Sequence[_ShardJobs]]
    rendering: _RenderTally
    rendered: int
    reused: int

    def once_asked(self) -> SourceResults:
        """Return a copy without the questions, which take much memory and are in no table."""
        parts = tuple(part.once_asked() for part in self.parts)
        return replace(self, parts=parts, fresh={}, rendering=_RenderTally())


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildContext:
    """State shared by the stages of one build."""

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
    scans: list[tuple[SourceState, KeptScan]] = []
    shards: dict[str, list[_ShardJobs]] = {}
    with context.stages.stage("scan", len(source_states)) as advance:
        for source_state in source_states:
            result = _unchanged_source(source_state, context)
            if result is not None:
                parts[source_state.id] = result
            else:
                try:
                    kept_scan, own = _look_up(source_state, context)
                    scans.append((source_state, kept_scan))
                    shards[source_state.id] = own
                except SourceError as error:
                    refused[source_state.id] = refusal(source_state.id, error)
            advance()
    rendering = _RenderTally()
    rendered = _render(
        [
            (source_state, job)
            for source_state, _ in scans
            for shard in shards[source_state.id]
            for job in shard.jobs
        ],
        rendering,
        context,
    )
    cases = sum(kept_scan.head.cases for _, kept_scan in scans)
    reused = cases - rendered + sum(part.facts.cases for part in parts.values())
    rendered_again = sum(len(part.facts.unread) for part in parts.values())
    for source_state, kept_scan in scans:
        builder = ShardBuilder(source_state.source, kept_scan.head.layout.layout, source_state.raw)
        own = shards[source_state.id]
        for shard in own:
            shard.complete(builder, rendering, context)
        facts = SourceFacts.of(kept_scan, source_state.raw, (shard.result.build for shard in own))
        parts[source_state.id] = _join(facts, [shard.result for shard in own], context)
    return SourceResults(
        parts=tuple(
            parts[source_state.id] for source_state in source_states if source_state.id in parts
        ),
        refused=refused,
        fresh=shards,
        rendering=rendering,
        rendered=rendered + rendered_again,
        reused=reused - rendered_again,
    )


def jobs_of(source_state: SourceState, context: BuildContext) -> Iterator[RenderJob]:
    """Yield the render jobs of a source from its cached scan."""
    kept_scan = keep_scan(source_state.source, source_state.raw, context.secret, context.cache)
    for portion in kept_scan.head.portions:
        yield from kept_scan.jobs(portion)


def refusal(source: str, error: SourceError) -> str:
    """Return why a source cannot be built, beginning with its id."""
    text = str(error)
    return text if text.startswith(f"{source}: ") else f"{source}: {text}"


def store_results(
    source_states: Sequence[SourceState], results: SourceResults, context: BuildContext
) -> tuple[str, ...] | None:
    """Cache the results for the next build, and delete images that no source has.

    Returns:
        Keys of all sources, or ``None`` if one cannot be cached: its raw tree is being written to,
        or the result of a job with images could not be stored.
    """
    keys: list[str | None] = []
    for source_state, part in zip(source_states, results.parts, strict=True):
        if source_state.id in results.fresh:
            shards = results.fresh[source_state.id]
            keys.append(_store_result(source_state, part, shards, results.rendering, context))
        else:
            keys.append(source_state.key(source_state.pictures))
    whole = tuple(key for key in keys if key is not None)
    return whole if len(whole) == len(keys) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _RenderTally:
    """Results of the render jobs.

    Attributes:
        kept: job -> key of its result in the cache.
        unread: jobs whose files could not be read, with their results.
        intact: source -> image relative to its folder -> state in which its bytes were verified.
        folders: source -> folders of its images, likewise, that jobs may have written to.
    """

    kept: dict[_Case, str] = field(default_factory=dict)
    unread: dict[_Case, UnreadableCase] = field(default_factory=dict)
    intact: dict[str, dict[str, bytes]] = field(default_factory=lambda: defaultdict(dict))
    folders: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


_Case = tuple[str, str]
"""Source and key of a case."""


@dataclass(slots=True, kw_only=True)
class _ShardJobs:
    """A shard that is taken from the cache or still has to be built.

    Attributes:
        name: name of its records.
        key: hash of everything that its result depends on besides its images, or a key that no
            later build uses if a change of a raw file might go unnoticed.
        jobs: jobs of its cases, in the order of the scan; empty once there is a result.
        kept: its result and the states of its images; ``None`` until it is built.
    """

    name: str
    key: str
    jobs: tuple[RenderJob, ...] = ()
    kept: KeptShard | None = None

    @property
    def result(self) -> KeptShard:
        """The result, once there is one."""
        if self.kept is None:
            raise ValueError(f"{self.name}: asked for its result before it was complete")
        return self.kept

    def complete(
        self, builder: ShardBuilder, rendering: _RenderTally, context: BuildContext
    ) -> None:
        """Build the result, if there is none yet, from the render results; releases the jobs."""
        if self.kept is not None:
            return
        results: dict[str, RenderResult] = {}
        unread: list[UnreadableCase] = []
        for job in self.jobs:
            case = (job.source, job.case.key)
            if case in rendering.unread:
                unread.append(rendering.unread[case])
                results[job.case.key] = rendering.unread[case].rendered
            else:
                results[job.case.key] = context.cache.result_of(job, rendering.kept[case])
        pictures = [picture for result in results.values() for picture in result.pictures]
        names = [picture.path.partition("/")[2] for picture in pictures]
        states = StateTable(rendering.intact[self.name.partition("/")[0]])
        shard, texts = builder.build([job.case for job in self.jobs], results, unread)
        self.kept = KeptShard(
            name=self.name,
            key=self.key,
            build=shard,
            images=BETWEEN.join(names),
            states=states.packed(names),
        )
        self.jobs = ()
        keep_shard(context.cache, self.kept, texts)


def _unchanged_source(source_state: SourceState, context: BuildContext) -> SourceBuild | None:
    key = source_state.key(source_state.pictures)
    head = (
        load_record(context.cache, f"source/{source_state.id}", key, _SourceRecord) if key else None
    )
    if head is None:
        return None
    loaded = [load_shard(context.cache, name, shard_key) for name, shard_key in head.shards]
    shards = [shard for shard in loaded if shard is not None]
    if len(shards) < len(loaded):
        return None
    if not retry_unreadable(head.facts.unread, context.engine, context.images):
        return None
    return _join(head.facts, shards, context)


def _join(facts: SourceFacts, shards: Sequence[KeptShard], context: BuildContext) -> SourceBuild:
    recipes = RecipeTexts(
        memory=context.cache, shards=[(shard.name, shard.key) for shard in shards]
    )
    lines = PictureLines(
        memory=context.cache,
        shards=[(shard.name, shard.key, shard.build.span) for shard in shards],
    )
    try:
        return join_shards(facts, [shard.build for shard in shards], recipes, lines)
    except (ValueError, IndexError, pickle.UnpicklingError) as error:
        raise WorkspaceError(
            f"the build cache does not contain results of {facts.source} ({error}); "
            "delete the folder cache of the workspace and build again"
        ) from error


def _look_up(source_state: SourceState, context: BuildContext) -> tuple[KeptScan, list[_ShardJobs]]:
    """Return the scan of a source and all its shards, with cached results where unchanged."""
    parts = (source_state.source, source_state.raw, context.secret, context.cache)
    kept_scan = keep_scan(*parts)
    try:
        return kept_scan, _look_up_shards(source_state, kept_scan, context)
    except LostRecordError:
        kept_scan = scan_anew(*parts)
        return kept_scan, _look_up_shards(source_state, kept_scan, context)


def _look_up_shards(
    source_state: SourceState, kept_scan: KeptScan, context: BuildContext
) -> list[_ShardJobs]:
    common = hash_values(source_state.common, kept_scan.head.layout.layout)
    pictures = source_state.pictures
    shards: list[_ShardJobs] = []
    for portion in kept_scan.head.portions:
        key = key_of_shard(common, portion.digest, kept_scan.files(portion), source_state.raw)
        shard = load_shard(context.cache, portion.name, key) if key and pictures.settled else None
        if shard is not None and (shard.build.unread or not shard.holds(pictures)):
            shard = None
        jobs = kept_scan.jobs(portion) if shard is None else ()
        shards.append(
            _ShardJobs(name=portion.name, key=key or secrets.token_hex(), jobs=jobs, kept=shard)
        )
    return shards


def _render(
    jobs: Sequence[tuple[SourceState, RenderJob]], rendering: _RenderTally, context: BuildContext
) -> int:
    """Render what is new and record what is cached; return the number of new cases."""
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
            rendering.kept[job.source, job.case.key], paths = cached
            for path in paths:
                name = path.partition("/")[2]
                state = source_state.pictures.states.packed([name])
                rendering.intact[job.source][name] = state
            advance()
        # Large files first, so that no worker is left with one at the end.
        new.sort(key=lambda job: -_size(job, source_states[job.source]))
        for job in new:
            rendering.folders[job.source].add(job.place.rpartition("/")[0])
        for job, rendered in context.engine.run(new, context.images):
            key = context.cache.keep(job, rendered, source_states[job.source].raw, context.images)
            case = (job.source, job.case.key)
            if key is None:
                rendering.unread[case] = UnreadableCase(job=job, rendered=rendered)
            else:
                rendering.kept[case] = key
                for image in rendered.written:
                    rendering.intact[job.source][image.path.partition("/")[2]] = image.state
            advance()
    # A worker that died may have left partial files.
    remove_partial_files(context.images, depth=2)
    return len(new)


def _size(job: RenderJob, source_state: SourceState) -> int:
    states = [source_state.raw.state(path) for path in job.case.files()]
    return sum(state.size for state in states if state is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceRecord:
    """Result of a source except its images, and the names and keys of its shards."""

    facts: SourceFacts
    shards: tuple[tuple[str, str], ...]


def _store_result(
    source_state: SourceState,
    part: SourceBuild,
    shards: Sequence[_ShardJobs],
    rendering: _RenderTally,
    context: BuildContext,
) -> str | None:
    folder, before = context.images / source_state.id, source_state.pictures
    wanted = {name for shard in shards for name in shard.result.image_names()}
    listed = _files_in(folder, rendering.folders[source_state.id])
    names = chain(before.states, before.barred, listed)
    strays = {name for name in names if name.endswith(".png") and name not in wanted}
    for name in strays:
        (folder / name).unlink(missing_ok=True)
    after = before.changed(rendering.intact[source_state.id], strays)
    for kind in KINDS:
        keep = {f"{kind}/{shard.name}" for shard in shards}
        context.cache.forget(f"{kind}/{source_state.id}/", keep)
    key = source_state.key(after)
    if key is None or not all(shard.result.holds(after) for shard in shards):
        return None
    places = tuple((shard.name, shard.result.key) for shard in shards)
    context.cache.remember(
        f"source/{source_state.id}",
        key,
        dump_record(_SourceRecord(facts=part.facts, shards=places)),
    )
    return key


def _files_in(folder: Path, subfolders: Iterable[str]) -> Iterator[str]:
    """Yield the files in some subfolders: a job may have written images before it failed."""
    for subfolder in subfolders:
        with suppress(FileNotFoundError), os.scandir(folder / subfolder) as entries:
            yield from (f"{subfolder}/{entry.name}" for entry in entries)

"""Incremental build of all sources: process changed ones, reuse stored results of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from medrcube.build.execution.local import RenderEngine
from medrcube.build.execution.progress import Stages
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.file_states import FileState, snapshot
from medrcube.build.incremental.result_cache import dump_record, load_record
from medrcube.build.incremental.source_state import SourceState
from medrcube.build.stages.plan import RenderJob, plan_jobs
from medrcube.build.stages.render import RenderResult
from medrcube.build.stages.scan import Scan, scan
from medrcube.build.stages.source_result import (
    SourceBuild,
    UnreadableCase,
    build_source,
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
        fresh: ids of the sources that were gone through now.
        rendered: cases rendered now.
        reused: cases taken from earlier builds.
        intact: path of a picture below ``images`` -> state in which its bytes were right.
    """

    parts: tuple[SourceBuild, ...]
    refused: Mapping[str, str]
    fresh: frozenset[str]
    rendered: int
    reused: int
    intact: Mapping[str, FileState]


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
        MedrcubeError: a picture cannot be written.
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
    rendering = _RenderTally(results={}, unread={}, intact={})
    jobs = [
        (source_state, job)
        for source_state, source_scan in scans
        for job in plan_jobs(source_state.source, source_scan.root, source_scan.cases)
    ]
    rendered = _render(jobs, rendering, context)
    reused = len(jobs) - rendered + sum(part.cases for part in parts.values())
    rendered_again = sum(len(part.unread) for part in parts.values())
    for source_state, source_scan in scans:
        results = rendering.results.pop(source_state.id, {})
        parts[source_state.id] = build_source(
            source_scan, source_state.raw, results, rendering.unread.get(source_state.id, ())
        )
    return SourceResults(
        parts=tuple(
            parts[source_state.id] for source_state in source_states if source_state.id in parts
        ),
        refused=refused,
        fresh=frozenset(source_state.id for source_state, _ in scans),
        rendered=rendered + rendered_again,
        reused=reused - rendered_again,
        intact=rendering.intact,
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
    """Keep what the sources gave for the next build, and remove pictures that none of them has.

    Returns:
        Keys of all sources, or ``None`` where one cannot be kept: somebody writes into its raw
        tree, or a picture was changed while the build was at work.
    """
    keys: list[str | None] = []
    for source_state, part in zip(source_states, results.parts, strict=True):
        if source_state.id in results.fresh:
            keys.append(_store_result(source_state, part, results.intact, context))
        else:
            keys.append(source_state.key(source_state.pictures))
    whole = tuple(key for key in keys if key is not None)
    return whole if len(whole) == len(keys) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _RenderTally:
    """What became of the jobs, by source."""

    results: dict[str, dict[str, RenderResult]]
    unread: dict[str, list[UnreadableCase]]
    intact: dict[str, FileState]

    def add(self, job: RenderJob, rendered: RenderResult) -> None:
        self.results.setdefault(job.source, {})[job.case.key] = rendered


def _unchanged_source(source_state: SourceState, context: BuildContext) -> SourceBuild | None:
    key = source_state.key(source_state.pictures)
    part = (
        load_record(context.cache, f"source/{source_state.id}", key, SourceBuild) if key else None
    )
    if part is None or not retry_unreadable(part.unread, context.engine, context.images):
        return None
    return part


def _render(
    jobs: Sequence[tuple[SourceState, RenderJob]], rendering: _RenderTally, context: BuildContext
) -> int:
    """Render what is new and take the rest from the cache; returns how many were new."""
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
            rendering.add(job, cached)
            for picture in cached.pictures:
                state = source_state.pictures.state(context.images / picture.path)
                if state is not None:
                    rendering.intact[picture.path] = state
            advance()
        # Large files first: no worker is left alone with one at the end.
        new.sort(key=lambda job: -_size(job, source_states[job.source]))
        for job, rendered in context.engine.run(new, context.images):
            states = context.cache.keep(
                job, rendered, source_states[job.source].raw, context.images
            )
            if states is None:
                again = UnreadableCase(job=job, rendered=rendered)
                rendering.unread.setdefault(job.source, []).append(again)
            else:
                rendering.intact.update(states)
            rendering.add(job, rendered)
            advance()
    remove_partial_files(context.images)  # a worker that died may have been writing
    return len(new)


def _size(job: RenderJob, source_state: SourceState) -> int:
    states = [source_state.raw.state(path) for path in job.case.files()]
    return sum(state.size for state in states if state is not None)


def _store_result(
    source_state: SourceState,
    part: SourceBuild,
    intact: Mapping[str, FileState],
    context: BuildContext,
) -> str | None:
    folder = context.images / source_state.id
    wanted = {sample.image.rpartition("/")[2] for sample in part.samples}
    for stray in folder.glob("*.png"):
        if stray.name not in wanted:
            stray.unlink(missing_ok=True)
    after = snapshot(folder)
    key = source_state.key(after)
    sound = all(
        after.states.get(name) == intact.get(f"{source_state.id}/{name}") for name in wanted
    )
    if key is None or not sound:
        return None
    context.cache.remember(f"source/{source_state.id}", key, dump_record(part))
    return key

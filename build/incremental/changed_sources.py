"""All sources of a build: what has changed is gone through, the rest is taken as it was."""

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


def build_sources(sites: Sequence[SourceState], shop: BuildContext) -> SourceResults:
    """Build every source.

    Raises:
        MedrcubeError: a picture cannot be written.
    """
    parts: dict[str, SourceBuild] = {}
    refused: dict[str, str] = {}
    scans: list[tuple[SourceState, Scan]] = []
    with shop.stages.stage("scan", len(sites)) as advance:
        for site in sites:
            known = _unchanged_source(site, shop)
            if known is not None:
                parts[site.id] = known
            else:
                try:
                    found = scan(site.source, site.raw.root, shop.secret, shop.cache, site.raw)
                    scans.append((site, found))
                except SourceError as error:
                    refused[site.id] = refusal(site.id, error)
            advance()
    rendering = _RenderTally(results={}, unread={}, intact={})
    jobs = [
        (site, job)
        for site, found in scans
        for job in plan_jobs(site.source, found.root, found.cases)
    ]
    rendered = _render(jobs, rendering, shop)
    reused = len(jobs) - rendered + sum(part.cases for part in parts.values())
    rendered_again = sum(len(part.unread) for part in parts.values())
    for site, found in scans:
        results = rendering.results.pop(site.id, {})
        parts[site.id] = build_source(found, site.raw, results, rendering.unread.get(site.id, ()))
    return SourceResults(
        parts=tuple(parts[site.id] for site in sites if site.id in parts),
        refused=refused,
        fresh=frozenset(site.id for site, _ in scans),
        rendered=rendered + rendered_again,
        reused=reused - rendered_again,
        intact=rendering.intact,
    )


def jobs_of(site: SourceState, shop: BuildContext) -> list[RenderJob]:
    """Jobs of a source, from what is remembered of its scan where nothing has changed."""
    seen = scan(site.source, site.raw.root, shop.secret, shop.cache, site.raw)
    return plan_jobs(site.source, seen.root, seen.cases)


def refusal(source: str, error: SourceError) -> str:
    """Why a source cannot be built, beginning with its id."""
    text = str(error)
    return text if text.startswith(f"{source}: ") else f"{source}: {text}"


def store_results(
    sites: Sequence[SourceState], gathered: SourceResults, shop: BuildContext
) -> tuple[str, ...] | None:
    """Keep what the sources gave for the next build, and remove pictures that none of them has.

    Returns:
        Keys of all sources, or ``None`` where one cannot be kept: somebody writes into its raw
        tree, or a picture was changed while the build was at work.
    """
    keys: list[str | None] = []
    for site, part in zip(sites, gathered.parts, strict=True):
        if site.id in gathered.fresh:
            keys.append(_store_result(site, part, gathered.intact, shop))
        else:
            keys.append(site.key(site.pictures))
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


def _unchanged_source(site: SourceState, shop: BuildContext) -> SourceBuild | None:
    key = site.key(site.pictures)
    part = load_record(shop.cache, f"source/{site.id}", key, SourceBuild) if key else None
    if part is None or not retry_unreadable(part.unread, shop.engine, shop.images):
        return None
    return part


def _render(
    jobs: Sequence[tuple[SourceState, RenderJob]], rendering: _RenderTally, shop: BuildContext
) -> int:
    """Render what is new and take the rest from the cache; returns how many were new."""
    sites = {site.id: site for site, _ in jobs}
    new: list[RenderJob] = []
    with shop.stages.stage("render", len(jobs)) as advance:
        for site, job in jobs:
            known = shop.cache.find(job, site.raw, shop.images, site.pictures)
            if known is None:
                new.append(job)
                continue
            rendering.add(job, known)
            for picture in known.pictures:
                state = site.pictures.state(shop.images / picture.path)
                if state is not None:
                    rendering.intact[picture.path] = state
            advance()
        # Large files first: no worker is left alone with one at the end.
        new.sort(key=lambda job: -_size(job, sites[job.source]))
        for job, rendered in shop.engine.run(new, shop.images):
            states = shop.cache.keep(job, rendered, sites[job.source].raw, shop.images)
            if states is None:
                again = UnreadableCase(job=job, rendered=rendered)
                rendering.unread.setdefault(job.source, []).append(again)
            else:
                rendering.intact.update(states)
            rendering.add(job, rendered)
            advance()
    remove_partial_files(shop.images)  # a worker that died may have been writing
    return len(new)


def _size(job: RenderJob, site: SourceState) -> int:
    states = [site.raw.state(path) for path in job.case.files()]
    return sum(state.size for state in states if state is not None)


def _store_result(
    site: SourceState, part: SourceBuild, intact: Mapping[str, FileState], shop: BuildContext
) -> str | None:
    folder = shop.images / site.id
    wanted = {sample.image.rpartition("/")[2] for sample in part.samples}
    for stray in folder.glob("*.png"):
        if stray.name not in wanted:
            stray.unlink(missing_ok=True)
    after = snapshot(folder)
    key = site.key(after)
    sound = all(after.states.get(name) == intact.get(f"{site.id}/{name}") for name in wanted)
    if key is None or not sound:
        return None
    shop.cache.remember(f"source/{site.id}", key, dump_record(part))
    return key

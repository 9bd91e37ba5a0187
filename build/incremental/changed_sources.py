"""Incremental build of all sources: changed shards are processed, other results are reused."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from medrcube.build.incremental.build_context import BuildContext
from medrcube.build.incremental.kept_scan import LostRecordError, keep_scan, scan_anew
from medrcube.build.incremental.kept_shards import (
    KINDS,
    KeptShard,
    PictureLines,
    RecipeTexts,
    load_shard,
)
from medrcube.build.incremental.result_cache import dump_record, load_record
from medrcube.build.incremental.shard_building import (
    PlannedShard,
    ShardRun,
    SourceShards,
    look_up_shards,
)
from medrcube.build.incremental.source_state import SourceState
from medrcube.build.incremental.state_table import StateTable
from medrcube.build.name_batches import name_batches
from medrcube.build.stages.plan import RenderJob
from medrcube.build.stages.source_result import (
    SourceBuild,
    SourceFacts,
    join_shards,
    retry_unreadable,
)
from medrcube.errors import SourceError, WorkspaceError

__all__ = ["SourceResults", "build_sources", "jobs_of", "refusal", "store_results"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceResults:
    """Results of all sources.

    Attributes:
        parts: one for each source that could be scanned, sorted by id.
        refused: why the others could not be scanned, by id.
        fresh: shards of the sources that had changed, by id.
        rendered: number of cases rendered now.
        reused: number of cases taken from earlier builds.
    """

    parts: tuple[SourceBuild, ...]
    refused: Mapping[str, str]
    fresh: Mapping[str, SourceShards]
    rendered: int
    reused: int

    def without_shards(self) -> SourceResults:
        """Return a copy without the shards, which are in the cache."""
        return replace(self, fresh={})

    def once_asked(self) -> SourceResults:
        """Return a copy without the questions, which take much memory and are in no table."""
        return replace(self, parts=tuple(part.once_asked() for part in self.parts))


def build_sources(source_states: Sequence[SourceState], context: BuildContext) -> SourceResults:
    """Build every source.

    Raises:
        MedrcubeError: an image cannot be written.
    """
    parts: dict[str, SourceBuild] = {}
    refused: dict[str, str] = {}
    fresh: dict[str, SourceShards] = {}
    with context.stages.stage("scan", len(source_states)) as advance:
        for source_state in source_states:
            result = _unchanged_source(source_state, context)
            if result is not None:
                parts[source_state.id] = result
            else:
                try:
                    fresh[source_state.id] = _look_up(source_state, context)
                except SourceError as error:
                    refused[source_state.id] = refusal(source_state.id, error)
            advance()
    rendered = _render(fresh, context)
    cases = sum(own.kept_scan.head.cases for own in fresh.values())
    reused = cases - rendered + sum(part.facts.cases for part in parts.values())
    rendered_again = sum(len(part.facts.unread) for part in parts.values())
    for name, own in list(fresh.items()):
        results = [shard.result for shard in own.shards]
        builds = (result.build for result in results)
        facts = SourceFacts.of(own.kept_scan, own.source_state.raw, builds)
        own.source_state.raw.drop_listing()
        fresh[name] = replace(own, source_state=own.source_state.without_raw_files())
        parts[name] = _join(facts, results, context)
    return SourceResults(
        parts=tuple(
            parts[source_state.id] for source_state in source_states if source_state.id in parts
        ),
        refused=refused,
        fresh=fresh,
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
            own = results.fresh[source_state.id]
            keys.append(_store_result(source_state, part, own, context))
        else:
            keys.append(source_state.key(source_state.pictures))
    whole = tuple(key for key in keys if key is not None)
    return whole if len(whole) == len(keys) else None


def _unchanged_source(source_state: SourceState, context: BuildContext) -> SourceBuild | None:
    key = source_state.key(source_state.pictures)
    head = (
        load_record(context.cache, f"source/{source_state.id}", key, _SourceRecord) if key else None
    )
    if head is None:
        return None
    kinds: dict[bytes, bytes] = {}
    loaded = [
        load_shard(context.cache, context.spool, name, shard_key, kinds)
        for name, shard_key in head.shards
    ]
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
        return join_shards(
            facts,
            [shard.build for shard in shards],
            [shard.tables for shard in shards],
            recipes=recipes,
            raw_files=lines,
            spool=context.spool,
        )
    except (ValueError, IndexError, pickle.UnpicklingError) as error:
        raise WorkspaceError(
            f"the build cache does not contain results of {facts.source} ({error}); "
            "delete the folder cache of the workspace and build again"
        ) from error


def _look_up(source_state: SourceState, context: BuildContext) -> SourceShards:
    """Return all shards of a source, with cached results where unchanged."""
    parts = (source_state.source, source_state.raw, context.secret, context.cache)
    try:
        return look_up_shards(source_state, keep_scan(*parts), context)
    except LostRecordError:
        return look_up_shards(source_state, scan_anew(*parts), context)


def _render(fresh: dict[str, SourceShards], context: BuildContext) -> int:
    """Build the shards that are not in the cache; return the number of cases rendered now."""
    total = sum(own.cases_to_build() for own in fresh.values())
    with context.stages.stage("render", total) as advance:
        run = ShardRun(context, advance)
        for name, own in list(fresh.items()):
            try:
                run.look_up(own)
            except LostRecordError:
                source_state = own.source_state
                kept_scan = scan_anew(
                    source_state.source, source_state.raw, context.secret, context.cache
                )
                fresh[name] = look_up_shards(source_state, kept_scan, context)
                run.look_up(fresh[name])
        return run.render()


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceRecord:
    """Result of a source except its images, and the names and keys of its shards."""

    facts: SourceFacts
    shards: tuple[tuple[str, str], ...]


def _store_result(
    source_state: SourceState, part: SourceBuild, own: SourceShards, context: BuildContext
) -> str | None:
    folder, before = context.images / source_state.id, source_state.pictures
    shards = own.shards
    listed = _files_in(folder, own.folders)
    strays = _strays(shards, chain(before.states, before.blocked_files, listed))
    for name in strays:
        (folder / name).unlink(missing_ok=True)
    fresh = (shard.result for shard in shards if shard.fresh)
    new_states = StateTable(chain.from_iterable(result.verified() for result in fresh))
    after = before.changed(new_states, strays)
    for kind in KINDS:
        keep = {f"{kind}/{shard.portion.name}" for shard in shards}
        context.cache.forget(f"{kind}/{source_state.id}/", keep)
    key = source_state.key(after)
    if key is None or not all(shard.result.holds(after) for shard in shards):
        return None
    places = tuple((shard.portion.name, shard.result.key) for shard in shards)
    context.cache.remember(
        f"source/{source_state.id}",
        key,
        dump_record(_SourceRecord(facts=part.facts, shards=places)),
    )
    return key


def _strays(shards: Sequence[PlannedShard], names: Iterable[str]) -> frozenset[str]:
    """Return the images among some files that no shard has."""
    image_states = StateTable(chain.from_iterable(shard.result.recorded() for shard in shards))
    images = (name for name in names if name.endswith(".png"))
    return frozenset(
        chain.from_iterable(image_states.missing(part) for part in name_batches(images))
    )


def _files_in(folder: Path, subfolders: Iterable[str]) -> Iterator[str]:
    """Yield the files in some subfolders: a job may have written images before it failed."""
    for subfolder in subfolders:
        with suppress(FileNotFoundError), os.scandir(folder / subfolder) as entries:
            yield from (f"{subfolder}/{entry.name}" for entry in entries)

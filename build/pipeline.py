"""Build pipeline, stage by stage: scan, verify, plan, render, derive, compose, audit.

Each stage is a function of its inputs. Images are written as they are made; tables are written at
the end and atomically. A killed build therefore leaves images and a cache for the next one, but
never a partial table.

A build first records the state of all raw files, images and tables. If nothing has changed since
the last build it ends there; otherwise it processes the sources that changed and reuses the results
of the others. An edited, replaced, restored or deleted file changes that state (see
``file_states``), so the result always equals that of a build from scratch.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path

from medrcube.build.audit.asked_pictures import picture_totals
from medrcube.build.batch_outcome import compose_batch, tables_of
from medrcube.build.build_report import BuildReport, source_reports
from medrcube.build.build_tables import BuildTables, table_paths, write_tables
from medrcube.build.column_blocks import Spool
from medrcube.build.execution.local import LocalEngine, RenderEngine
from medrcube.build.execution.progress import Stages, usable_cores
from medrcube.build.incremental.build_context import BuildContext
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.changed_sources import (
    build_sources,
    jobs_of,
    refusal,
    store_results,
)
from medrcube.build.incremental.file_states import file_state, snapshot
from medrcube.build.incremental.result_cache import dump_record, hash_values, load_record
from medrcube.build.incremental.source_state import SourceState, inspect_source
from medrcube.build.llm_proposals.proposing import require_index
from medrcube.build.open_items.rule_files import load_rules
from medrcube.build.profile.distance_report import report_on
from medrcube.build.profile.profile import Profile, ProfileError, load_profile, require_sources
from medrcube.build.questions.authoring.own_templates import wordings_of
from medrcube.build.source_checks.vocabulary_check import check_layers
from medrcube.build.stages.composing import open_knowledge
from medrcube.build.stages.gate import gate_failures, gate_of
from medrcube.build.stages.ontology_editions import editions_used
from medrcube.build.stages.samples import SAMPLES
from medrcube.build.stages.shard_result import UnreadableCase
from medrcube.build.stages.shared_images import shared_images
from medrcube.build.stages.source_result import retry_unreadable
from medrcube.build.viewer.copies import ViewerReport, update_copies
from medrcube.errors import MedrcubeError, SourceError
from medrcube.files.atomic import private_folder, remove_partial_files
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.contract import Source
from medrcube.sources.registry import get_source, layer_folders
from medrcube.vocabulary.layers import active_vocabulary, using_vocabulary
from medrcube.workspace import WorkspaceFolder, patient_key

__all__ = ["build"]


def build(
    workspace: WorkspaceFolder, sources: Mapping[str, Source], engine: RenderEngine, stages: Stages
) -> BuildReport:
    """Build samples and items of every source that the workspace names.

    Raises:
        MedrcubeError: no source is named, the profile or a question template is invalid, or no raw
            tree matches its card; the output of earlier builds is unchanged then. If only some of
            the raw trees fail to match, the other sources are built and these are reported among
            the failures.
    """
    folders = layer_folders(source.folder for source in sources.values())
    with using_vocabulary([*folders, workspace.vocabulary]):
        check_layers()
        load_rules()
        return _build(workspace, sources, engine, stages)


def _build(
    workspace: WorkspaceFolder, sources: Mapping[str, Source], engine: RenderEngine, stages: Stages
) -> BuildReport:
    """``build`` with the vocabulary of the workspace's sources active."""
    started = time.monotonic()
    if not workspace.sources:
        raise MedrcubeError(
            f"{workspace.root}: no source to build; name one in medrcube.toml or with  "
            "--source ID=ROOT"
        )
    cards_available = [source.card for source in sources.values()]
    profile = _load_profile(workspace, sources)
    outside = _settings_key(workspace, profile, cards_available)
    selected_cards = [sources[name].card for name in sorted(workspace.sources) if name in sources]
    wordings = wordings_of(workspace.settings.templates, selected_cards)
    with (
        open_knowledge(workspace.ontology_index) as knowledge,
        BuildCache(workspace.cache) as cache,
        Spool(workspace.cache.parent) as spool,
    ):
        if workspace.llm is not None:
            require_index(knowledge)
        remove_partial_files(workspace.root)
        private_folder(workspace.images)
        remove_partial_files(workspace.images, depth=2)
        context = BuildContext(
            images=workspace.images,
            secret=patient_key(workspace),
            cache=cache,
            spool=spool,
            engine=engine,
            stages=stages,
        )
        source_states, refused = _inspect_sources(workspace, sources, context)
        earlier = None if refused else _unchanged_report(workspace, outside, source_states, context)
        if earlier is not None:
            return replace(earlier, seconds=time.monotonic() - started)
        results = build_sources(source_states, context)
        refused = {**refused, **results.refused}
        source_states = tuple(
            source_state for source_state in source_states if source_state.id not in refused
        )
        if not source_states:
            raise SourceError("; ".join(refused.values()))
        source_states = tuple(
            source_state
            if workspace.settings.viewer and source_state.is_windowed
            else source_state.without_raw_files()
            for source_state in source_states
        )
        source_keys = store_results(source_states, results, context)
        results = results.without_shards()
        source_states = tuple(source_state.without_images() for source_state in source_states)
        keys = None if refused else source_keys
        cards = [source_state.source.card for source_state in source_states]
        samples = SAMPLES.join([part.samples for part in results.parts])
        batch = compose_batch(
            workspace,
            profile,
            cards,
            results.parts,
            samples,
            knowledge=knowledge,
            wordings=wordings,
        )
        results = results.once_asked()
        totals = picture_totals(samples)
        reports = source_reports(
            source_states, results.parts, batch.composed.items, batch.beyond.items
        )
        shared = shared_images(cards, totals.repeated)
        aimed = None
        if profile is not None and batch.composed.plan is not None:
            aimed = report_on(
                profile,
                batch.composed.plan,
                batch.composed.items,
                cards_available,
                source_ids=workspace.sources,
            )
        failures = gate_failures(
            reports, results.parts, {card.id: gate_of(workspace, card) for card in cards}
        )
        additions = {
            "shared_images": [asdict(pair) for pair in shared],
            "ontologies": editions_used(workspace.ontology_index),
            **({"llm": batch.llm.as_dict()} if batch.llm is not None else {}),
            **({"profile": aimed.as_dict()} if aimed is not None else {}),
        }
        outcome = tables_of(
            results.parts,
            samples,
            batch,
            failures=(refused.values(), failures),
            totals=totals,
            additions=additions,
        )
        tables = write_tables(workspace, outcome)
        viewer = _update_viewer_copies(workspace, outcome, source_states, context)
        report = BuildReport(
            sources=reports,
            rendered=results.rendered,
            reused=results.reused,
            dropped=outcome.verdict["dropped"],
            shared=tuple(pair.describe() for pair in shared),
            failures=tuple(outcome.verdict["failures"]),
            warnings=batch.beyond.warnings,
            seconds=time.monotonic() - started,
            llm=batch.llm,
            profile=aimed,
            viewer=viewer,
        )
        llm_pending = batch.llm is not None and (batch.llm.requests_sent or batch.llm.left)
        if keys is not None and not (viewer and viewer.failed) and not llm_pending:
            unread = tuple(case for part in results.parts for case in part.facts.unread)
            key = hash_values(outside, keys, tables, snapshot(workspace.viewer).digest)
            cache.remember(_NAME, key, dump_record(_LastBuild(report=report, unread=unread)))
    return replace(report, damaged=str(cache.damaged or ""))


_NAME = "outcome"
"""Name of the record of the last build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastBuild:
    """Record of the last build; valid as long as nothing has changed."""

    report: BuildReport
    unread: tuple[UnreadableCase, ...]


def _inspect_sources(
    workspace: WorkspaceFolder, sources: Mapping[str, Source], context: BuildContext
) -> tuple[tuple[SourceState, ...], Mapping[str, str]]:
    """Return the sources with their file states, and source id -> why it cannot be built."""
    selection = [
        (get_source(sources, name), root) for name, root in sorted(workspace.sources.items())
    ]
    source_states: list[SourceState] = []
    refused: dict[str, str] = {}
    with context.stages.stage("files", None) as advance:
        for source, root in selection:
            try:
                source_states.append(
                    inspect_source(source, root, context.images, context.secret, advance)
                )
            except SourceError as error:
                refused[source.id] = refusal(source.id, error)
    return tuple(source_states), refused


def _unchanged_report(
    workspace: WorkspaceFolder,
    outside: str,
    source_states: Sequence[SourceState],
    context: BuildContext,
) -> BuildReport | None:
    """Report of a build with nothing to do, except to retry cases that could not be read."""
    keys = tuple(source_state.key(source_state.pictures) for source_state in source_states)
    tables = tuple(file_state(path) for path in table_paths(workspace))
    if None in keys or None in tables:
        return None
    key = hash_values(outside, keys, tables, snapshot(workspace.viewer).digest)
    earlier = load_record(context.cache, _NAME, key, _LastBuild)
    if earlier is None or not retry_unreadable(earlier.unread, context.engine, context.images):
        return None
    again = len(earlier.unread)
    cases = sum(source.cases for source in earlier.report.sources)
    reports = (
        replace(report, taken=source_state.root_note)
        for source_state, report in zip(source_states, earlier.report.sources, strict=True)
    )
    viewer = earlier.report.viewer and replace(earlier.report.viewer, made=0)
    return replace(
        earlier.report,
        sources=tuple(reports),
        rendered=again,
        reused=cases - again,
        viewer=viewer,
    )


def _update_viewer_copies(
    workspace: WorkspaceFolder,
    outcome: BuildTables,
    source_states: Sequence[SourceState],
    context: BuildContext,
) -> ViewerReport | None:
    """Update the viewer copies of the items' images; remove them if the setting is off."""
    if not workspace.settings.viewer:
        shutil.rmtree(workspace.viewer, ignore_errors=True)
        return None
    engine = context.engine
    return update_copies(
        workspace,
        outcome.items,
        outcome.samples.where("id", {item.sample for item in outcome.items}),
        outcome.recipes,
        {
            source_state.id: partial(jobs_of, source_state, context)
            for source_state in source_states
            if source_state.is_windowed
        },
        workers=engine.workers if isinstance(engine, LocalEngine) else usable_cores(),
        stages=context.stages,
    )


def _load_profile(workspace: WorkspaceFolder, sources: Mapping[str, Source]) -> Profile | None:
    settings = workspace.settings
    if not settings.profile:
        if settings.switched_on:
            raise ProfileError(f"--switch-on {settings.switched_on[0]} needs  --profile")
        return None
    profile = load_profile(settings.profile)
    require_sources(profile, sources)
    return profile.switch_on(settings.switched_on)


def _settings_key(
    workspace: WorkspaceFolder, profile: Profile | None, cards: Sequence[Card]
) -> str:
    """Hash of everything a build depends on except its sources; taken before any of it is read."""
    names = [field.name for field in fields(workspace) if field.name not in ("root", "sources")]
    files = (workspace.ontology_index, workspace.proposals)
    states = [file_state(path) for path in files if path is not None]
    if workspace.settings.templates:
        states += [
            file_state(path) for path in sorted(Path(workspace.settings.templates).glob("*.j2"))
        ]
    aim = profile and (profile.fingerprint, [card.fingerprint for card in cards])
    settings = [(name, getattr(workspace, name)) for name in names]
    return hash_values(settings, states, aim, active_vocabulary().digest)

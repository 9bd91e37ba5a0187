"""The whole build, stage by stage: scan, verify, plan, render, derive, compose, audit.

Each stage is a function of its inputs. Pictures are written as they are made, tables at the end and
atomically, so that a killed build leaves pictures and a cache for the next one, and never half a
table.

A build first takes snapshots of all raw files, pictures and tables. If nothing has changed since
the last build it ends there; otherwise it processes the sources that changed and reuses the results
of the others. An edited, replaced, restored or lost file has another state (see ``file_states``),
so that the result always equals that of a build from scratch.
"""

from __future__ import annotations

import csv
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from medrcube.build.audit.batch_audit import audit_batch
from medrcube.build.execution.local import LocalEngine, RenderEngine
from medrcube.build.execution.progress import Stages, usable_cores
from medrcube.build.incremental.cache_database import BuildCache
from medrcube.build.incremental.changed_sources import (
    BuildContext,
    build_sources,
    jobs_of,
    refusal,
    store_results,
)
from medrcube.build.incremental.file_states import FileState, file_state, snapshot
from medrcube.build.incremental.result_cache import dump_record, hash_values, load_record
from medrcube.build.incremental.source_state import SourceState, inspect_source
from medrcube.build.llm_proposals.proposing import LlmReport, propose, require_index
from medrcube.build.profile.distance_report import ProfileReport, report_on
from medrcube.build.profile.profile import OFF, Profile, ProfileError, load_profile, require_sources
from medrcube.build.questions.compose import ComposeResult, compose
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.item_table import Item, items_to_frame
from medrcube.build.questions.own_templates import wordings_of
from medrcube.build.questions.question_wording import own_words
from medrcube.build.stages.deduplicate import bar_repeats
from medrcube.build.stages.ontology_editions import editions_used
from medrcube.build.stages.samples import Sample, samples_to_frame
from medrcube.build.stages.shared_images import shared_images
from medrcube.build.stages.source_result import SourceBuild, UnreadableCase, retry_unreadable
from medrcube.build.viewer.copies import ViewerReport, update_copies
from medrcube.errors import MedrcubeError, SourceError
from medrcube.facts import BAD_ROW, QuarantineRow
from medrcube.files.atomic import (
    PRIVATE,
    SHARED,
    private_folder,
    remove_partial_files,
    replacing,
    write_text,
)
from medrcube.files.outside_tables import using_vocabulary
from medrcube.ontologies.difficulty import Difficulty
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index_knowledge import IndexKnowledge
from medrcube.ontologies.knowledge_protocol import Knowledge, NoKnowledge
from medrcube.sources._formats.tables.rows import OLDER_EDITION
from medrcube.sources._framework.card import Card
from medrcube.sources._framework.card_parts.gate import USUAL_SHARE
from medrcube.sources._framework.contract import Source
from medrcube.sources.registry import get_source
from medrcube.templates import Wordings
from medrcube.workspace import PreferredDifficulty, Workspace, patient_key

__all__ = ["BuildReport", "SourceReport", "build", "write_parquet"]

_NAMED = 3
"""Files that are not in a copy, in a summary; a table names them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """What one source gave.

    Attributes:
        source: its id.
        layout: layout of the copy, in words.
        taken: which folder was taken as raw root in place of the one given, in words, or empty.
        older: which table of an older edition was read, since the newer cannot be used, and why.
        cases: cases whose files are there.
        absent: cases whose image is not in this copy.
        absent_first: the first files that are not there, for people.
        set_aside: cases and files left out on purpose, by code.
        failed: cases that could not be rendered.
        pictures: pictures made.
        items: items made.
    """

    source: str
    layout: str
    taken: str
    older: tuple[str, ...]
    cases: int
    absent: int
    absent_first: tuple[str, ...]
    set_aside: int
    failed: int
    pictures: int
    items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did.

    Attributes:
        sources: one report for each source.
        rendered: cases rendered now.
        reused: cases taken from the cache.
        dropped: reasons why no item was made of a fact, with counts.
        shared: pairs of sources that share images, in words.
        failures: what stops a release.
        seconds: wall time.
        llm: what a language model cost and gave, where the workspace names one.
        profile: how far the items are from a profile, where the workspace names one.
        viewer: what reviewers may look at beyond the pictures, unless the workspace keeps none.
        damaged: where a build cache that could not be read has gone, or empty.
    """

    sources: tuple[SourceReport, ...]
    rendered: int
    reused: int
    dropped: Mapping[str, int]
    shared: tuple[str, ...]
    failures: tuple[str, ...]
    seconds: float
    llm: LlmReport | None = None
    profile: ProfileReport | None = None
    viewer: ViewerReport | None = None
    damaged: str = ""


def build(
    workspace: Workspace, sources: Mapping[str, Source], engine: RenderEngine, stages: Stages
) -> BuildReport:
    """Build samples and items of every source that the workspace names.

    Raises:
        MedrcubeError: no source is named, the profile or a question template is wrong, or no raw
            tree is what its card says; nothing that an earlier build wrote is changed then. Where
            one of several is not, the others are built, and it is one of the failures.
    """
    with using_vocabulary(source.folder for source in sources.values()):
        return _build(workspace, sources, engine, stages)


def _build(
    workspace: Workspace, sources: Mapping[str, Source], engine: RenderEngine, stages: Stages
) -> BuildReport:
    """``build`` with the words of its own sources."""
    started = time.monotonic()
    if not workspace.sources:
        raise MedrcubeError(
            f"{workspace.root}: no source to build; name one in medrcube.toml or with  "
            "--source ID=ROOT"
        )
    cards_available = [source.card for source in sources.values()]
    profile = _load_profile(workspace, sources)
    outside = _settings_key(workspace, profile, cards_available)
    named = [sources[name].card for name in sorted(workspace.sources) if name in sources]
    wordings = wordings_of(workspace.settings.templates, named)
    with _knowledge(workspace.ontology_index) as knowledge, BuildCache(workspace.cache) as cache:
        if workspace.llm is not None:
            require_index(knowledge)
        remove_partial_files(workspace.root)
        private_folder(workspace.images)
        remove_partial_files(workspace.images)
        context = BuildContext(
            images=workspace.images,
            secret=patient_key(workspace),
            cache=cache,
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
        source_keys = store_results(source_states, results, context)
        keys = None if refused else source_keys
        cards = [source_state.source.card for source_state in source_states]
        samples = [sample for part in results.parts for sample in part.samples]
        problems = [
            problem for part in results.parts for problem in (*part.set_aside, *part.problems)
        ]
        queries = bar_repeats([query for part in results.parts for query in part.queries])
        composed, dropped, llm = _compose(
            workspace, profile, cards, queries, knowledge, wordings=wordings
        )
        items = composed.items
        absent = {part.source: part.absent for part in results.parts}
        verdict = audit_batch(samples, items, problems, absent)
        reports = _reports(source_states, results.parts, items)
        gates = {state.source.id: _gate_of(workspace, state.source.card) for state in source_states}
        failures = [
            *refused.values(),
            *verdict["failures"],
            *_gate_failures(reports, results.parts, gates),
        ]
        shared = shared_images(cards, samples)
        aimed = None
        if profile is not None and composed.plan is not None:
            aimed = report_on(
                profile, composed.plan, items, cards_available, named=workspace.sources
            )
        verdict = {
            **verdict,
            "dropped": dropped,
            "words": {part.source: part.words for part in results.parts if part.words},
            "failures": failures,
            "shared_images": [asdict(pair) for pair in shared],
            "ontologies": editions_used(workspace.ontology_index),
            **({"llm": llm.stated()} if llm is not None else {}),
            **({"profile": aimed.stated()} if aimed is not None else {}),
        }
        outcome = _BuildTables(
            samples=samples,
            items=items,
            problems=problems,
            recipes="".join(part.recipes for part in results.parts),
            raw_files="".join(part.raw_files for part in results.parts),
            absent="".join(part.absent_images for part in results.parts),
            verdict=verdict,
        )
        tables = _write_tables(workspace, outcome)
        viewer = _update_viewer_copies(workspace, outcome, source_states, context)
        report = BuildReport(
            sources=reports,
            rendered=results.rendered,
            reused=results.reused,
            dropped=dropped,
            shared=tuple(pair.describe() for pair in shared),
            failures=tuple(failures),
            seconds=time.monotonic() - started,
            llm=llm,
            profile=aimed,
            viewer=viewer,
        )
        if (
            keys is not None
            and not (viewer and viewer.failed)
            and not (llm and (llm.sent or llm.left))
        ):
            unread = tuple(case for part in results.parts for case in part.unread)
            key = hash_values(outside, keys, tables, snapshot(workspace.viewer).digest)
            cache.remember(_NAME, key, dump_record(_LastBuild(report=report, unread=unread)))
    return replace(report, damaged=str(cache.damaged or ""))


_NAME = "outcome"
"""Name of the record of the last build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _LastBuild:
    """The last build, for as long as nothing has changed."""

    report: BuildReport
    unread: tuple[UnreadableCase, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _BuildTables:
    """Everything that is written at the end of a build."""

    samples: Sequence[Sample]
    items: Sequence[Item]
    problems: Sequence[QuarantineRow]
    recipes: str
    absent: str
    raw_files: str
    verdict: Mapping[str, Any]


def _inspect_sources(
    workspace: Workspace, sources: Mapping[str, Source], context: BuildContext
) -> tuple[tuple[SourceState, ...], Mapping[str, str]]:
    """The sources with what lies on disk of them, and why others cannot be built, by id."""
    named = [(get_source(sources, name), root) for name, root in sorted(workspace.sources.items())]
    source_states: list[SourceState] = []
    refused: dict[str, str] = {}
    with context.stages.stage("files", None) as advance:
        for source, root in named:
            try:
                source_states.append(
                    inspect_source(source, root, context.images, context.secret, advance)
                )
            except SourceError as error:
                refused[source.id] = refusal(source.id, error)
    return tuple(source_states), refused


def _unchanged_report(
    workspace: Workspace, outside: str, source_states: Sequence[SourceState], context: BuildContext
) -> BuildReport | None:
    """Report of a build that has nothing to do, but to try again what could not be read."""
    keys = tuple(source_state.key(source_state.pictures) for source_state in source_states)
    tables = tuple(file_state(path) for path in _tables(workspace))
    if None in keys or None in tables:
        return None
    key = hash_values(outside, keys, tables, snapshot(workspace.viewer).digest)
    earlier = load_record(context.cache, _NAME, key, _LastBuild)
    if earlier is None or not retry_unreadable(earlier.unread, context.engine, context.images):
        return None
    again = len(earlier.unread)
    cases = sum(source.cases for source in earlier.report.sources)
    reports = (
        replace(report, taken=source_state.taken)
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
    workspace: Workspace,
    outcome: _BuildTables,
    source_states: Sequence[SourceState],
    context: BuildContext,
) -> ViewerReport | None:
    """Viewer copies of the pictures of the items; without the setting what is there is removed."""
    if not workspace.settings.viewer:
        shutil.rmtree(workspace.viewer, ignore_errors=True)
        return None
    engine = context.engine
    return update_copies(
        workspace,
        outcome.items,
        outcome.samples,
        outcome.recipes,
        {
            source_state.id: partial(jobs_of, source_state, context)
            for source_state in source_states
            if source_state.source.card.pixels.window != "none"
        },
        workers=engine.workers if isinstance(engine, LocalEngine) else usable_cores(),
        stages=context.stages,
    )


def _load_profile(workspace: Workspace, sources: Mapping[str, Source]) -> Profile | None:
    settings = workspace.settings
    if not settings.profile:
        if settings.switched_on:
            raise ProfileError(f"--switch-on {settings.switched_on[0]} needs  --profile")
        return None
    profile = load_profile(settings.profile)
    require_sources(profile, sources)
    return profile.switch_on(settings.switched_on)


def _settings_key(workspace: Workspace, profile: Profile | None, cards: Sequence[Card]) -> str:
    """Hash of what a build depends on beside its sources; taken before any of it is read."""
    names = [field.name for field in fields(workspace) if field.name not in ("root", "sources")]
    files = (workspace.ontology_index, workspace.proposals)
    states = [file_state(path) for path in files if path is not None]
    if workspace.settings.templates:
        states += [
            file_state(path) for path in sorted(Path(workspace.settings.templates).glob("*.j2"))
        ]
    aim = profile and (profile.fingerprint, [card.fingerprint for card in cards])
    return hash_values([(name, getattr(workspace, name)) for name in names], states, aim)


def _tables(workspace: Workspace) -> tuple[Path, ...]:
    return (
        workspace.samples,
        workspace.items,
        workspace.quarantine,
        workspace.absent,
        workspace.recipes,
        workspace.raw_files,
        workspace.audit,
    )


def _compose(
    workspace: Workspace,
    profile: Profile | None,
    cards: Sequence[Card],
    queries: Sequence[QuestionCandidate],
    knowledge: Knowledge,
    *,
    wordings: Wordings,
) -> tuple[ComposeResult, Mapping[str, int], LlmReport | None]:
    settings = workspace.settings
    off: Counter[str] = Counter()
    if profile is not None:
        settings = replace(settings, options=profile.options or settings.options)
        off.update(
            f"{query.task.value}: {OFF}" for query in queries if query.sample.source in profile.off
        )
        queries = [query for query in queries if query.sample.source not in profile.off]
    proposed = propose(
        queries,
        SafetyRules(evidence=settings.evidence, knowledge=knowledge),
        stated={
            card.id: frozenset(name for field in card.fields.values() for name in field.concepts())
            for card in cards
        },
        settings=settings,
        llm=workspace.llm,
        store=workspace.proposals,
    )
    composed = compose(
        proposed.queries,
        proposed.terms,
        proposed.relations,
        options=settings.options,
        evidence=settings.evidence,
        least_visible=settings.least_visible,
        seed=settings.seed,
        sources=proposed.sources,
        knowledge=knowledge,
        per_cell=settings.items_per_cell or None,
        profile=profile,
        difficulty=None
        if settings.difficulty is PreferredDifficulty.MIXED
        else Difficulty(settings.difficulty),
        words=own_words(cards),
        wordings=wordings,
        two_option_share=settings.two_option_share,
        even_keys=settings.even_keys,
    )
    report = proposed.report.counted(composed.items) if proposed.report is not None else None
    return composed, dict(sorted((composed.dropped + off).items())), report


@contextmanager
def _knowledge(index: Path | None) -> Iterator[Knowledge]:
    """What the user's ontologies say, or silence where there is no index."""
    if index is None:
        yield NoKnowledge()
        return
    with OntologyIndex(index) as opened:
        yield IndexKnowledge(opened)


def _reports(
    source_states: Sequence[SourceState], parts: Sequence[SourceBuild], items: Sequence[Item]
) -> tuple[SourceReport, ...]:
    item_counts = Counter(item.source for item in items)
    return tuple(
        SourceReport(
            source=part.source,
            layout=part.layout,
            taken=source_state.taken,
            older=tuple(entry.message for entry in part.set_aside if entry.code == OLDER_EDITION),
            cases=part.cases,
            absent=part.absent,
            absent_first=_first_absent(part),
            set_aside=len(part.set_aside),
            failed=len({problem.case for problem in part.problems if problem.stage == "render"}),
            pictures=len(part.samples),
            items=item_counts[part.source],
        )
        for source_state, part in zip(source_states, parts, strict=True)
    )


def _first_absent(part: SourceBuild) -> tuple[str, ...]:
    lines = part.absent_images.split("\n", _NAMED)[:_NAMED]
    return tuple(row[-1] for row in csv.reader(lines) if row)


def _gate_of(workspace: Workspace, card: Card) -> tuple[float, str]:
    """The share of cases that may be lost, and where it is stated."""
    own = workspace.settings.quarantine_gate
    if own is not None:
        return own, f"quarantine_gate = {own:g} in medrcube.toml"
    if card.gate is not None:
        return card.gate.share, (
            f"[gate] share = {card.gate.share:g} of its card ({card.gate.reason}; quarantine_gate "
            "in medrcube.toml goes before it)"
        )
    return USUAL_SHARE, f"quarantine_gate = {USUAL_SHARE:g} (the default of medrcube.toml)"


def _gate_failures(
    reports: Sequence[SourceReport],
    parts: Sequence[SourceBuild],
    gates: Mapping[str, tuple[float, str]],
) -> Iterator[str]:
    """Which sources gave nothing, or lost more of their cases than their gate allows."""
    for part in parts:
        share, limit = gates[part.source]
        bad = [problem.message for problem in part.set_aside if problem.code == BAD_ROW]
        if len(bad) > share * (part.cases + len(bad)):
            yield (
                f"{part.source}: {len(bad):,} of {part.cases + len(bad):,} cases have a row that "
                f"cannot be used, more than {limit} allows; the first: {bad[0]}"
            )
        if not part.samples:
            codes = Counter(problem.code for problem in (*part.set_aside, *part.problems))
            codes["absent"] = part.absent
            why = ", ".join(f"{count:,} {code}" for code, count in codes.most_common() if count)
            yield f"{part.source}: no picture was made ({why or 'no case was found'})"
    for report in reports:
        share, limit = gates[report.source]
        if report.cases and report.failed / report.cases > share:
            yield (
                f"{report.source}: {report.failed} of {report.cases} cases could not be rendered, "
                f'more than {limit} allows; the reasons:  python -c "import pandas; '
                "print(pandas.read_parquet('quarantine.parquet').to_string())\""
            )


def _write_tables(workspace: Workspace, outcome: _BuildTables) -> tuple[FileState | None, ...]:
    """Write all tables; returns the state in which each was left.

    All are for the owner of the workspace alone: they hold keys, keyed hashes of patients, names of
    raw files and cases, and what a source says of a case.
    """
    columns = list(QuarantineRow.__dataclass_fields__)
    rows = [asdict(problem) for problem in outcome.problems]
    quarantine = pd.DataFrame(rows, columns=columns, dtype="str")
    verdict = json.dumps(outcome.verdict, indent=2, sort_keys=True) + "\n"
    write: dict[Path, Callable[[Path], None]] = {
        workspace.samples: _table(samples_to_frame(outcome.samples)),
        workspace.items: _table(items_to_frame(outcome.items)),
        workspace.quarantine: _table(quarantine),
        workspace.absent: _text(f"source,case,file\n{outcome.absent}"),
        workspace.recipes: _text(outcome.recipes),
        workspace.raw_files: _text(outcome.raw_files),
        workspace.audit: _text(verdict),
    }
    states: list[FileState | None] = []
    for path in _tables(workspace):
        write[path](path)
        states.append(file_state(path))
    return tuple(states)


def _table(frame: pd.DataFrame) -> Callable[[Path], None]:
    return lambda path: write_parquet(path, frame, mode=PRIVATE)


def _text(text: str) -> Callable[[Path], None]:
    return lambda path: write_text(path, text, mode=PRIVATE)


def write_parquet(path: Path, frame: pd.DataFrame, *, mode: int = SHARED) -> None:
    """Write a table atomically."""
    with replacing(path, mode=mode) as temporary:
        frame.to_parquet(temporary, index=False)

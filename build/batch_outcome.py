"""Compose the questions of all sources into items, and build the tables that record the outcome."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.build.asked_columns import AskedTable
from medrcube.build.audit.asked_pictures import PictureTotals, related_pictures
from medrcube.build.audit.batch_audit import audit_batch
from medrcube.build.audit.open_rules import open_rules
from medrcube.build.build_tables import BuildTables
from medrcube.build.llm_proposals.proposing import LlmReport
from medrcube.build.open_items.compose import OpenResult
from medrcube.build.profile.profile import Profile
from medrcube.build.questions.compose import ComposeResult
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.record_columns import RecordTable
from medrcube.build.stages.composing import compose_beyond, compose_items
from medrcube.build.stages.deduplicate import bar_repeated_columns
from medrcube.build.stages.geometry_table import GEOMETRY
from medrcube.build.stages.samples import Sample
from medrcube.build.stages.source_result import Chained, SourceBuild
from medrcube.ontologies.knowledge_protocol import Knowledge
from medrcube.sources._framework.card import Card
from medrcube.templates import Wordings
from medrcube.workspace import WorkspaceFolder

__all__ = ["ComposedBatch", "compose_batch", "tables_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedBatch:
    """Items of a build and the statistics of their composition.

    Attributes:
        composed: items with options.
        dropped: reason -> number of questions that did not become an item.
        llm: report on the proposals of a language model.
        beyond: items beyond the cube.
    """

    composed: ComposeResult
    dropped: Mapping[str, int]
    llm: LlmReport | None
    beyond: OpenResult


def compose_batch(
    workspace: WorkspaceFolder,
    profile: Profile | None,
    cards: Sequence[Card],
    parts: Sequence[SourceBuild],
    samples: RecordTable[Sample],
    *,
    knowledge: Knowledge,
    wordings: Wordings,
) -> ComposedBatch:
    """Compose the questions of all sources into items, those with options first."""
    questions = AskedTable.join(QuestionCandidate, samples, [part.queries for part in parts])
    composed, dropped, llm = compose_items(
        workspace,
        profile,
        cards,
        bar_repeated_columns(questions),
        knowledge,
        wordings=wordings,
    )
    beyond = compose_beyond(workspace, profile, parts, samples, wordings)
    return ComposedBatch(composed=composed, dropped=dropped, llm=llm, beyond=beyond)


def tables_of(
    parts: Sequence[SourceBuild],
    samples: RecordTable[Sample],
    batch: ComposedBatch,
    *,
    failures: tuple[Iterable[str], Iterable[str]],
    totals: PictureTotals,
    additions: Mapping[str, Any],
) -> BuildTables:
    """Build the tables of a build, including the verdict of the audit.

    Args:
        parts: result of each source.
        samples: samples of all sources.
        batch: items of all sources.
        failures: why sources could not be built, or yielded too little.
        totals: counts over all images.
        additions: what the verdict states in addition to the audit.
    """
    problems = [
        problem for part in parts for problem in (*part.facts.set_aside, *part.facts.problems)
    ]
    absent = {part.facts.source: part.facts.absent for part in parts}
    items, beyond = batch.composed.items, batch.beyond.items
    sample_ids = {item.sample for item in items} | {item.sample for item in beyond}
    pictures = related_pictures(samples, sample_ids)
    audit = audit_batch(pictures, items, problems, absent, totals)
    refused, gate = failures
    verdict = {
        **audit,
        "dropped": {**batch.dropped, **batch.beyond.dropped},
        "open_items": batch.beyond.as_dict(),
        "open_rules": open_rules(beyond, pictures),
        "words": {part.facts.source: part.facts.words for part in parts if part.facts.words},
        "failures": [*refused, *audit["failures"], *gate],
        **additions,
    }
    return BuildTables(
        samples=samples,
        geometry=GEOMETRY.join([part.geometry for part in parts]),
        items=items,
        open_items=beyond,
        problems=problems,
        recipes=Chained([part.recipes for part in parts]),
        raw_files=Chained([part.raw_files for part in parts]),
        absent=[part.facts.absent_images for part in parts],
        verdict=verdict,
    )

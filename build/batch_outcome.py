"""Questions of all sources to items, and the tables that record what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.build.audit.batch_audit import audit_batch
from medrcube.build.audit.open_rules import open_rules
from medrcube.build.build_tables import BuildTables
from medrcube.build.llm_proposals.proposing import LlmReport
from medrcube.build.open_items.compose import OpenResult
from medrcube.build.profile.profile import Profile
from medrcube.build.questions.compose import ComposeResult
from medrcube.build.stages.composing import compose_beyond, compose_items
from medrcube.build.stages.deduplicate import bar_repeats
from medrcube.build.stages.samples import Sample
from medrcube.build.stages.source_result import SourceBuild
from medrcube.ontologies.knowledge_protocol import Knowledge
from medrcube.sources._framework.card import Card
from medrcube.templates import Wordings
from medrcube.workspace import Workspace

__all__ = ["ComposedBatch", "compose_batch", "tables_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposedBatch:
    """Items of a build, and how they came about.

    Attributes:
        composed: items with options.
        dropped: how many questions gave none, by reason.
        llm: what a language model proposed.
        beyond: items beyond the cube.
    """

    composed: ComposeResult
    dropped: Mapping[str, int]
    llm: LlmReport | None
    beyond: OpenResult


def compose_batch(
    workspace: Workspace,
    profile: Profile | None,
    cards: Sequence[Card],
    parts: Sequence[SourceBuild],
    *,
    knowledge: Knowledge,
    wordings: Wordings,
) -> ComposedBatch:
    """Questions of all sources to items, those with options first."""
    composed, dropped, llm = compose_items(
        workspace,
        profile,
        cards,
        bar_repeats([query for part in parts for query in part.queries]),
        knowledge,
        wordings=wordings,
    )
    beyond = compose_beyond(workspace, profile, parts, wordings)
    return ComposedBatch(composed=composed, dropped=dropped, llm=llm, beyond=beyond)


def tables_of(
    parts: Sequence[SourceBuild],
    samples: Sequence[Sample],
    made: ComposedBatch,
    failures: tuple[Iterable[str], Iterable[str]],
    stated: Mapping[str, Any],
) -> BuildTables:
    """The tables of a build, with the verdict of the audit.

    Args:
        parts: what each source gave.
        samples: of all sources.
        made: items of all sources.
        failures: why sources could not be built, and why they gave too little.
        stated: what the verdict says beside the audit.
    """
    problems = [problem for part in parts for problem in (*part.set_aside, *part.problems)]
    absent = {part.source: part.absent for part in parts}
    audit = audit_batch(samples, made.composed.items, problems, absent)
    refused, gate = failures
    verdict = {
        **audit,
        "dropped": {**made.dropped, **made.beyond.dropped},
        "open_items": made.beyond.stated(),
        "open_rules": open_rules(made.beyond.items, samples),
        "words": {part.source: part.words for part in parts if part.words},
        "failures": [*refused, *audit["failures"], *gate],
        **stated,
    }
    return BuildTables(
        samples=samples,
        geometry=[row for part in parts for row in part.geometry],
        items=made.composed.items,
        open_items=made.beyond.items,
        problems=problems,
        recipes=[text for part in parts for text in part.recipes],
        raw_files=[part.raw_files for part in parts],
        absent=[part.absent_images for part in parts],
        verdict=verdict,
    )

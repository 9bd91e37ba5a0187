"""Compose the items of a build from its questions, under the settings of the workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from medrcube.build.asked_columns import AskedTable
from medrcube.build.llm_proposals.proposing import LlmReport, propose
from medrcube.build.open_items.compose import OpenResult, compose_open_items
from medrcube.build.open_items.question import OpenQuestion
from medrcube.build.profile.profile import OFF, Profile
from medrcube.build.questions.compose import ComposeResult, compose
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.question_wording import own_words
from medrcube.build.record_columns import RecordTable
from medrcube.build.stages.samples import Sample
from medrcube.build.stages.source_result import SourceBuild
from medrcube.build_settings import PreferredDifficulty
from medrcube.ontologies.difficulty import Difficulty
from medrcube.ontologies.distractor_safety import SafetyRules
from medrcube.ontologies.index import OntologyIndex
from medrcube.ontologies.index_knowledge import IndexKnowledge
from medrcube.ontologies.knowledge_protocol import Knowledge, NoKnowledge
from medrcube.ontologies.terms import load_terms
from medrcube.sources._framework.card import Card
from medrcube.templates import Wordings
from medrcube.workspace import WorkspaceFolder

__all__ = ["compose_beyond", "compose_items", "open_knowledge"]

IN_PROFILE = "beyond the profile"
"""Reason under which open questions are counted if the build has a profile."""


def compose_items(
    workspace: WorkspaceFolder,
    profile: Profile | None,
    cards: Sequence[Card],
    queries: Sequence[QuestionCandidate],
    knowledge: Knowledge,
    *,
    wordings: Wordings,
) -> tuple[ComposeResult, Mapping[str, int], LlmReport | None]:
    """Compose the items of all sources, under the settings and the profile of the workspace.

    Returns:
        The items, reason -> number of questions that gave no item, and the report on the proposals
        of a language model.
    """
    settings = workspace.settings
    off: Counter[str] = Counter()
    if profile is not None or workspace.llm is not None:
        queries = list(queries)
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


def compose_beyond(
    workspace: WorkspaceFolder,
    profile: Profile | None,
    parts: Sequence[SourceBuild],
    samples: RecordTable[Sample],
    wordings: Wordings,
) -> OpenResult:
    """Compose items beyond the cube; none are made under a profile, which covers the cube only."""
    questions = AskedTable.join(OpenQuestion, samples, [part.open_questions for part in parts])
    bar_counts: Counter[str] = Counter()
    for part in parts:
        bar_counts.update(part.facts.open_barred)
    if profile is not None:
        bar_counts.update(f"{question.task}: {IN_PROFILE}" for question in questions)
        return OpenResult(dropped=bar_counts)
    settings = workspace.settings
    return compose_open_items(
        questions,
        load_terms(),
        wordings,
        bar_counts=bar_counts,
        evidence=settings.evidence,
        least_visible=settings.least_visible,
        seed=settings.seed,
        per_cell=settings.items_per_cell or None,
    )


@contextmanager
def open_knowledge(index: Path | None) -> Iterator[Knowledge]:
    """Open the knowledge of the user's ontologies, or ``NoKnowledge`` if there is no index."""
    if index is None:
        yield NoKnowledge()
        return
    with OntologyIndex(index) as opened:
        yield IndexKnowledge(opened)

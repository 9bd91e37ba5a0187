"""Distractor proposals from a language model, for questions with too few safe options.

Used only if the workspace has an ``[llm]`` table. Every proposal is accepted, or dropped with one
reason; an accepted one is a candidate after all others in ``compose``, under the same rules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from medrcube.build.llm_proposals.demand import UnderfilledQuestions
from medrcube.build.questions.eligibility import (
    CompatibleOptions,
    identity_of,
    prepare_questions,
    request_of,
)
from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build_settings import BuildSettings, LlmSettings
from medrcube.errors import WorkspaceError
from medrcube.ontologies.difficulty import is_scale
from medrcube.ontologies.distractor_safety import SafetyRules, judge_key
from medrcube.ontologies.distractor_selection import (
    SOURCES,
    CandidateSource,
    LabelUsage,
    choose_from_pool,
)
from medrcube.ontologies.knowledge_protocol import Knowledge
from medrcube.ontologies.llm import (
    LLM,
    LlmProposals,
    PromptTarget,
    ProposalBatch,
    fetch_proposals,
    prompt_target,
)
from medrcube.ontologies.llm.name_resolution import KINDS, Resolver
from medrcube.ontologies.relations import Relations
from medrcube.ontologies.terms import Term, Terms

__all__ = ["LlmReport", "ProposalResult", "propose", "require_index"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmReport:
    """Cost and yield of the proposals; included in ``audit.json``, without the endpoint's address.

    Attributes:
        model: name of the model.
        places: number of keys, by region and modality, with an underfilled question.
        left: number of places without an answer.
        stopped: why places were left if a limit was reached.
        outcomes: answers by outcome.
        requests: number of requests ever made for these places, including failed ones.
        tokens: tokens that they used, as counted by the server.
        proposals: number of names proposed.
        accepted: number of these that at least one question can use.
        dropped: number of the others by reason.
        options: number of wrong options of the finished items that are proposals.
        requests_sent: number of requests sent by this build.
    """

    model: str
    places: int
    left: int
    stopped: str
    outcomes: Mapping[str, int]
    requests: int
    tokens: int
    proposals: int
    accepted: int
    dropped: Mapping[str, int]
    options: int = 0
    requests_sent: int = 0

    def counted(self, items: Iterable[ChoiceItem]) -> LlmReport:
        """Return the report with the number of options used in finished items."""
        used = sum(option.strategy == LLM for item in items for option in item.options)
        return replace(self, options=used)

    def as_dict(self) -> dict[str, Any]:
        """Return what a build reports: the same for the same replies, whenever they arrived."""
        return {name: value for name, value in asdict(self).items() if name != "requests_sent"}

    def describe(self) -> str:
        """One line for display."""
        line = (
            f"{self.model}: {self.requests_sent:,} requests sent, in all {self.requests:,} with "
            f"{self.tokens:,} tokens for {self.places:,} keys; {self.proposals:,} proposals, "
            f"{self.accepted:,} accepted, {self.options:,} options in items"
        )
        why = f" ({self.stopped})" if self.stopped else ""
        return f"{line}; {self.left:,} keys left without an answer{why}" if self.left else line


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalResult:
    """Replacement of the inputs of ``compose``.

    Attributes:
        queries: all queries; in underfilled ones, unmentioned proposals are absent by silence
            (grade C).
        terms: term table extended by the proposed concepts that it lacks.
        relations: relation table over these terms.
        sources: candidate sources, the proposals last.
        report: cost and yield; ``None`` if no model was to be asked.
    """

    queries: Sequence[QuestionCandidate]
    terms: Terms
    relations: Relations
    sources: tuple[CandidateSource, ...]
    report: LlmReport | None


def propose(
    queries: Sequence[QuestionCandidate],
    rules: SafetyRules,
    *,
    stated: Mapping[str, frozenset[str]],
    settings: BuildSettings,
    llm: LlmSettings | None,
    store: Path,
) -> ProposalResult:
    """Gather proposals for every question with too few options whose task lets a model propose.

    Without a model, the inputs are returned unchanged.

    Args:
        queries: queries of the whole batch.
        rules: tables, knowledge and accepted evidence.
        stated: source -> concepts that its card can state.
        settings: number of options and seed, as passed to ``compose``.
        llm: the model to ask, or ``None``.
        store: ``proposals.jsonl`` of the workspace.

    Raises:
        WorkspaceError: there is no ontology index in which to look up proposals.
        ModelError: the endpoint requires another key, model or payment.
    """
    if llm is None:
        return ProposalResult(
            queries=queries,
            terms=rules.terms,
            relations=rules.relations,
            sources=SOURCES,
            report=None,
        )
    require_index(rules.knowledge)
    places: dict[PromptTarget, list[QuestionCandidate]] = {}
    for query in _underfilled(queries, rules, settings):
        places.setdefault(prompt_target(request_of(query)), []).append(query)
    answers = fetch_proposals(places, rules.terms, llm, store)
    tally = _ProposalTally()
    terms_of = _resolve(answers, rules, tally)
    proposed = {term.label: term for terms in terms_of.values() for term in terms}
    new_terms = {label: term for label, term in proposed.items() if label not in rules.terms}
    terms = Terms((*rules.terms.values(), *new_terms.values()))
    wider = replace(rules, terms=terms, relations=rules.relations.over(terms))
    opened: dict[int, QuestionCandidate] = {}
    labels: dict[PromptTarget, tuple[str, ...]] = {}
    for place, candidates in terms_of.items():
        short = UnderfilledQuestions(
            queries=places[place], rules=wider, stated=stated, new_terms=frozenset(new_terms)
        )
        reasons = {term.label: short.refuse(term) for term in candidates}
        tally.dropped.update(filter(None, reasons.values()))
        labels[place] = tuple(label for label, reason in reasons.items() if not reason)
        tally.accepted += len(labels[place])
        opened |= {id(query): short.opened(query, labels[place]) for query in places[place]}
    return ProposalResult(
        queries=[opened.get(id(query), query) for query in queries],
        terms=terms,
        relations=wider.relations,
        sources=(*SOURCES, LlmProposals(labels=labels)),
        report=_report(llm.model, len(places), answers, tally),
    )


def require_index(knowledge: Knowledge) -> None:
    """Raise an error if there is no index against which proposals could be checked.

    Raises:
        WorkspaceError: the workspace names no ontology index.
    """
    if not knowledge.editions():
        raise WorkspaceError(
            "[llm]: every proposed option is looked up in your ontology index, and there is none: "
            "compile one with  medrcube ontologies index  and name it in [ontologies], or remove "
            "[llm] from medrcube.toml"
        )


@dataclass(slots=True)
class _ProposalTally:
    """Outcome of every proposed name."""

    accepted: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def _underfilled(
    queries: Sequence[QuestionCandidate], rules: SafetyRules, settings: BuildSettings
) -> list[QuestionCandidate]:
    """Return the questions for which the other routes have fewer safe options than wanted."""
    least = settings.least_visible
    questions = [
        query
        for query in queries
        if query.task.declaration.model_proposals and query.visible >= least
    ]
    enough: dict[int, bool] = {}
    filled: set[str] = set()
    for question in prepare_questions(
        questions, rules, SOURCES, settings.seed, least_visible=least
    ).ready:
        if question.compatible is None:
            continue
        number = question.compatible.number
        if number not in enough:
            enough[number] = _enough(question.compatible, rules, settings)
        if enough[number]:
            filled.add(question.identity)
    return [
        query
        for query in questions
        if not query.bar_reason
        and rules.terms[query.key].kind in KINDS
        # Only the steps of a scale can be its options.
        and not is_scale(request_of(query), rules.relations)
        and identity_of(query) not in filled
        and judge_key(request_of(query), rules).allowed
    ]


def _enough(compatible: CompatibleOptions, rules: SafetyRules, settings: BuildSettings) -> bool:
    """Whether a pool fills an item with options that may also be shown together."""
    choice = choose_from_pool(
        compatible.pool,
        compatible.request,
        rules,
        options=settings.options,
        seed="",
        prior=LabelUsage(keyed={}),
    )
    return len(choice.distractors) >= settings.options - 1


def _resolve(
    answers: ProposalBatch, rules: SafetyRules, tally: _ProposalTally
) -> dict[PromptTarget, list[Term]]:
    """Return the concepts of the proposed names, each once for its place."""
    resolver = Resolver(rules.terms, rules.relations, rules.knowledge)
    terms_of: dict[PromptTarget, list[Term]] = {}
    for place, names in answers.names.items():
        terms: dict[str, Term] = {}
        for name in names:
            result = resolver.resolve(name, rules.terms[place.key])
            if result.term is None:
                tally.dropped[result.reason] += 1
            elif result.term.label in terms:
                tally.dropped["repeated"] += 1
            else:
                terms[result.term.label] = result.term
        terms_of[place] = list(terms.values())
    return terms_of


def _report(model: str, places: int, answers: ProposalBatch, tally: _ProposalTally) -> LlmReport:
    return LlmReport(
        model=model,
        places=places,
        left=answers.left,
        stopped=answers.stopped,
        outcomes=dict(sorted(answers.outcomes.items())),
        requests=answers.spent["requests"],
        tokens=answers.spent["prompt_tokens"] + answers.spent["completion_tokens"],
        proposals=sum(len(names) for names in answers.names.values()),
        accepted=tally.accepted,
        dropped=dict(sorted(tally.dropped.items())),
        requests_sent=answers.requests_sent,
    )

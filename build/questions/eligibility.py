"""Eligible questions: candidates with a proven key and known safe options.

Each candidate is judged on its own. Since most candidates of a batch are alike, the decision for a
key and the facts around it is cached and reused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.build.questions.label_cooccurrence import LabelCooccurrence, known_of_cases
from medrcube.build.questions.question_wording import wording_context
from medrcube.build.stages.samples import NUMBERED
from medrcube.facts import Visibility
from medrcube.ontologies.distractor_safety import (
    CaseFacts,
    DistractorRequest,
    Evidence,
    SafetyRules,
    judge_key,
)
from medrcube.ontologies.distractor_selection import (
    CandidateSource,
    DistractorPool,
    judge_candidates,
    seeded_tiebreak,
)
from medrcube.ontologies.label_words import normalise
from medrcube.taxonomy import Task

__all__ = [
    "NOT_VISIBLE",
    "CompatibleOptions",
    "EligibleQuestion",
    "PreparedQuestions",
    "QuestionJudge",
    "identity_of",
    "is_constant_answer",
    "prepare_questions",
    "request_of",
]

NOT_VISIBLE = "not-visible"
"""Reason of a question that the displayed image cannot answer well enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibleOptions:
    """Safe wrong options for a key; shared by all equivalent candidates.

    Attributes:
        number: index in order of creation.
        request: request to the safety rules.
        passed: conditions that the key passed.
        pool: judged candidates.
        labels: normalised option name -> label; a name that two labels share counts once.
    """

    number: int
    request: DistractorRequest
    passed: tuple[int, ...]
    pool: DistractorPool
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibleQuestion:
    """A question candidate that can become an item.

    Attributes:
        query: the question candidate.
        identity: text that identifies what it asks, unique in the batch.
        lot: its seeded random rank in the batch.
        answer: the normalised name of the key; for numbers, the concept and the number.
        compatible: safe wrong options; ``None`` if the options are numbers.
        within: the source to which its options are restricted: only answers of that source are
            used; empty if the source has one answer by its nature (see ``is_constant_answer``), and
            for numbers.
    """

    query: QuestionCandidate
    identity: str
    lot: str
    answer: str
    compatible: CompatibleOptions | None
    within: str = ""

    @property
    def block_group(self) -> str:
        """Key of the questions that wording, source and options do not distinguish."""
        query = self.query
        parts = (query.task.value, query.group or "", wording_context(query), self.within)
        return "|".join(parts).rstrip("|")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedQuestions:
    """Eligible questions in seeded order, and ``task: reason`` -> number of the others."""

    ready: tuple[EligibleQuestion, ...]
    dropped: Counter[str]


def prepare_questions(
    queries: Iterable[QuestionCandidate],
    rules: SafetyRules,
    sources: Sequence[CandidateSource],
    seed: int,
    *,
    least_visible: Visibility = Visibility.PARTLY,
) -> PreparedQuestions:
    """Judge every query once; the result does not depend on their order.

    Queries whose visibility is below ``least_visible`` are counted, not asked.

    Raises:
        TermError: a query names a concept or group that is in no table.
    """
    unique = {identity_of(query): query for query in queries}
    ordered = sorted((seeded_tiebreak(seed, identity), identity) for identity in unique)
    company = LabelCooccurrence(known_of_cases(unique.values()))
    judge = QuestionJudge(rules, sources, company)
    ready: list[EligibleQuestion] = []
    dropped: Counter[str] = Counter()
    for lot, identity in ordered:
        query = unique[identity]
        if query.visible < least_visible and not query.bar_reason:
            dropped[f"{query.task.value}: {NOT_VISIBLE}"] += 1
            continue
        numbered = query.sample.artefact in NUMBERED
        options = judge.numbers(query) if numbered else judge.concepts(query)
        if isinstance(options, str):
            dropped[f"{query.task.value}: {options}"] += 1
            continue
        answer = f"{query.key} {query.sample.truth}"
        if options is not None:
            answer = judge.name(query.key)
        ready.append(
            EligibleQuestion(
                query=query, identity=identity, lot=lot, answer=answer, compatible=options
            )
        )
    return PreparedQuestions(ready=_within_sources(ready), dropped=dropped)


def is_constant_answer(task: str, answers: Collection[str]) -> bool:
    """Whether a source has one answer to a task by its nature, so that sources are compared.

    A dataset has one modality, or a few that distinguish its images, and mostly one organ or one
    marked structure. For any other task a single answer is a gap in the source.

    Args:
        task: name of the task; an unknown task has many answers.
        answers: answers of one source to it, among the same options.
    """
    constant = Task(task).declaration.constant if task in Task else "never"
    return constant == "always" or (constant == "single" and len(answers) == 1)


def _within_sources(ready: Sequence[EligibleQuestion]) -> tuple[EligibleQuestion, ...]:
    """Restrict questions to answers of their source, unless it has one answer by its nature."""
    answers: dict[tuple[str, ...], set[str]] = {}

    def kind(question: EligibleQuestion) -> tuple[str, ...]:
        return (question.query.sample.source, question.query.task, question.query.group or "")

    for question in ready:
        answers.setdefault(kind(question), set()).add(question.answer)
    return tuple(
        question
        if question.compatible is None
        or is_constant_answer(question.query.task, answers[kind(question)])
        else replace(question, within=question.query.sample.source)
        for question in ready
    )


def request_of(
    query: QuestionCandidate, apart: Mapping[str, float] | None = None
) -> DistractorRequest:
    """Return the request to the safety rules for a query; ``apart`` only ranks safe options."""
    return DistractorRequest(
        key=query.key,
        ground=query.ground,
        scope=query.scope,
        group=query.group,
        pool=query.pool,
        task=query.task,
        apart=apart or {},
    )


def identity_of(query: QuestionCandidate) -> str:
    """Return text that identifies what a query asks."""
    sample = query.sample
    return f"{query.task}|{sample.source}|{sample.case}|{sample.id}|{query.field}|{query.key}"


class QuestionJudge:
    """Judges queries and caches the result for equivalent ones."""

    def __init__(
        self, rules: SafetyRules, sources: Sequence[CandidateSource], company: LabelCooccurrence
    ) -> None:
        self._rules = rules
        self._sources = sources
        self._company = company
        self._cache: dict[tuple[object, ...], CompatibleOptions | str] = {}
        self._names: dict[str, str] = {}
        self._grounds: dict[int, object] = {}

    def name(self, label: str) -> str:
        """Return the normalised name of a label."""
        name = self._names.get(label)
        if name is None:
            name = self._names[label] = normalise(self._rules.terms[label].name)
        return name

    def numbers(self, query: QuestionCandidate) -> str | None:
        """Return why a question with numbered options is not asked, or ``None``."""
        if query.bar_reason:
            return query.bar_reason
        if query.key in query.ground.unknown or query.key not in query.ground.present:
            return "key-not-true"
        return f"evidence-{query.grade}" if query.grade > self._rules.evidence else None

    def concepts(self, query: QuestionCandidate) -> CompatibleOptions | str:
        """Return the safe wrong options of a question, or why it is not asked."""
        if query.bar_reason:
            return query.bar_reason
        apart = self._company.apart(query)
        alike = (
            query.sample.source if apart else "",
            query.key,
            query.task,
            query.scope,
            query.group,
            query.pool,
            self._signature(query.ground),
        )
        options = self._cache.get(alike)
        if options is None:
            options = self._cache[alike] = self._judged(request_of(query, apart))
        return options

    def _judged(self, request: DistractorRequest) -> CompatibleOptions | str:
        verdict = judge_key(request, self._rules)
        if not verdict.allowed:
            return verdict.reason
        pool = judge_candidates(request, self._rules, self._sources)
        if not pool.allowed:
            return _why_none(pool)
        labels: dict[str, str] = {}
        for label in pool.allowed:
            labels.setdefault(self.name(label), label)
        return CompatibleOptions(
            number=len(self._cache),
            request=request,
            passed=verdict.passed,
            pool=pool,
            labels=labels,
        )

    def _signature(self, ground: CaseFacts) -> object:
        """Return all known facts in comparable form; the queries of a case share their ground."""
        signature = self._grounds.get(id(ground))
        if signature is None:
            signature = self._grounds[id(ground)] = (
                *_flat(ground.present),
                *_flat(ground.absent),
                ground.unknown,
                ground.anatomy,
                ground.modality,
                ground.region,
            )
        return signature


def _flat(marks: Mapping[str, Evidence]) -> Iterator[object]:
    """Flatten marks into plain values, which compare faster than records; the count is last."""
    for label, mark in marks.items():
        yield from (label, mark.field, mark.scope, mark.grade)
    yield len(marks)


def _why_none(pool: DistractorPool) -> str:
    if not pool.refused:
        return "no-candidate"
    reasons = Counter(pool.refused.values())
    return f"no-distractor ({min(reasons, key=lambda reason: (-reasons[reason], reason))})"

"""Distractor selection: candidates from several sources, filtered by the safety rules.

``judge_candidates`` judges all candidates for a key; ``choose_distractors`` picks some of them
greedily: labels used least so far come first, relative to how often each is a key in the batch. A
label that is a distractor about (options - 1) times as often as it is a key gives a model no clue
(options-only leakage: arXiv 2402.12483).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Protocol

from medrcube.facts import Grade
from medrcube.ontologies.difficulty import Difficulty, level_distance, rate_difficulty
from medrcube.ontologies.distractor_safety import (
    DistractorRequest,
    SafetyCondition,
    SafetyRules,
    SafetyVerdict,
    judge_distractor,
    option_conflict,
)
from medrcube.ontologies.terms import NORMALITY

__all__ = [
    "SOURCES",
    "CandidateSource",
    "DistractorPool",
    "ExclusiveGroup",
    "LabelTable",
    "LabelUsage",
    "choose_distractors",
    "choose_from_pool",
    "judge_candidates",
    "seeded_order",
    "seeded_tiebreak",
]


class CandidateSource(Protocol):
    """Source of distractor candidates, which must still pass every safety rule.

    ``strategy`` is stored with each option. ``candidates`` returns concept labels, best first,
    without the key, and is deterministic; it returns none if the source does not apply.
    """

    @property
    def strategy(self) -> str:
        """Name stored with each option: predefined, knowledge, llm."""
        ...

    def candidates(self, request: DistractorRequest, rules: SafetyRules) -> Sequence[str]:
        """Return labels that might be wrong options for the key."""
        ...


@dataclass(frozen=True, slots=True)
class ExclusiveGroup:
    """The other members of the key's exclusive group."""

    strategy: str = "predefined"

    def candidates(self, request: DistractorRequest, rules: SafetyRules) -> Sequence[str]:
        """Return the group's members; an unknown group or a key outside it is a ``TermError``."""
        if request.group is None:
            return ()
        rules.relations.rank(request.group, request.key)
        members = rules.relations.group_members(request.group)
        return tuple(label for label in members if label != request.key)


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Labels from the source's own table that are of the same kind as the key."""

    strategy: str = "knowledge"

    def candidates(self, request: DistractorRequest, rules: SafetyRules) -> Sequence[str]:
        """Return labels of the pool with the kind of the key; "no finding" fits all kinds."""
        if request.group is not None:
            return ()
        kind = rules.terms[request.key].kind
        return tuple(
            label
            for label in dict.fromkeys(request.pool)
            if label != request.key
            and (
                kind in (NORMALITY, rules.terms[label].kind) or rules.terms[label].kind == NORMALITY
            )
        )


SOURCES: tuple[CandidateSource, ...] = (ExclusiveGroup(), LabelTable())


@dataclass(frozen=True, slots=True, kw_only=True)
class Distractor:
    """A distractor and why it is safe.

    Attributes:
        label: concept.
        strategy: candidate source it came from.
        trust: rank of that source by trust, from 0.
        grade: evidence that it is wrong.
        passed: numbers of the safety conditions that were checked and hold.
        similarity: to the key, 0 to 1; ``None`` if unknown.
        difficulty: by rank in the allowed pool.
    """

    label: str
    strategy: str
    trust: int
    grade: Grade
    passed: tuple[int, ...]
    similarity: float | None
    difficulty: Difficulty


@dataclass(frozen=True, slots=True, kw_only=True)
class DistractorPool:
    """Candidates for a key: label -> safe distractor, and rejected label -> reason."""

    allowed: Mapping[str, Distractor]
    refused: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DistractorChoice:
    """Distractors of one question, and rejected label -> reason."""

    distractors: tuple[Distractor, ...]
    refused: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class LabelUsage:
    """Label usage in one batch: how often each label is a key and how often a distractor."""

    keyed: Mapping[str, int]
    used: Counter[str] = field(default_factory=Counter)

    def load(self, label: str, options: int) -> float:
        """Return usage so far relative to the target share; the lowest load is chosen next."""
        return (self.used[label] + 1) / ((options - 1) * self.keyed.get(label, 0) + 1)


def judge_candidates(
    request: DistractorRequest, rules: SafetyRules, sources: Iterable[CandidateSource] = SOURCES
) -> DistractorPool:
    """Judge and rate every candidate of every source; a label counts for the first source with it.

    Raises:
        TermError: a label or group is not in any table.
    """
    verdicts: dict[str, tuple[int, str, SafetyVerdict, Grade]] = {}
    refused: dict[str, str] = {}
    for trust, source in enumerate(sources):
        for label in source.candidates(request, rules):
            if label in verdicts or label in refused:
                continue
            verdict = judge_distractor(label, request, rules)
            if verdict.allowed and verdict.grade is not None:
                verdicts[label] = (trust, source.strategy, verdict, verdict.grade)
            else:
                refused[label] = verdict.reason
    grades = {label: grade for label, (_, _, _, grade) in verdicts.items()}
    ratings = rate_difficulty(request, grades, rules)
    distractors = {
        label: Distractor(
            label=label,
            strategy=strategy,
            trust=trust,
            grade=grade,
            passed=tuple(
                sorted((*verdict.passed, SafetyCondition.OPTIONS, SafetyCondition.ONE_TRUE))
            ),
            similarity=ratings[label].similarity,
            difficulty=ratings[label].difficulty,
        )
        for label, (trust, strategy, verdict, grade) in verdicts.items()
    }
    return DistractorPool(allowed=distractors, refused=refused)


def choose_distractors(
    request: DistractorRequest,
    rules: SafetyRules,
    *,
    options: int,
    seed: str,
    prior: LabelUsage,
    sources: Iterable[CandidateSource] = SOURCES,
    difficulty: Difficulty | None = None,
) -> DistractorChoice:
    """Choose at most ``options - 1`` distractors that are safe individually and together.

    Args:
        request: the key and what is known.
        rules: tables and accepted evidence.
        options: number of options, including the key.
        seed: breaks ties; the same seed and prior give the same choice.
        prior: usage counts of the batch; updated with the chosen labels.
        sources: by decreasing trust; later sources only fill places that earlier ones left open.
        difficulty: preferred difficulty; ``None`` expresses no preference.

    Raises:
        TermError: a label or group is not in any table.
    """
    pool = judge_candidates(request, rules, sources)
    return choose_from_pool(
        pool, request, rules, options=options, seed=seed, prior=prior, difficulty=difficulty
    )


def choose_from_pool(
    pool: DistractorPool,
    request: DistractorRequest,
    rules: SafetyRules,
    *,
    options: int,
    seed: str,
    prior: LabelUsage,
    difficulty: Difficulty | None = None,
) -> DistractorChoice:
    """Choose from candidates that have already been judged; see ``choose_distractors``."""
    lot = seeded_order(seed)
    ranked = sorted(
        pool.allowed.values(),
        key=lambda distractor: (
            distractor.trust,
            level_distance(distractor.difficulty, difficulty) if difficulty else 0,
            prior.load(distractor.label, options),
            lot(distractor.label),
        ),
    )
    distractors: list[Distractor] = []
    refused = dict(pool.refused)
    for distractor in ranked:
        if len(distractors) == options - 1:
            break
        clashes = (
            option_conflict(distractor.label, other.label, request, rules) for other in distractors
        )
        reason = next(filter(None, clashes), "")
        if reason:
            refused[distractor.label] = f"options-{reason}"
        else:
            distractors.append(distractor)
    prior.used.update(distractor.label for distractor in distractors)
    return DistractorChoice(distractors=tuple(distractors), refused=refused)


def seeded_tiebreak(*parts: object) -> str:
    """Deterministic pseudo-random sort key (SHA-256 of the parts)."""
    return sha256("\x1f".join(map(str, parts)).encode()).hexdigest()


def seeded_order(seed: str) -> Callable[[str], int]:
    """Pseudo-random sort key of labels under one seed, cheaper than ``seeded_tiebreak``.

    Universal hashing (Dietzfelbinger et al., J. Algorithms 25, 1997): the digest of each label is
    cached and multiplied by a random odd number.
    """
    factor = int.from_bytes(sha256(seed.encode()).digest()[:8], "big") | 1
    return lambda label: (_digest(label) * factor) % _LOTS


_LOTS = 1 << 64


@lru_cache(1 << 12)
def _digest(label: str) -> int:
    return int.from_bytes(sha256(label.encode()).digest()[:8], "big")

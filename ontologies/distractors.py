"""Pick the wrong options of a question from candidate sources, under the safety rules.

Chosen greedily: labels that were used least so far come first, measured against how often each is
a key in the batch. A label that is a key in one item and a distractor about (options - 1) times
as often tells a model nothing (options-only leaks: arXiv 2402.12483).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from medrcube.ontologies.safety import Request, Rules, clash, judge
from medrcube.ontologies.terms import NORMALITY
from medrcube.records import Grade


class CandidateSource(Protocol):
    """Where wrong options come from. What it proposes still passes every safety rule.

    ``strategy`` is stored with each option; ``candidates`` gives concept labels, best first,
    without the key, the same for the same request, and nothing when it cannot serve.
    """

    @property
    def strategy(self) -> str:
        """Name stored with each option: predefined, knowledge, llm."""
        ...

    def candidates(self, request: Request, rules: Rules) -> Sequence[str]:
        """Labels that might be wrong options for the key."""
        ...


@dataclass(frozen=True, slots=True)
class ExclusiveGroup:
    """The other members of the key's exclusive group."""

    strategy: str = "predefined"

    def candidates(self, request: Request, rules: Rules) -> Sequence[str]:
        """Members of the group; an unknown group or a key outside it is a ``TermError``."""
        if request.group is None:
            return ()
        rules.relations.rank(request.group, request.key)
        members = rules.relations.group_members(request.group)
        return tuple(label for label in members if label != request.key)


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Labels of the source's own table that are of the key's kind."""

    strategy: str = "knowledge"

    def candidates(self, request: Request, rules: Rules) -> Sequence[str]:
        """Labels of the pool that share the kind of the key; "no finding" goes with all."""
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
    """A wrong option and why it is safe."""

    label: str
    strategy: str
    grade: Grade
    passed: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Wrong options of one question, and what was refused."""

    distractors: tuple[Distractor, ...]
    refused: Mapping[str, str]


@dataclass(slots=True, kw_only=True)
class Prior:
    """Running count of one batch: how often a label is key and how often distractor."""

    keyed: Mapping[str, int]
    used: Counter[str] = field(default_factory=Counter)

    def load(self, label: str, options: int) -> float:
        """Use so far against its due share; the smallest is the next to use."""
        return (self.used[label] + 1) / ((options - 1) * self.keyed.get(label, 0) + 1)


def choose(
    request: Request,
    rules: Rules,
    *,
    options: int,
    seed: str,
    prior: Prior,
    sources: Iterable[CandidateSource] = SOURCES,
) -> Choice:
    """Choose at most ``options - 1`` distractors that are safe alone and together.

    Args:
        request: the key and what is known.
        rules: tables and accepted evidence.
        options: number of options wanted, the key included.
        seed: breaks ties; the same seed and prior give the same choice.
        prior: counts of the batch; the chosen labels are added to it.
        sources: in order of trust; a later one only fills what the earlier left open.

    Raises:
        TermError: a label or group is in no table.
    """
    chosen: list[Distractor] = []
    refused: dict[str, str] = {}
    for source in sources:
        found = sorted(
            source.candidates(request, rules),
            key=lambda label: (prior.load(label, options), tie(seed, label)),
        )
        for label in found:
            if len(chosen) == options - 1:
                break
            verdict = judge(label, request, rules)
            if not verdict.allowed or verdict.grade is None:
                refused[label] = verdict.reason
                continue
            clashes = (clash(label, other.label, request, rules) for other in chosen)
            reason = next(filter(None, clashes), "")
            if reason:
                refused[label] = f"options-{reason}"
                continue
            chosen.append(
                Distractor(
                    label=label,
                    strategy=source.strategy,
                    grade=verdict.grade,
                    passed=tuple(sorted((*verdict.passed, 10, 12))),
                )
            )
    prior.used.update(distractor.label for distractor in chosen)
    return Choice(distractors=tuple(chosen), refused=refused)


def tie(*parts: object) -> str:
    """A fixed, even order of things that have no order of their own."""
    return sha256("\x1f".join(map(str, parts)).encode()).hexdigest()

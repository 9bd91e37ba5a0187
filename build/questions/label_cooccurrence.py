"""Label co-occurrence: how often a label is absent where a key is present.

Counted over all cases that a build reads, before any question is chosen, and once for each case.
Only what a case says counts, as read or as implied. Silence says nothing, and a source that never
calls a label absent does not tell how often it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.facts import Grade
from medrcube.ontologies.distractor_safety import CaseFacts

__all__ = ["LEAST", "LabelCooccurrence", "known_of_cases"]

LEAST = 20
"""Cases with the key that must say of a label whether it is there, for a share to be told: its
standard error is then a ninth or less."""


def known_of_cases(queries: Iterable[QuestionCandidate]) -> Iterator[tuple[str, CaseFacts, int]]:
    """What is known of the cases of questions: source, facts, and number of cases that say them."""
    cases: dict[tuple[str, str], CaseFacts] = {}
    for query in queries:
        if query.pool and query.group is None and not query.ground.region:
            cases.setdefault((query.sample.source, query.sample.case), query.ground)
    # Cases that say the same share their ground.
    alike = Counter((source, id(ground)) for (source, _), ground in cases.items())
    grounds = {id(ground): ground for ground in cases.values()}
    for (source, number), count in alike.items():
        yield source, grounds[number], count


class LabelCooccurrence:
    """Shares of one batch, by source and key.

    Exclusive groups have none: of their values all but one are always absent.
    """

    def __init__(self, known: Iterable[tuple[str, CaseFacts, int]]) -> None:
        """Count the labels of cases, as ``known_of_cases`` tells them."""
        self._absent: dict[tuple[str, str], Counter[str]] = {}
        self._said: dict[tuple[str, str], Counter[str]] = {}
        for source, ground, count in known:
            self._count(source, ground, count)
        self._known: dict[tuple[str, str], Mapping[str, float]] = {}

    def apart(self, query: QuestionCandidate) -> Mapping[str, float]:
        """Label -> share of absence beside the key of a query, where enough cases tell."""
        if not query.pool or query.group is not None:
            return {}
        place = (query.sample.source, query.key)
        shares = self._known.get(place)
        if shares is None:
            absent, stated = self._absent.get(place, Counter()), self._said.get(place, Counter())
            shares = self._known[place] = {
                label: absent[label] / count
                for label, count in stated.items()
                if count >= LEAST and absent[label]
            }
        return shares

    def _count(self, source: str, ground: CaseFacts, count: int) -> None:
        absent = [label for label, mark in ground.absent.items() if mark.grade < Grade.C]
        for key in ground.present:
            stated = self._said.setdefault((source, key), Counter())
            denied = self._absent.setdefault((source, key), Counter())
            for label in absent:
                stated[label] += count
                denied[label] += count
            for label in ground.present:
                if label != key:
                    stated[label] += count

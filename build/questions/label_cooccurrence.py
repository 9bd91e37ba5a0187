"""Label co-occurrence: how often a label is absent if a key is present.

Counted over all cases that a build reads, before any question is selected, once for each case. Only
labels that are read or implied count. Silence says nothing, and a source that never calls a label
absent gives no frequency.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from medrcube.build.questions.fact_rules import QuestionCandidate
from medrcube.facts import Grade
from medrcube.ontologies.distractor_safety import CaseFacts

__all__ = ["LEAST", "LabelCooccurrence", "known_of_cases"]

LEAST = 20
"""Fewest cases with the key in which a label is present or absent for a share to be computed: its
standard error is then one ninth or less.
"""


def known_of_cases(queries: Iterable[QuestionCandidate]) -> Iterator[tuple[str, CaseFacts, int]]:
    """Yield the known facts of the cases of questions: source, facts, and number of cases."""
    cases: dict[tuple[str, str], CaseFacts] = {}
    for query in queries:
        if query.pool and query.group is None and not query.ground.region:
            cases.setdefault((query.sample.source, query.sample.case), query.ground)
    # Cases with equal facts share one ``ground`` object.
    alike = Counter((source, id(ground)) for (source, _), ground in cases.items())
    grounds = {id(ground): ground for ground in cases.values()}
    for (source, number), count in alike.items():
        yield source, grounds[number], count


class LabelCooccurrence:
    """Co-occurrence shares of one batch, by source and key.

    Exclusive groups have none: all but one of their values are always absent.
    """

    def __init__(self, counted_facts: Iterable[tuple[str, CaseFacts, int]]) -> None:
        """Count the labels of cases, as yielded by ``known_of_cases``."""
        self._absent: dict[tuple[str, str], Counter[str]] = {}
        self._stated: dict[tuple[str, str], Counter[str]] = {}
        for source, ground, count in counted_facts:
            self._count(source, ground, count)
        self._cache: dict[tuple[str, str], Mapping[str, float]] = {}

    def apart(self, query: QuestionCandidate) -> Mapping[str, float]:
        """Return label -> share of absence given the key of a query, if enough cases are known."""
        if not query.pool or query.group is not None:
            return {}
        place = (query.sample.source, query.key)
        shares = self._cache.get(place)
        if shares is None:
            absent, stated = self._absent.get(place, Counter()), self._stated.get(place, Counter())
            shares = self._cache[place] = {
                label: absent[label] / count
                for label, count in stated.items()
                if count >= LEAST and absent[label]
            }
        return shares

    def _count(self, source: str, ground: CaseFacts, count: int) -> None:
        absent = [label for label, mark in ground.absent.items() if mark.grade < Grade.C]
        for key in ground.present:
            stated = self._stated.setdefault((source, key), Counter())
            denied = self._absent.setdefault((source, key), Counter())
            for label in absent:
                stated[label] += count
                denied[label] += count
            for label in ground.present:
                if label != key:
                    stated[label] += count

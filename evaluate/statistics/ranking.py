"""A ranking in which runs that cannot be told apart share a letter.

Every two runs are compared question by question with the exact test of whole units, and the p
values of all pairs are adjusted together (Holm), so that the chance of any false separation is
5 %. The letters are the compact letter display of Piepho (J Comput Graph Stat 2004;13:456-466).
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.evaluate.outcomes import Outcome, Result
from medrcube.evaluate.statistics.contrasts import LOST
from medrcube.evaluate.statistics.paired import Pair, holm, paired_metrics
from medrcube.evaluate.statistics.units import unit_of

ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One run of a ranking.

    Attributes:
        label: name of the run.
        accuracy: of the questions that it has no lost reply to.
        letters: groups that it is in; runs that share a letter cannot be told apart.
    """

    label: str
    accuracy: float
    letters: str


def ranking(runs: Mapping[str, Sequence[Result]]) -> list[Ranked]:
    """Runs on one benchmark, best first.

    Args:
        runs: results by label, one of each item; a question counts for a pair of runs where
            neither has lost its reply.
    """
    kept = {
        label: {r.item.name: r for r in results if r.outcome not in LOST}
        for label, results in runs.items()
    }
    accuracy = {label: _accuracy(found) for label, found in kept.items()}
    labels = sorted(kept, key=lambda label: -accuracy[label])
    pairs = list(itertools.combinations(range(len(labels)), 2))
    p_values = [_p(kept[labels[i]], kept[labels[j]]) for i, j in pairs]
    apart = {pair for pair, p in zip(pairs, holm(p_values), strict=True) if p < ALPHA}
    return [
        Ranked(label=label, accuracy=accuracy[label], letters=letters)
        for label, letters in zip(labels, compact_letters(len(labels), apart), strict=True)
    ]


def compact_letters(count: int, apart: set[tuple[int, int]]) -> list[str]:
    """Letters of each member of a ranking: two share one exactly where they are not apart.

    Args:
        count: number of members, best first.
        apart: pairs (i, j), i < j, that are told apart.
    """
    groups = [frozenset(range(count))] if count else []
    for i, j in sorted(apart):
        split = [
            part
            for group in groups
            for part in ((group - {i}, group - {j}) if {i, j} <= group else (group,))
        ]
        # A group within another says nothing that the other does not.
        groups = [
            one
            for place, one in enumerate(split)
            if not any(one < other for other in split) and one not in split[:place]
        ]
    ordered = sorted(groups, key=sorted)
    return [
        "".join(_letter(place) for place, group in enumerate(ordered) if member in group)
        for member in range(count)
    ]


def _letter(place: int) -> str:
    rest, place = divmod(place, len(string.ascii_lowercase))
    return string.ascii_lowercase[place] + (str(rest) if rest else "")


def _accuracy(found: Mapping[str, Result]) -> float:
    right = sum(result.outcome is Outcome.CORRECT for result in found.values())
    return right / len(found) if found else 0.0


def _p(first: Mapping[str, Result], second: Mapping[str, Result]) -> float:
    right = Outcome.CORRECT
    pairs = [
        Pair(unit_of(result), result.outcome is right, second[name].outcome is right)
        for name, result in first.items()
        if name in second
    ]
    found = paired_metrics(pairs)
    interval = found["interval"]
    told = interval is not None and not interval[0] <= 0 <= interval[1]
    return float(found["mcnemar_p"]) if told else 1.0

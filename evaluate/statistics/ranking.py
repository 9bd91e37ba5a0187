"""Ranking with compact letters: runs that share a letter are not distinguishable.

Every pair of runs is compared question by question with the exact test of whole units, and the p
values of all pairs are adjusted together (Holm), so that the probability of any false separation is
5 %. The letters are the compact letter display of Piepho (J Comput Graph Stat 2004;13:456-466).
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from medrcube.evaluate.outcomes import Result
from medrcube.evaluate.statistics.clustered_inference import UnitTally
from medrcube.evaluate.statistics.comparison.answer_matrix import (
    ALPHA,
    AnswerTable,
    answer_table,
    p_of_difference,
)
from medrcube.evaluate.statistics.paired_tests import holm

__all__ = ["Ranked", "compact_letters", "group_letters", "ranking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """One run of a ranking.

    Attributes:
        label: name of the run.
        accuracy: accuracy over the questions with a reply.
        letters: compact letters; runs that share one are not distinguishable.
    """

    label: str
    accuracy: float
    letters: str


def ranking(runs: Mapping[str, Sequence[Result]]) -> list[Ranked]:
    """Runs on one benchmark, best first.

    Args:
        runs: results by label, one per item; a question counts for a pair of runs if neither has
            lost its reply.
    """
    table = answer_table(runs)
    accuracy = [_share(table.shares(run)) for run in range(len(table.labels))]
    order = sorted(range(len(accuracy)), key=lambda run: -accuracy[run])
    letters = group_letters(table, order)
    return [
        Ranked(label=table.labels[run], accuracy=accuracy[run], letters=group)
        for run, group in zip(order, letters, strict=True)
    ]


def group_letters(table: AnswerTable, order: Sequence[int]) -> list[str]:
    """Return the letters of the runs of a table, in the given order, after Holm over all pairs."""
    pairs = list(itertools.combinations(range(len(order)), 2))
    p_values = [p_of_difference(table.differences(order[i], order[j])) for i, j in pairs]
    apart = {pair for pair, p in zip(pairs, holm(p_values), strict=True) if p < ALPHA}
    return compact_letters(len(order), apart)


def compact_letters(count: int, apart: set[tuple[int, int]]) -> list[str]:
    """Return the compact letters of a ranking: two members share one unless they differ.

    Args:
        count: number of members, best first.
        apart: pairs (i, j), i < j, that are distinguishable.
    """
    groups = [frozenset(range(count))] if count else []
    for i, j in sorted(apart):
        split = [
            part
            for group in groups
            for part in ((group - {i}, group - {j}) if {i, j} <= group else (group,))
        ]
        # A group contained in another is redundant.
        groups = [
            part_group
            for place, part_group in enumerate(split)
            if not any(part_group < other for other in split) and part_group not in split[:place]
        ]
    ordered = sorted(groups, key=sorted)
    return [
        "".join(_letter(place) for place, group in enumerate(ordered) if member in group)
        for member in range(count)
    ]


def _letter(place: int) -> str:
    rest, place = divmod(place, len(string.ascii_lowercase))
    return string.ascii_lowercase[place] + (str(rest) if rest else "")


def _share(units: Sequence[UnitTally]) -> float:
    size = sum(unit.size for unit in units)
    return sum(unit.total for unit in units) / size if size else 0.0

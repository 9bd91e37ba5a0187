"""Compare more than two runs: which ones are distinguishable, overall and by group.

There are two tables, each with its own family of tests. Over all questions every pair of runs is
tested, and these tests are adjusted together (Holm). By group, every pair is tested in every group
that is not small, and all of these tests are adjusted together. So the probability that a table
separates any two equal models is at most 5 %. Runs that are not separated share a letter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.questions.settings import side_by_side
from medrcube.evaluate.statistics.clustered_inference import (
    UnitTally,
    design_effect,
    difference_interval,
    effective_units,
    share_interval,
    why_no_interval,
)
from medrcube.evaluate.statistics.comparison.answer_matrix import (
    ALPHA,
    AnswerTable,
    answer_table,
    p_of_difference,
)
from medrcube.evaluate.statistics.comparison.compared_runs import (
    degradation_notes,
    differences_of_runs,
    incomplete_sentences,
    labels_of,
    load_compared,
    refuse_other_questions,
    require_same_items,
    same_item,
    shown_alike,
    uncompared_conditions,
)
from medrcube.evaluate.statistics.comparison.verdict_text_many import many_conclusions
from medrcube.evaluate.statistics.grouping import COLUMNS, Axis, grouped
from medrcube.evaluate.statistics.intervals import SMALL, ratio
from medrcube.evaluate.statistics.paired_tests import holm
from medrcube.evaluate.statistics.power import FEWEST_FOR_POWER, minimum_detectable_effect
from medrcube.evaluate.statistics.ranking import compact_letters
from medrcube.evaluate.statistics.units import unit_kinds

if TYPE_CHECKING:
    from medrcube.evaluate.statistics.comparison.answer_matrix import Flags

__all__ = ["compare_many", "compare_table"]


def compare_many(
    folders: Sequence[Path], *, by: Axis = "task", common: bool = False
) -> dict[str, Any]:
    """Compare scored runs, item by item.

    The first epoch of the first common condition is compared, on the items with a reply in every
    complete run, so that all numbers refer to the same questions.

    Args:
        folders: run folders.
        by: axis of the groups.
        common: compare runs of different releases or selections on their identical items.

    Returns:
        ``runs`` with ``label``, ``folder``, ``model``, ``dataset``, ``items``, ``incomplete`` and
        ``bounds``, see ``compare_two``; incomplete ones are in no table; ``condition``;
        ``conditions_left``; ``same_dataset``; ``items`` with ``common``, ``lost``, ``changed``,
        ``only_some`` and ``withdrawn``;
        ``overall`` and, for each group of the axis, a row of ``groups``: see ``compare_table``;
        ``axis``; ``correction``; ``settings``; ``notes``; ``conclusions``.

    Raises:
        WorkspaceError: a folder is not a scored run, the runs were evaluated on different releases
            or selections (without ``common``) or under different conditions, or they share no item.
    """
    everyone = load_compared(folders)
    labels_of_all = labels_of(everyone)
    described = [run.summary(label) for run, label in zip(everyone, labels_of_all, strict=True)]
    parts = incomplete_sentences(described)
    whole = [place for place, run in enumerate(described) if not run["incomplete"]]
    if len(whole) < 2:
        raise WorkspaceError(f"{'; '.join(parts)}; expected two or more complete runs to compare")
    loaded = [everyone[place] for place in whole]
    same = len({run.dataset for run in loaded}) == 1
    if not (same or common):
        refuse_other_questions(loaded)
    condition, results = shown_alike(loaded)
    if not common:
        require_same_items(loaded, results)
    everything = set().union(*results)
    shared = [name for name in results[0] if all(name in by_item for by_item in results)]
    alike = [name for name in shared if same_item(*(by_item[name] for by_item in results))]
    labels = [labels_of_all[place] for place in whole]
    table = answer_table(
        {
            label: [by_item[name] for name in alike]
            for label, by_item in zip(labels, results, strict=True)
        }
    )
    compared = compare_table(table, by)
    by_item = {
        "runs": described,
        "condition": condition.value,
        "conditions_left": uncompared_conditions(everyone, condition),
        "same_dataset": same,
        "items": {
            "common": compared["overall"]["n"],
            "lost": len(alike) - compared["overall"]["n"],
            "changed": len(shared) - len(alike),
            "only_some": len(everything) - len(shared),
            "withdrawn": len(loaded[0].withdrawn),
        },
        **compared,
        "settings": [list(row) for row in side_by_side([run.manifest for run in everyone])],
        "notes": [
            *differences_of_runs(everyone),
            *degradation_notes(loaded, condition, [described[place] for place in whole]),
        ],
    }
    return {**by_item, "conclusions": [*parts, *many_conclusions(by_item)]}


def compare_table(table: AnswerTable, by: Axis) -> dict[str, Any]:
    """Compare the runs of a table over all questions and in the groups of an axis.

    Args:
        table: runs on one benchmark; only questions with a reply in every run are compared.
        by: axis of the groups.

    Returns:
        ``overall`` and ``groups``, rows with the names of the group, ``n``, ``small``,
        ``unit_kinds``, ``runs`` (``label``, ``correct``, ``accuracy``, ``interval``,
        ``interval_reason``, ``letters``; best first in ``overall``, otherwise in that order) and
        ``pairs`` (``first`` and ``second``, labels; ``difference``, ``interval``, ``p``,
        ``p_holm``, ``apart``; overall also ``minimum_detectable_effect`` at the significance level
        left for each of that many pairs). Small groups are not tested: no letters, no pairs.
        ``axis``; ``correction``, with the number of tests that each table adjusts together.

    Raises:
        WorkspaceError: the runs have no question in common.
    """
    replied = table.replied_by_all()
    if not replied.any():
        raise WorkspaceError("the runs answer no item in common")
    shares = [ratio(*_sums(table.shares(run, replied))) or 0.0 for run in range(len(table.labels))]
    order = sorted(range(len(shares)), key=lambda run: -shares[run])
    overall = _ComparedGroup(table, replied, order)
    groups = [
        (dict(zip(COLUMNS[by], key, strict=True)), _ComparedGroup(table, mask, order))
        for key, mask in _masks(table, replied, by)
    ]
    over_all = overall.p_values()
    in_groups = [[] if group.small else group.p_values() for _, group in groups]
    adjusted = iter(holm(list(itertools.chain.from_iterable(in_groups))))
    return {
        "overall": overall.row(over_all, holm(over_all), with_power=True),
        "axis": by,
        "groups": [
            {**names, **group.row(own, [next(adjusted) for _ in own])}
            for (names, group), own in zip(groups, in_groups, strict=True)
        ],
        "correction": {
            "method": "holm",
            "alpha": ALPHA,
            "overall_tests": len(over_all),
            "group_tests": sum(map(len, in_groups)),
        },
    }


class _ComparedGroup:
    """Comparison of ordered runs on a set of questions with a reply in every run."""

    def __init__(self, table: AnswerTable, mask: Flags, order: Sequence[int]) -> None:
        self._table, self._mask, self._order = table, mask, order
        self._pairs = list(itertools.combinations(range(len(order)), 2))
        self.n = int(mask.sum())
        self.small = self.n < SMALL

    def p_values(self) -> list[float]:
        return [p_of_difference(self._difference(*pair)) for pair in self._pairs]

    def row(
        self, p_values: Sequence[float], adjusted: Sequence[float], *, with_power: bool = False
    ) -> dict[str, Any]:
        tested = self._pairs if p_values else []
        apart = {pair for pair, p in zip(tested, adjusted, strict=True) if p < ALPHA}
        letters = compact_letters(len(self._order), apart) if tested else [""] * len(self._order)
        members = [r for r, is_in in zip(self._table.results, self._mask, strict=True) if is_in]
        return {
            "n": self.n,
            "small": self.small,
            "unit_kinds": unit_kinds(members),
            "runs": [self._share(run, own) for run, own in zip(self._order, letters, strict=True)],
            "pairs": [
                self._pair(pair, p, p_holm, with_power=with_power)
                for pair, p, p_holm in zip(tested, p_values, adjusted, strict=True)
            ],
        }

    def _share(self, run: int, letters: str) -> dict[str, Any]:
        units = self._table.shares(run, self._mask)
        correct, n = _sums(units)
        interval = share_interval(units)
        return {
            "label": self._table.labels[run],
            "correct": correct,
            "accuracy": ratio(correct, n),
            "interval": None if interval is None else list(interval),
            "interval_reason": None if interval else why_no_interval(units),
            "letters": letters,
        }

    def _pair(
        self, pair: tuple[int, int], p: float, p_holm: float, *, with_power: bool
    ) -> dict[str, Any]:
        units = self._difference(*pair)
        total, n = _sums(units)
        interval = difference_interval(units)
        first, second = (self._table.labels[self._order[place]] for place in pair)
        row = {
            "first": first,
            "second": second,
            "difference": ratio(total, n),
            "interval": None if interval is None else list(interval),
            "p": p,
            "p_holm": p_holm,
            "apart": p_holm < ALPHA,
        }
        if with_power:
            row["minimum_detectable_effect"] = self._detectable(pair, units)
        return row

    def _detectable(self, pair: tuple[int, int], units: Sequence[UnitTally]) -> float | None:
        if len(units) < FEWEST_FOR_POWER:
            return None
        first, second = (self._order[place] for place in pair)
        right = self._table.right[:, self._mask]
        differing = int((right[first] != right[second]).sum())
        return minimum_detectable_effect(
            self.n,
            differing / self.n,
            design_effect(units, differing) or 1.0,
            self.n / effective_units(units),
            ALPHA / len(self._pairs),
        )

    def _difference(self, first: int, second: int) -> list[UnitTally]:
        return self._table.differences(self._order[first], self._order[second], self._mask)


def _sums(units: Sequence[UnitTally]) -> tuple[int, int]:
    return sum(unit.total for unit in units), sum(unit.size for unit in units)


def _masks(table: AnswerTable, replied: Flags, by: Axis) -> Iterator[tuple[tuple[str, ...], Flags]]:
    """Yield names and questions of each group."""
    import numpy as np  # noqa: PLC0415 - an import that only scoring pays

    places = [place for place in range(len(table.results)) if replied[place]]
    for key, members in grouped(by, places, lambda place: table.results[place].item).items():
        mask = np.zeros(len(replied), dtype=bool)
        mask[members] = True
        yield key, mask

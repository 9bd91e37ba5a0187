"""Levels of slices that show nothing, borrowed from those that show something.

A finding lies where it lies, at any level; a slice without it can be taken anywhere. Taken from
the middle of each stack, its level would tell the answer: whoever sees a slice away from the
middle knows that something is there. So each slice without a finding is taken at the level of one
with it, and the levels of both are spread alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256

from medrcube.facts import Case, LabelState, Skip

__all__ = ["at_borrowed_levels", "borrowed_levels", "drawn_slice", "level_of", "nearest_slice"]

MIDDLE = 0.5
"""Level of a slice where a copy shows the finding nowhere: then nothing tells it."""


def level_of(at: int, count: int) -> float:
    """Level of slice ``at`` of a stack, from 0 for the first of ``count`` to 1 for the last."""
    return at / (count - 1) if count > 1 else MIDDLE


def nearest_slice(level: float, count: int) -> int:
    """Index of the slice of ``count`` that lies next to a level."""
    return round(level * (count - 1))


def borrowed_levels(shown: Collection[float], clear: Iterable[str]) -> Mapping[str, float]:
    """A level for each case without a finding, spread like those of the cases with it.

    Args:
        shown: level of each case that shows the finding.
        clear: names of the cases without it; their order means nothing.
    """
    levels = sorted(shown) or [MIDDLE]
    names = sorted(set(clear), key=lambda name: sha256(name.encode()).digest())
    return {
        name: levels[(2 * k + 1) * len(levels) // (2 * len(names))] for k, name in enumerate(names)
    }


def drawn_slice(name: str, count: int, levels: Sequence[float]) -> int:
    """Slice of a stack without a finding, at one of the levels that the card counted of others.

    Where labels of all stacks were counted, use this: what one copy lacks moves no other slice.

    Args:
        name: of the stack; decides the level.
        count: number of its slices.
        levels: quantiles of the levels at which the finding is shown.
    """
    digest = int.from_bytes(sha256(name.encode()).digest()[:8], "big")
    return nearest_slice(levels[digest % len(levels)], count)


def at_borrowed_levels(
    entries: Iterable[Case | Skip], *, field: str, shown: str, clear: str
) -> list[Case | Skip]:
    """The same entries; cases without a finding show a slice at the level of one with it.

    Args:
        entries: cases of one slice with their ``series`` in order of place.
        field: of the labels that decide.
        shown: raw value of a case that shows the finding.
        clear: raw value of a case in none of whose slices it is.
    """
    given = list(entries)
    cases = [entry for entry in given if isinstance(entry, Case)]
    positive, negative = (
        [case for case in cases if _states(case, field, value)] for value in (shown, clear)
    )
    own = [
        level_of(case.series.index(case.images[0].paths[0]), len(case.series)) for case in positive
    ]
    levels = borrowed_levels(own, [case.key for case in negative])
    return [
        _moved(entry, levels[entry.key])
        if isinstance(entry, Case) and entry.key in levels
        else entry
        for entry in given
    ]


def _states(case: Case, field: str, value: str) -> bool:
    return any(
        (label.field, label.value, label.state) == (field, value, LabelState.PRESENT)
        for label in case.labels
    )


def _moved(case: Case, level: float) -> Case:
    path = case.series[nearest_slice(level, len(case.series))]
    return replace(case, images=(replace(case.images[0], paths=(path,)), *case.images[1:]))

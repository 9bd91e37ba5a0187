"""Size balance: draws numbers evenly over size classes, so that no constant passes too often.

Most ejection fractions are normal and most nodules small: over all of them a single number passes
half. The number of questions from each size class of a cell is capped so that the blind chance
stays within a bound, and as large as that allows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from medrcube.build.open_items.chance.blind_chance import FEW, unit_of
from medrcube.build.open_items.chance.number_chance import number_chance
from medrcube.build.open_items.question import OpenQuestion

__all__ = ["even_lots"]

_CAPS = 40
"""Caps that are tried."""


def even_lots(questions: Sequence[OpenQuestion], *, most: float) -> list[OpenQuestion]:
    """Return the questions of one cell that are kept, in order; with few patients, all are.

    Args:
        questions: of one cell, all of which ask for a number, in the order of a draw.
        most: largest share that a blind answer may pass. If it is met only by samples so small that
            chance explains it, the bound is the least share of any draw plus its standard error.
    """
    few = len(set(map(unit_of, questions))) < FEW
    if few or _chance(questions) <= most:
        return list(questions)
    largest = max(Counter(question.lot for question in questions).values())
    steps = sorted({round(largest ** (step / _CAPS)) for step in range(_CAPS + 1)}, reverse=True)
    draws = [_capped(questions, cap) for cap in steps]
    shares = [_chance(draw) for draw in draws]
    sizes = map(len, draws)
    bound = max(most, min(map(_with_error, shares, sizes)))
    return next(draw for draw, share in zip(draws, shares, strict=True) if share <= bound)


def _chance(questions: Sequence[OpenQuestion]) -> float:
    return number_chance(questions, [unit_of(question) for question in questions])


def _with_error(share: float, questions: int) -> float:
    """Return a share plus its standard error."""
    return share + math.sqrt(share * (1 - share) / questions)


def _capped(questions: Sequence[OpenQuestion], cap: int) -> list[OpenQuestion]:
    """Return at most ``cap`` questions of each size class, the first that were drawn."""
    counts: Counter[str] = Counter()
    capped = []
    for question in questions:
        if counts[question.lot] < cap:
            counts[question.lot] += 1
            capped.append(question)
    return capped

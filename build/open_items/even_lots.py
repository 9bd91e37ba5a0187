"""Even lots: numbers of a cell drawn so evenly over classes of size that no constant passes much.

Most ejection fractions are normal and most nodules small: of all of them together one number passes
half. A class of size gives at most so many questions as keep the blind chance at a bound, and as
many as that allows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from medrcube.build.open_items.blind_chance import FEW, unit_of
from medrcube.build.open_items.number_chance import number_chance
from medrcube.build.open_items.question import OpenQuestion

__all__ = ["even_lots"]

_CAPS = 40
"""Sizes of a class that are tried."""


def even_lots(questions: Sequence[OpenQuestion], *, most: float) -> list[OpenQuestion]:
    """The questions of one cell that stay, in their order; of few patients all do.

    Args:
        questions: of one cell, all of which ask for a number, in the order of a draw.
        most: share of them that a blind answer may pass. Where only so few questions keep to it
            that luck does, the bound is the least share of any draw and its standard error.
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
    """A share with its standard error."""
    return share + math.sqrt(share * (1 - share) / questions)


def _capped(questions: Sequence[OpenQuestion], cap: int) -> list[OpenQuestion]:
    """At most so many of each class, the first that were drawn."""
    taken: Counter[str] = Counter()
    kept = []
    for question in questions:
        if taken[question.lot] < cap:
            taken[question.lot] += 1
            kept.append(question)
    return kept

"""Chance of numbers: the larger pass rate of a constant and of a reader of the frame alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from medrcube.build.audit.shortcuts.number_priors import constant_prior, scale_prior
from medrcube.build.open_items.question import OpenQuestion
from medrcube.forms.number import NumberTarget

__all__ = ["asks_numbers", "number_chance"]


def asks_numbers(questions: Sequence[OpenQuestion]) -> bool:
    """Whether there are questions and all of them ask for a number."""
    return all(isinstance(question.target, NumberTarget) for question in questions)


def number_chance(questions: Sequence[OpenQuestion], patients: Sequence[str]) -> float:
    """Return the share of the questions of one cell that the best blind number passes.

    Args:
        questions: one or more, all of which ask for a number.
        patients: patient of each.
    """
    targets = [question.target for question in questions]
    values, low, high = np.array(
        [(t.value, t.low, t.high) for t in targets if isinstance(t, NumberTarget)]
    ).T
    share = constant_prior(low, high)
    visible = np.array([question.visible_values for question in questions])
    if visible.ndim == 2 and visible.shape[1]:
        share = max(share, scale_prior(values, low, high, visible, patients))
    return share

"""Conditional logit that predicts the key, with cross-validation folds by group.

Each option has a score, linear in its features, and the key is drawn with the softmax of the scores
of its question (McFadden 1974). Ridge-penalized and fitted by accelerated gradient descent, with a
step size from a curvature bound, so there is nothing to tune.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

__all__ = ["ConditionalLogit", "LogitQuestion", "cross_validate", "folds"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS = 80
"""Gradient steps; predictions no longer change after about 50."""
RIDGE = 10.0
"""Penalty of a squared weight: strong, since most batches have more features than items."""
_TIE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitQuestion:
    """What the model sees of one question.

    Attributes:
        options: features of each option, name -> value; names are of any kind.
        key: index of the right option.
    """

    options: Sequence[Mapping[Hashable, float]]
    key: int


class ConditionalLogit:
    """Scores of options, learnt from questions whose key is known."""

    def __init__(self, questions: Sequence[LogitQuestion], *, ridge: float = RIDGE) -> None:
        self._names: dict[Hashable, int] = {}
        rows = [self._known(option, grow=True) for q in questions for option in q.options]
        self._weights = _fit(questions, rows, len(self._names), ridge)

    def hit(self, question: LogitQuestion) -> float:
        """Probability that the best-scored option is the key: a tie is broken by lot."""
        scores = [self._score(option) for option in question.options]
        best = max(scores)
        winners = [index for index, score in enumerate(scores) if score >= best - _TIE]
        return (question.key in winners) / len(winners)

    def _score(self, option: Mapping[Hashable, float]) -> float:
        indexes, values = self._known(option, grow=False)
        return float(self._weights[indexes] @ values)

    def _known(self, option: Mapping[Hashable, float], *, grow: bool) -> tuple[Ints, Floats]:
        if grow:
            for name in option:
                self._names.setdefault(name, len(self._names))
        names = [name for name in option if name in self._names]
        indexes = np.array([self._names[name] for name in names], dtype=np.int64)
        return indexes, np.array([option[name] for name in names], dtype=np.float64)


def folds(groups: Iterable[str], count: int) -> dict[str, int]:
    """Group -> fold, folds of nearly equal numbers of members, whatever the order of the input.

    Args:
        groups: one entry for each question.
        count: most folds; there are never more than groups.
    """
    sizes: dict[str, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    filled = [0] * min(count, len(sizes))
    fold_of = {}
    for group in sorted(sizes, key=lambda name: (-sizes[name], sha256(name.encode()).digest())):
        fold = filled.index(min(filled))
        filled[fold] += sizes[group]
        fold_of[group] = fold
    return fold_of


def cross_validate(
    questions: Sequence[LogitQuestion],
    groups: Sequence[str],
    *,
    blocks: Sequence[str] | None = None,
    count: int = 5,
) -> list[float] | None:
    """Hit of every question by a model that was fitted without its block and its whole group.

    Args:
        questions: the questions.
        groups: one for each question, such as its patient.
        blocks: questions that tell of each other's keys, which share a fold; the groups where
            nothing is given.
        count: most folds.

    Returns:
        One hit for each question, or ``None`` when all are of one group, so that nothing can be
        held out.
    """
    together = groups if blocks is None else blocks
    fold_of = folds(together, count)
    numbers = [fold_of[block] for block in together]
    hits = [0.0] * len(questions)
    for fold in sorted(set(numbers)):
        held = {group for group, number in zip(groups, numbers, strict=True) if number == fold}
        training = [
            question
            for question, group, number in zip(questions, groups, numbers, strict=True)
            if number != fold and group not in held
        ]
        if not training:
            return None
        model = ConditionalLogit(training)
        for index, number in enumerate(numbers):
            if number == fold:
                hits[index] = model.hit(questions[index])
    return hits


def _fit(
    questions: Sequence[LogitQuestion],
    rows: Sequence[tuple[Ints, Floats]],
    width: int,
    ridge: float,
) -> Floats:
    """Weights by Nesterov's accelerated gradient with a diagonal step.

    The softmax has curvature of at most one half, and (x·v)^2 <= |x|_1 * sum |x_j| v_j^2, so
    1 / (ridge + sum |x_j| |x|_1 / 2) is a step that never overshoots.
    """
    sizes = np.array([len(q.options) for q in questions], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    counts = np.array([len(indexes) for indexes, _ in rows], dtype=np.int64)
    option = np.repeat(np.arange(len(rows)), counts)
    feature = np.concatenate([indexes for indexes, _ in rows])
    value = np.concatenate([values for _, values in rows])
    norms = np.bincount(option, np.abs(value), minlength=len(rows))
    step = 1 / (ridge + np.bincount(feature, np.abs(value) * norms[option], minlength=width) / 2)
    truth = np.zeros(len(rows))
    truth[starts + np.array([q.key for q in questions])] = 1
    weights: Floats = np.zeros(width)
    ahead = weights
    pace = 1.0
    for _ in range(STEPS):
        scores = np.bincount(option, ahead[feature] * value, minlength=len(rows))
        scores = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
        chances = scores / np.repeat(np.add.reduceat(scores, starts), sizes)
        slope = np.bincount(feature, value * (chances - truth)[option], minlength=width)
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        moved = ahead - step * (slope + ridge * ahead)
        ahead = moved + (pace - 1) / faster * (moved - weights)
        weights, pace = moved, faster
    return weights

"""Conditional logit that predicts the key, with cross-validation folds by group.

Each option has a score, linear in its features, and the key is drawn with the softmax of the scores
of its question (McFadden 1974). Ridge-penalised and fitted by accelerated gradient descent, with a
step size from a curvature bound, so there is nothing to tune.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "ConditionalLogit",
    "LogitQuestion",
    "QuestionSet",
    "cross_validate",
    "cross_validate_each",
    "folds",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS = 80
"""Gradient steps; predictions no longer change after about 50."""
RIDGE = 10.0
"""Penalty of a squared weight; strong, since most batches have more features than items."""
TOGETHER = 2_000
"""Most training questions that are fitted together; larger arrays would not fit in the CPU cache.
"""
_TIE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitQuestion:
    """Input of the model for one question.

    Attributes:
        options: features of each option, name -> value; names are of any hashable type.
        key: index of the right option.
    """

    options: Sequence[Mapping[Hashable, float]]
    key: int


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions of one cross-validation.

    Attributes:
        questions: the questions.
        groups: one for each question, such as its patient.
        blocks: one for each question; questions that reveal each other's keys share a block and a
            fold. By default the groups.
    """

    questions: Sequence[LogitQuestion]
    groups: Sequence[str]
    blocks: Sequence[str] | None = None


class ConditionalLogit:
    """Option scores, learnt from questions whose key is known."""

    def __init__(self, questions: Sequence[LogitQuestion], *, ridge: float = RIDGE) -> None:
        ((self._names, self._weights),) = _fit_each([questions], ridge)

    @classmethod
    def of_each(cls, batches: Sequence[Sequence[LogitQuestion]]) -> list[ConditionalLogit]:
        """Fit one model per batch; several small batches take little longer than one."""
        return [cls._fitted(*fit) for fit in _fit_each(batches, RIDGE)]

    @classmethod
    def _fitted(cls, names: dict[Hashable, int], weights: Floats) -> ConditionalLogit:
        self = cls.__new__(cls)
        self._names, self._weights = names, weights
        return self

    def hit(self, question: LogitQuestion) -> float:
        """Probability that the best-scored option is the key; ties are broken at random."""
        scores = [self._score(option) for option in question.options]
        best = max(scores)
        winners = [index for index, score in enumerate(scores) if score >= best - _TIE]
        return (question.key in winners) / len(winners)

    def _score(self, option: Mapping[Hashable, float]) -> float:
        pairs = [
            (self._names[name], value) for name, value in option.items() if name in self._names
        ]
        indexes = np.array([index for index, _ in pairs], dtype=np.int64)
        return float(self._weights[indexes] @ np.array([value for _, value in pairs]))


def folds(groups: Iterable[str], count: int) -> dict[str, int]:
    """Return group -> fold, with folds of nearly equal size, whatever the order of the input.

    Args:
        groups: one entry for each question.
        count: most folds; there are never more folds than groups.
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
    """Return the hit of every question by a model fitted without its block and its whole group.

    Args:
        questions: see ``QuestionSet``, as for the next two.
        groups: one for each question.
        blocks: one for each question.
        count: most folds.

    Returns:
        One hit for each question, or ``None`` if all are in one group, so that nothing can be held
        out.
    """
    (hits,) = cross_validate_each([QuestionSet(questions, groups, blocks)], count=count)
    return hits


def cross_validate_each(
    sets: Iterable[QuestionSet], *, count: int = 5
) -> Iterator[list[float] | None]:
    """Yield the result of ``cross_validate`` for each set, in order.

    Sets that are small together are fitted together, which takes little longer than one of them.
    """
    waiting: list[_Folds] = []
    for questions in sets:
        split = _Folds.of(questions, count)
        if sum(each.size for each in (*waiting, split)) > TOGETHER:
            yield from _hits_of_each(waiting)
            waiting = []
        waiting.append(split)
    yield from _hits_of_each(waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folds:
    """A set of questions, the fold of each, and the training questions of each fold."""

    questions: Sequence[LogitQuestion]
    numbers: Sequence[int]
    trainings: Mapping[int, Sequence[LogitQuestion]]

    @classmethod
    def of(cls, entry: QuestionSet, count: int) -> _Folds:
        questions, groups = entry.questions, entry.groups
        together = groups if entry.blocks is None else entry.blocks
        fold_of = folds(together, count)
        numbers = [fold_of[block] for block in together]
        trainings = {}
        for fold in sorted(set(numbers)):
            test_groups = {
                group for group, number in zip(groups, numbers, strict=True) if number == fold
            }
            trainings[fold] = [
                question
                for question, group, number in zip(questions, groups, numbers, strict=True)
                if number != fold and group not in test_groups
            ]
            if not trainings[fold]:  # nothing can be held out
                trainings = {}
                break
        return cls(questions=questions, numbers=numbers, trainings=trainings)

    @property
    def size(self) -> int:
        return sum(map(len, self.trainings.values()))


def _hits_of_each(splits: Sequence[_Folds]) -> Iterator[list[float] | None]:
    batches = [batch for each in splits for batch in each.trainings.values()]
    fits = iter(ConditionalLogit.of_each(batches) if batches else ())
    for split in splits:
        models = dict(zip(split.trainings, fits, strict=False))
        yield (
            [
                models[number].hit(question)
                for number, question in zip(split.numbers, split.questions, strict=True)
            ]
            if models
            else None
        )


def _fit_each(
    batches: Sequence[Sequence[LogitQuestion]], ridge: float
) -> list[tuple[dict[Hashable, int], Floats]]:
    """Fit each batch separately; return feature indices and weights."""
    if sum(map(len, batches)) > TOGETHER and len(batches) > 1:
        return [fit for batch in batches for fit in _fit_each([batch], ridge)]
    names: list[dict[Hashable, int]] = []
    feature: list[int] = []
    value: list[float] = []
    counts: list[int] = []
    width = 0
    for batch in batches:
        own: dict[Hashable, int] = {}
        for option in (option for question in batch for option in question.options):
            feature += [width + own.setdefault(name, len(own)) for name in option]
            value += option.values()
            counts.append(len(option))
        names.append(own)
        width += len(own)
    design = _Design(
        option=np.repeat(np.arange(len(counts)), counts),
        feature=np.array(feature, dtype=np.int64),
        value=np.array(value, dtype=np.float64),
        width=width,
    )
    weights = _fit([question for batch in batches for question in batch], design, ridge)
    ends = np.cumsum([len(own) for own in names])
    return list(zip(names, np.split(weights, ends[:-1]), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Design:
    """Sparse features of all options: option index and feature index of each value."""

    option: Ints
    feature: Ints
    value: Floats
    width: int


def _fit(questions: Sequence[LogitQuestion], design: _Design, ridge: float) -> Floats:
    """Return the weights, by Nesterov's accelerated gradient with a diagonal step.

    The softmax has curvature of at most one half, and (x·v)^2 <= |x|_1 * sum |x_j| v_j^2, so 1 /
    (ridge + sum |x_j| |x|_1 / 2) is a step that never overshoots.
    """
    sizes = np.array([len(q.options) for q in questions], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    option, feature, value = design.option, design.feature, design.value
    question = np.repeat(np.arange(len(sizes)), sizes)
    options = len(question)
    norms = np.bincount(option, np.abs(value), minlength=options)
    step = 1 / (
        ridge + np.bincount(feature, np.abs(value) * norms[option], minlength=design.width) / 2
    )
    truth = np.zeros(options)
    truth[starts + np.array([q.key for q in questions])] = 1
    weights: Floats = np.zeros(design.width)
    ahead = weights
    pace = 1.0
    for _ in range(STEPS):
        scores = np.bincount(option, ahead[feature] * value, minlength=options)
        scores = np.exp(scores - np.maximum.reduceat(scores, starts)[question])
        chances = scores / np.add.reduceat(scores, starts)[question]
        slope = np.bincount(feature, value * (chances - truth)[option], minlength=design.width)
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        moved = ahead - step * (slope + ridge * ahead)
        ahead = moved + (pace - 1) / faster * (moved - weights)
        weights, pace = moved, faster
    return weights

"""Blind chance of a cell: how often the best constant answer passes without looking at the image.

A cell holds the questions of one task that the rule groups together, such as those of one source,
concept and view. The constant is chosen on all other patients and tested on one, patient by patient
(``place-prior`` and ``constant`` of the audit try others): an answer that is right for half of them
says nothing about perception. In addition to the true answers of others, a blind default of the
answer form is tested: the middle of the image, for a point. For numbers see ``number_chance``.

Fewer than ``FEW`` patients say little about others. The chance of such a cell is that of the
constant that passes most of its own questions: never too low, and 1 for a single question. If a
constant passes all questions of at least two patients, none of them is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medrcube.build.open_items.chance.number_chance import asks_numbers, number_chance
from medrcube.build.open_items.question import OpenQuestion
from medrcube.forms import form_of
from medrcube.forms.box import BoxTarget
from medrcube.forms.coordinates import SCALE
from medrcube.forms.number import NumberTarget
from medrcube.forms.option import OptionTarget
from medrcube.forms.order import OrderTarget
from medrcube.forms.pair import PairTarget
from medrcube.forms.point import PointTarget
from medrcube.forms.protocol import Target

__all__ = ["FEW", "BlindChance", "blind_chances", "cell_of", "near_region", "unit_of"]

FEW = 10
"""Fewest patients for which the pass rate of a cell is reliable enough to drop the cell."""

_MOST = 64
"""Most constants tested for a cell, evenly spaced among the true answers."""

Cell = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindChance:
    """Chance of one cell.

    Attributes:
        cell: task, and the prior of its questions.
        questions: number of questions.
        patients: number of patients; of cases if the source names no patient.
        share: share of the questions that a constant passes, never less than that of a guess among
            options.
        always: whether a constant passes every question of a cell with few patients, at least two.
    """

    cell: Cell
    questions: int
    patients: int
    share: float
    always: bool = False

    def is_above(self, bar: float) -> bool:
        """Whether a constant passes more than ``bar``, if there are enough patients to tell."""
        return self.share > bar and self.patients >= FEW


def blind_chances(questions: Iterable[OpenQuestion]) -> Mapping[Cell, BlindChance]:
    """Return the chance of each cell, sorted by name."""
    cells: dict[Cell, list[OpenQuestion]] = {}
    for question in questions:
        cells.setdefault(cell_of(question), []).append(question)
    return {cell: _chance(cell, cells[cell]) for cell in sorted(cells)}


def cell_of(question: OpenQuestion) -> Cell:
    """Return the cell of a question: its task and its prior, or else source and concept."""
    prior = question.prior or (question.sample.source, question.concept)
    return (question.task.value, *prior)


def unit_of(question: OpenQuestion) -> str:
    """Return the patient of a question, or its case if the source names no patient."""
    sample = question.sample
    kind, name = ("patient", sample.patient) if sample.patient else ("case", sample.case)
    return f"{sample.source} {kind} {name}"


def _chance(cell: Cell, questions: Sequence[OpenQuestion]) -> BlindChance:
    units = [unit_of(question) for question in questions]
    names, unit = np.unique(np.array(units), return_inverse=True)
    if asks_numbers(questions):
        share = number_chance(questions, units)
    else:
        share = _constant_chance(questions, unit, len(names))
    guesses = [_guess(question.target) for question in questions]
    return BlindChance(
        cell=cell,
        questions=len(questions),
        patients=len(names),
        share=max(share, sum(guesses) / len(guesses)),
        always=1 < len(names) < FEW and share == 1,
    )


def _constant_chance(
    questions: Sequence[OpenQuestion], unit: NDArray[np.intp], units: int
) -> float:
    """Return the share of questions that a constant passes; of other patients' if enough."""
    answers, owners = _constants(questions, unit)
    tests = [_passing(question.target) for question in questions]
    passed = np.array([[passes(answer) for passes in tests] for answer in answers], np.bool_)
    passed = passed.reshape(len(answers), len(tests))
    if units < FEW:
        return float(passed.mean(axis=1).max(initial=0.0))
    return _left_out(passed, owners, unit, units)


def _guess(target: Target | OptionTarget) -> float:
    """Probability that a randomly chosen option is right."""
    return 1 / len(target.options) if isinstance(target, OptionTarget) else 0.0


def _constants(
    questions: Sequence[OpenQuestion], unit: NDArray[np.intp]
) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the answers to test, and the patient whose own answer each is; -1 if no single one."""
    distinct: dict[Any, int] = {}
    for question, owner in zip(questions, unit, strict=True):
        answer = _answer(question.target)
        first_owner = distinct.setdefault(answer, int(owner))
        if first_owner != owner:
            distinct[answer] = -1  # several patients have it
    tried = list(distinct)
    if len(tried) > _MOST:
        tried = [tried[place] for place in np.linspace(0, len(tried) - 1, _MOST).astype(int)]
    owners = [distinct[answer] for answer in tried]
    for answer in _unseen(questions[0].target):
        if answer not in distinct:
            tried.append(answer)
            owners.append(-1)
    return tried, np.array(owners, np.intp)


def _left_out(
    passed: NDArray[np.bool_], owners: NDArray[np.intp], unit: NDArray[np.intp], units: int
) -> float:
    """Return the share of questions passed by the answer that passes most of other patients'."""
    if not len(passed):
        return 0.0
    own = np.zeros((len(passed), units), np.int64)
    np.add.at(own.T, unit, passed.T.astype(np.int64))
    elsewhere = passed.sum(axis=1)[:, None] - own
    # An answer that only this patient has is unknown from the others.
    mine = np.flatnonzero(owners >= 0)
    elsewhere[mine, owners[mine]] = -1
    best = elsewhere.argmax(axis=0)
    return float(own[best, np.arange(units)].sum() / passed.shape[1])


def _answer(target: Target | OptionTarget) -> Any:
    """Return the true answer in the form that scoring takes."""
    if isinstance(target, OptionTarget):
        return dict(target.options)[target.key]
    if isinstance(target, PointTarget):
        (x, y), (width, height) = target.region.centre(), target.size
        return round(SCALE * x / width, 1), round(SCALE * y / height, 1)
    if isinstance(target, BoxTarget):
        sides = (*target.size, *target.size)
        return tuple(SCALE * edge / side for edge, side in zip(target.box, sides, strict=True))
    if isinstance(target, NumberTarget):
        return target.value
    if isinstance(target, PairTarget):
        return target.answers
    if isinstance(target, OrderTarget):
        return target.order
    raise TypeError(f"no constant answer of {type(target).__name__}")


def _unseen(target: Target | OptionTarget) -> Sequence[Any]:
    """Return the blind default answers of the answer form."""
    if isinstance(target, PointTarget):
        return ((SCALE / 2, SCALE / 2),)
    if isinstance(target, BoxTarget):
        return ((SCALE / 4, SCALE / 4, 3 * SCALE / 4, 3 * SCALE / 4),)
    return ()


def _passing(target: Target | OptionTarget) -> Callable[[Any], bool]:
    """Return a predicate for whether an answer passes a target."""
    if isinstance(target, OptionTarget):
        key = dict(target.options)[target.key]
        return lambda answer: bool(answer == key)
    form = form_of(target)
    if isinstance(target, PointTarget):
        near = near_region(target)
        return lambda answer: near(answer) and form.score(answer, target).passed
    return lambda answer: form.score(answer, target).passed


def near_region(target: PointTarget) -> Callable[[tuple[float, float]], bool]:
    """Return a fast predicate for whether a point lies in the region's box plus its margin."""
    x0, y0, x1, y1 = target.region.bounds()
    width, height = target.size
    reach = target.margin + 1

    def is_near(answer: tuple[float, float]) -> bool:
        x, y = answer[0] * width / SCALE, answer[1] * height / SCALE
        return x0 - reach <= x <= x1 + reach and y0 - reach <= y <= y1 + reach

    return is_near

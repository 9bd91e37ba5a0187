"""Readers who see boxes and no picture: how often do they find the right box?

A reader gets the size of each picture and the corners of its boxes in the order of their numbers,
and answers with a number. Tricks are fixed; the learner is fitted on other patients.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.optimize import minimize

FOLDS = 5
RIDGE = 1.0
RANDOM_FEATURES = 60
PITCHES = range(6, 17)
"""A wrong box could come from a lattice of so many steps across a picture."""


@dataclass(frozen=True)
class Puzzle:
    """One picture: its size, its boxes in the order of their numbers, the right one, from 0."""

    group: str
    width: int
    height: int
    boxes: tuple[tuple[int, int, int, int], ...]
    key: int

    @property
    def corners(self):
        return np.array(self.boxes, float)

    @property
    def centres(self):
        corners = self.corners
        return (corners[:, :2] + corners[:, 2:]) / 2


@dataclass(frozen=True)
class Score:
    """Right answers of a reader, those expected by chance, and the standard error of both."""

    right: int
    chance: float
    error: float

    @property
    def gain(self):
        """How many standard errors the reader stands above chance."""
        return (self.right - self.chance) / self.error


def score(puzzles, answers):
    """Score of answers; pictures of one group stand and fall together."""
    chances = np.array([1 / len(puzzle.boxes) for puzzle in puzzles])
    hits = np.array([answer == puzzle.key for puzzle, answer in zip(puzzles, answers, strict=True)])
    alone = (chances * (1 - chances)).sum()
    over = hits - chances
    _, group = np.unique([puzzle.group for puzzle in puzzles], return_inverse=True)
    together = (np.bincount(group, over - over.mean()) ** 2).sum()
    return Score(int(hits.sum()), float(chances.sum()), sqrt(max(alone, together)))


def _to_border(puzzle):
    left, top, right, bottom = puzzle.corners.T
    return np.min([left, top, puzzle.width - right, puzzle.height - bottom], axis=0)


def _to_others(puzzle):
    gaps = np.linalg.norm(puzzle.centres[:, None] - puzzle.centres[None], axis=2)
    return gaps.sum(axis=1)


def _to_nearest(puzzle):
    gaps = np.linalg.norm(puzzle.centres[:, None] - puzzle.centres[None], axis=2)
    return (gaps + np.diag([np.inf] * len(gaps))).min(axis=1)


def _to_middle(puzzle):
    return np.linalg.norm(puzzle.centres - [puzzle.width / 2, puzzle.height / 2], axis=1)


def _area(puzzle):
    corners = puzzle.corners
    return (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])


def _in_line(puzzle):
    """How many edges each box has in line with edges of the others."""
    corners = puzzle.corners
    same = np.abs(corners[:, None] - corners[None]) < 1
    return same.sum(axis=(1, 2)) - 4


def _place_on(side):
    return lambda puzzle: puzzle.centres[:, side] / (puzzle.width, puzzle.height)[side]


MEASURES = {
    "distance to the border": _to_border,
    "distance to the other boxes": _to_others,
    "distance to the nearest box": _to_nearest,
    "distance to the middle": _to_middle,
    "area": _area,
    "edges in line": _in_line,
    "place across": _place_on(0),
    "place down": _place_on(1),
    "number": lambda puzzle: np.arange(len(puzzle.boxes), dtype=float),
}


def tricks():
    """Name of a trick -> the box that it answers with: most or least of some measure."""
    for name, measure in MEASURES.items():
        yield f"least {name}", lambda puzzle, of=measure: int(np.argmin(of(puzzle)))
        yield f"most {name}", lambda puzzle, of=measure: int(np.argmax(of(puzzle)))


def learnt(puzzles, seed=0):
    """Answers of a learner that was fitted on the pictures of other groups.

    A conditional logit on measures of each box, their squares, their ranks within the picture,
    the phase of its corners on lattices of several pitches, and random Fourier features of all.
    """
    tables = [_features(puzzle) for puzzle in puzzles]
    stack = np.concatenate(tables)
    middle, spread = stack.mean(axis=0), stack.std(axis=0) + 1e-9
    luck = np.random.default_rng(seed)
    turns = luck.normal(size=(stack.shape[1], RANDOM_FEATURES)) / sqrt(stack.shape[1])
    shifts = luck.uniform(0, 2 * np.pi, RANDOM_FEATURES)
    inputs = []
    for table in tables:
        plain = (table - middle) / spread
        inputs.append(np.hstack([plain, plain**2, 2 * np.cos(plain @ turns + shifts)]))
    groups = sorted({puzzle.group for puzzle in puzzles})
    fold = dict(zip(luck.permutation(groups).tolist(), np.arange(len(groups)) % FOLDS, strict=True))
    answers = [0] * len(puzzles)
    for number in range(FOLDS):
        inside = [n for n, puzzle in enumerate(puzzles) if fold[puzzle.group] != number]
        weights = _fit([inputs[n] for n in inside], [puzzles[n].key for n in inside])
        for n, puzzle in enumerate(puzzles):
            if fold[puzzle.group] == number:
                answers[n] = int(np.argmax(inputs[n] @ weights))
    return answers


def _features(puzzle):
    """One row of numbers for each box."""
    size = np.array([puzzle.width, puzzle.height] * 2, float)
    measures = np.stack([of(puzzle) for of in MEASURES.values()], axis=1)
    ranks = measures.argsort(axis=0).argsort(axis=0)
    at_border = (_to_border(puzzle) < size.min() / 16)[:, None]
    phases = []
    for pitch in PITCHES:
        steps = puzzle.corners / size * pitch
        phases.append(np.abs(steps - steps.round()))
    near = np.linalg.norm(puzzle.centres[:, None] - puzzle.centres[None], axis=2)
    spread = np.stack([near.max(axis=1), near.mean(axis=1)], axis=1) / size.max()
    parts = [measures / _scale(puzzle), ranks, at_border, puzzle.corners / size, *phases, spread]
    return np.hstack(parts).astype(float)


def _scale(puzzle):
    """Sizes by which measures are divided, so that pictures compare."""
    long = float(max(puzzle.width, puzzle.height))
    sizes = dict.fromkeys(MEASURES, 1.0) | {
        name: long for name in MEASURES if name.startswith("distance")
    }
    return np.array([*(sizes | {"area": puzzle.width * puzzle.height}).values()])


def _fit(tables, keys):
    """Weights of a conditional logit with a ridge."""
    ends = np.cumsum([0, *(len(table) for table in tables)])
    stack = np.concatenate(tables)
    right = ends[:-1] + np.array(keys)
    which = np.repeat(np.arange(len(tables)), np.diff(ends))

    def loss(weights):
        values = stack @ weights
        top = np.maximum.reduceat(values, ends[:-1])
        powers = np.exp(values - top[which])
        sums = np.add.reduceat(powers, ends[:-1])
        cost = (np.log(sums) + top - values[right]).sum() + RIDGE * (weights**2).sum() / 2
        slope = (powers / sums[which]) @ stack - stack[right].sum(axis=0) + RIDGE * weights
        return cost, slope

    start = np.zeros(stack.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x

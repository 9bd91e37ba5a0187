"""The published result table (arXiv 2604.13756): 33 models and a random guesser, as printed.

``published.csv`` holds the printed numbers, misprints and all. They can be checked: an accuracy
and the number of its questions give a count of right answers; the counts of the tasks add up to
the overall one, and those of the tasks but View and Imaging Protocols Recognition to those of the
modalities, and to those of the regions.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from statistics import median
from types import MappingProxyType
from typing import Any

from medrcube.taxonomy import Anatomy, Modality, Task

__all__ = [
    "COUNTS",
    "MISPRINTS",
    "MODALITIES",
    "OUTSIDE_MARGINS",
    "RANDOM",
    "REGIONS",
    "TASKS",
    "TOLERANCE",
    "Misprint",
    "PublishedRank",
    "PublishedRow",
    "find_misprints",
    "margin_counts",
    "models",
    "overall_of_tasks",
    "published_ranks",
    "rows",
]

RANDOM = "Random"
"""Name of the row that is no model."""

TASKS: Mapping[str, Task] = MappingProxyType({task.abbreviation: task for task in Task})
MODALITIES: Mapping[str, Modality] = MappingProxyType(
    {
        "CT": Modality.CT,
        "Xray": Modality.XRAY,
        "MRI": Modality.MRI,
        "US": Modality.ULTRASOUND,
    }
)
REGIONS: Mapping[str, Anatomy] = MappingProxyType({parts.value: parts for parts in Anatomy})

COUNTS: Mapping[str, int] = MappingProxyType(
    {
        "overall": 7626,
        "MR": 1032,
        "VR": 300,
        "IPR": 700,
        "OR": 1067,
        "RG": 1000,
        "DD": 2445,
        "AD": 514,
        "SG": 568,
        "CT": 1290,
        "Xray": 3461,
        "MRI": 760,
        "US": 1115,
        "Brain": 1229,
        "Chest": 3201,
        "Heart": 420,
        "Lungs": 1055,
        "Breast": 721,
    }
)
"""Questions of each column, from the paper's figure of its statistics."""

OUTSIDE_MARGINS = ("VR", "IPR")
"""Tasks that the modality and region columns leave out."""

TOLERANCE = 0.01
"""Points by which a number may differ from the printed one: one unit of its last digit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One row of the table.

    Attributes:
        model: name as printed.
        printed: accuracy in per cent by column, as printed.
    """

    model: str
    printed: Mapping[str, float]

    def correct(self, column: str) -> int:
        """Right answers of a column: the whole number nearest to what is printed."""
        return round(self.printed[column] * COUNTS[column] / 100)

    def accuracy(self, column: str) -> float:
        """Accuracy of a column from 0 to 1, known misprints put right."""
        for misprint in MISPRINTS:
            if (misprint.model, misprint.column) == (self.model, column):
                return misprint.derived / 100
        return self.printed[column] / 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Misprint:
    """A cell that the rest of its row contradicts; accuracies in per cent.

    Attributes:
        model: name of the row.
        column: name of the column.
        printed: what the table says.
        derived: what follows from the other cells of the row, to two digits.
    """

    model: str
    column: str
    printed: float
    derived: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRank:
    """Where a run would stand in one column; accuracies from 0 to 1.

    Attributes:
        column: name of the column.
        n: questions of the run in it.
        accuracy: of the run.
        rank: 1 where no published model is better.
        models: number of published models.
        best: best published accuracy.
        best_model: who has it.
        median: of the published models.
        random: of the published random guesser.
    """

    column: str
    n: int
    accuracy: float
    rank: int
    models: int
    best: float
    best_model: str
    median: float
    random: float


MISPRINTS = (
    # 26.41 % of 1229 is no whole number of answers, and 300 of them make the regions add up.
    Misprint(model=RANDOM, column="Brain", printed=26.41, derived=24.41),
    Misprint(model="LLaVa-v1.5-7B", column="OR", printed=69.79, derived=68.79),
    Misprint(model="Janus-Pro-7B", column="Brain", printed=24.43, derived=23.43),
    # All cells of these two rows agree with one another but for the overall one.
    Misprint(model="InternVL3.5-14B", column="overall", printed=57.28, derived=57.20),
    Misprint(model="HealthGPT-L14", column="overall", printed=44.43, derived=44.09),
    # No whole number of 1000; 426 makes tasks, modalities, regions and the overall one agree.
    Misprint(model="Qwen3-VL-Plus", column="RG", printed=42.06, derived=42.60),
)
"""Cells that ``find_misprints`` finds."""


@cache
def rows() -> tuple[PublishedRow, ...]:
    """Every row of the table in its order, the random guesser first."""
    text = (
        resources.files("medrcube.evaluate.statistics").joinpath("published.csv").read_text("utf-8")
    )
    return tuple(
        PublishedRow(
            model=row["model"],
            printed=MappingProxyType({column: float(row[column]) for column in COUNTS}),
        )
        for row in csv.DictReader(text.splitlines())
    )


def models() -> tuple[PublishedRow, ...]:
    """The rows of models, best overall accuracy first."""
    rows_of_models = [row for row in rows() if row.model != RANDOM]
    return tuple(sorted(rows_of_models, key=lambda row: -row.accuracy("overall")))


def overall_of_tasks(row: PublishedRow) -> float:
    """Overall accuracy in per cent that the counts of the tasks give, known misprints put right."""
    total = sum(round(row.accuracy(column) * COUNTS[column]) for column in TASKS)
    return 100 * total / COUNTS["overall"]


def find_misprints() -> list[Misprint]:
    """Cells that the arithmetic of their row contradicts, by row.

    A cell that is no whole number of answers is put right by the sums that it is part of. Where
    every cell is one and the tasks still do not make the overall accuracy, that is the wrong one.
    """
    return [misprint for row in rows() if (misprint := _misprint(row)) is not None]


def margin_counts(row: PublishedRow) -> tuple[int, int, int]:
    """Right answers by tasks (but for ``OUTSIDE_MARGINS``), by modalities and by regions.

    Known misprints are put right; the three are then equal in every row.
    """
    inside = [column for column in TASKS if column not in OUTSIDE_MARGINS]
    tasks, modalities, regions = (
        sum(round(row.accuracy(column) * COUNTS[column]) for column in columns)
        for columns in (inside, MODALITIES, REGIONS)
    )
    return tasks, modalities, regions


def published_ranks(metrics: Mapping[str, Any]) -> list[PublishedRank]:
    """Where a run would stand among the published models, column by column.

    Modality and region leave View and Imaging Protocols Recognition out, as the table does. The
    rank means something only as far as the run's benchmark is like the published one.

    Args:
        metrics: content of the run's ``metrics.json``.

    Returns:
        The columns in which the run has a question, in the order of the table.
    """
    slices = metrics["slices"]
    groups = {
        "overall": metrics["global"],
        **{name: slices["task"].get(task.value) for name, task in TASKS.items()},
        **{name: slices["modality_as_published"].get(m.value) for name, m in MODALITIES.items()},
        **{name: slices["parts_as_published"].get(p.value) for name, p in REGIONS.items()},
    }
    return [
        _published_rank(column, groups[column]["n"], groups[column]["accuracy"])
        for column in COUNTS
        if groups[column] and groups[column]["n"]
    ]


def _published_rank(column: str, n: int, accuracy: float) -> PublishedRank:
    published = {row.model: row.accuracy(column) for row in models()}
    best = max(published, key=lambda name: published[name])
    return PublishedRank(
        column=column,
        n=n,
        accuracy=accuracy,
        rank=1 + sum(value > accuracy for value in published.values()),
        models=len(published),
        best=published[best],
        best_model=best,
        median=median(published.values()),
        random=next(row.accuracy(column) for row in rows() if row.model == RANDOM),
    )


def _misprint(row: PublishedRow) -> Misprint | None:
    inside = [column for column in TASKS if column not in OUTSIDE_MARGINS]
    families: tuple[Sequence[str], ...] = (inside, tuple(MODALITIES), tuple(REGIONS))
    sums = [sum(map(row.correct, family)) for family in families]
    for own, family in enumerate(families):
        for column in family:
            if not _whole(row, column):
                count = row.correct(column) + sums[(own + 1) % 3] - sums[own]
                return _cell(row, column, 100 * count / COUNTS[column])
    derived = 100 * sum(map(row.correct, TASKS)) / COUNTS["overall"]
    if abs(derived - row.printed["overall"]) < TOLERANCE:
        return None
    return _cell(row, "overall", derived)


def _whole(row: PublishedRow, column: str) -> bool:
    exact = 100 * row.correct(column) / COUNTS[column]
    return abs(exact - row.printed[column]) < TOLERANCE


def _cell(row: PublishedRow, column: str, derived: float) -> Misprint:
    return Misprint(
        model=row.model, column=column, printed=row.printed[column], derived=round(derived, 2)
    )

"""The published result table (arXiv 2604.13756): 33 models and a random guesser, as printed.

``published.csv`` contains the printed numbers, misprints included. They can be checked: an accuracy
and its number of questions give a count of correct answers; the counts of the tasks add up to the
overall count, and those of the tasks without View and Imaging Protocols Recognition to the counts
of the modalities, and of the regions.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

from medrcube.taxonomy import Anatomy, Modality, Task, cube_tasks

__all__ = [
    "COUNTS",
    "MISPRINTS",
    "MODALITIES",
    "RANDOM",
    "REGIONS",
    "TASKS",
    "Misprint",
    "PublishedRow",
    "models",
    "rows",
]

RANDOM = "Random"
"""Name of the row of the random guesser."""

TASKS: Mapping[str, Task] = MappingProxyType({task.abbreviation: task for task in cube_tasks()})
MODALITIES: Mapping[str, Modality] = MappingProxyType(
    {name: Modality.parse(name) for name in ("CT", "Xray", "MRI", "US")}
)
REGIONS: Mapping[str, Anatomy] = MappingProxyType(
    {name: Anatomy(name) for name in ("Brain", "Breast", "Chest", "Heart", "Lungs")}
)

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
"""Number of questions in each column, from the paper's statistics figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """One row of the table.

    Attributes:
        model: name as printed.
        printed: accuracy in per cent by column, as printed.
    """

    model: str
    printed: Mapping[str, float]

    def accuracy(self, column: str) -> float:
        """Return the accuracy in a column from 0 to 1, with known misprints corrected."""
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
        printed: the printed value.
        derived: the value that follows from the rest of the row, to two digits.
    """

    model: str
    column: str
    printed: float
    derived: float


MISPRINTS = (
    # 26.41 % of 1229 is not an integer count, and 300 makes the regions add up.
    Misprint(model=RANDOM, column="Brain", printed=26.41, derived=24.41),
    Misprint(model="LLaVa-v1.5-7B", column="OR", printed=69.79, derived=68.79),
    Misprint(model="Janus-Pro-7B", column="Brain", printed=24.43, derived=23.43),
    # All cells of these two rows agree with one another except the overall one.
    Misprint(model="InternVL3.5-14B", column="overall", printed=57.28, derived=57.20),
    Misprint(model="HealthGPT-L14", column="overall", printed=44.43, derived=44.09),
    # Not an integer count of 1000; 426 makes tasks, modalities, regions and overall agree.
    Misprint(model="Qwen3-VL-Plus", column="RG", printed=42.06, derived=42.60),
)
"""Cells that contradict the arithmetic of their row; a test derives them from the table."""


@cache
def rows() -> tuple[PublishedRow, ...]:
    """Return every row of the table in order, the random guesser first."""
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
    """Return the rows of models, best overall accuracy first."""
    rows_of_models = [row for row in rows() if row.model != RANDOM]
    return tuple(sorted(rows_of_models, key=lambda row: -row.accuracy("overall")))

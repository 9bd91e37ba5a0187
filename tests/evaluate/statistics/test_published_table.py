"""The published table: its arithmetic and its misprints."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from medrcube.evaluate.statistics.published_table import (
    COUNTS,
    MISPRINTS,
    MODALITIES,
    RANDOM,
    REGIONS,
    TASKS,
    Misprint,
    PublishedRow,
    models,
    rows,
)
from medrcube.taxonomy import Anatomy, Modality, cube_tasks

OUTSIDE_MARGINS = ("VR", "IPR")
"""Tasks that the modality and region columns leave out."""

TOLERANCE = 0.01
"""Points by which a number may differ from the printed one: one unit of its last digit."""

MISPRINTED = {(misprint.model, misprint.column) for misprint in MISPRINTS}
every_row = pytest.mark.parametrize("row", rows(), ids=lambda row: row.model)


def correct(row, column):
    """Correct answers in a column: the whole number nearest to the printed accuracy."""
    return round(row.printed[column] * COUNTS[column] / 100)


def overall_of_tasks(row):
    """Overall accuracy in per cent by the counts of the tasks, known misprints corrected."""
    total = sum(round(row.accuracy(column) * COUNTS[column]) for column in TASKS)
    return 100 * total / COUNTS["overall"]


def margin_counts(row):
    """Correct answers by tasks (without ``OUTSIDE_MARGINS``), by modalities and by regions."""
    inside = [column for column in TASKS if column not in OUTSIDE_MARGINS]
    return [
        sum(round(row.accuracy(column) * COUNTS[column]) for column in columns)
        for columns in (inside, MODALITIES, REGIONS)
    ]


def derive_misprint(row: PublishedRow) -> Misprint | None:
    """The cell that the arithmetic of the row contradicts.

    A cell that is not a whole number of answers is corrected by the sums that it is part of. Where
    all cells are whole and the tasks do not add up to the overall accuracy, that one is wrong.
    """

    def misprint(column, derived):
        printed = row.printed[column]
        return Misprint(model=row.model, column=column, printed=printed, derived=round(derived, 2))

    def is_whole(column):
        exact = 100 * correct(row, column) / COUNTS[column]
        return abs(exact - row.printed[column]) < TOLERANCE

    inside = [column for column in TASKS if column not in OUTSIDE_MARGINS]
    families = (inside, tuple(MODALITIES), tuple(REGIONS))
    sums = [sum(correct(row, column) for column in family) for family in families]
    for own, family in enumerate(families):
        for column in family:
            if not is_whole(column):
                count = correct(row, column) + sums[(own + 1) % 3] - sums[own]
                return misprint(column, 100 * count / COUNTS[column])
    derived = 100 * sum(correct(row, column) for column in TASKS) / COUNTS["overall"]
    if abs(derived - row.printed["overall"]) < TOLERANCE:
        return None
    return misprint("overall", derived)


def test_the_table_has_thirty_three_models_and_a_guesser():
    assert len(rows()) == 34
    assert len(models()) == 33
    assert rows()[0].model == RANDOM
    assert models()[0].model == "Lingshu-32B"


def test_the_counts_add_up():
    assert sum(COUNTS[name] for name in TASKS) == COUNTS["overall"] == 7626
    assert sum(COUNTS[name] for name in MODALITIES) == 6626
    assert sum(COUNTS[name] for name in REGIONS) == 6626
    assert sum(COUNTS[name] for name in OUTSIDE_MARGINS) == 1000


def test_the_columns_are_the_members_of_the_axes():
    assert set(TASKS.values()) == set(cube_tasks())
    assert set(MODALITIES.values()) == set(Modality)
    assert set(REGIONS.values()) == set(Anatomy)
    assert {TASKS[name] for name in OUTSIDE_MARGINS} == {
        task for task in cube_tasks() if not task.declaration.published_margins
    }


@every_row
def test_the_tasks_make_the_overall_accuracy(row):
    expected = 100 * row.accuracy("overall")
    assert overall_of_tasks(row) == pytest.approx(expected, abs=TOLERANCE)


@every_row
def test_only_named_cells_differ_from_what_is_printed(row):
    for column, printed in row.printed.items():
        named = (row.model, column) in MISPRINTED
        assert (100 * row.accuracy(column) != pytest.approx(printed)) == named


@every_row
def test_every_cell_is_a_whole_number_of_answers(row):
    for column in set(COUNTS) - {"overall"}:
        accuracy = 100 * row.accuracy(column)
        count = round(accuracy * COUNTS[column] / 100)
        assert 100 * count / COUNTS[column] == pytest.approx(accuracy, abs=TOLERANCE)


@every_row
def test_tasks_without_views_and_protocols_make_modalities_and_regions(row):
    tasks, modalities, regions = margin_counts(row)
    assert tasks == modalities == regions


def test_the_arithmetic_finds_the_named_misprints_and_no_other():
    derived = {misprint for row in rows() if (misprint := derive_misprint(row)) is not None}
    assert derived == set(MISPRINTS)


@pytest.mark.parametrize(
    ("model", "column", "printed", "derived"),
    [
        ("Random", "Brain", 26.41, 24.41),
        ("LLaVa-v1.5-7B", "OR", 69.79, 68.79),
        ("Janus-Pro-7B", "Brain", 24.43, 23.43),
        ("InternVL3.5-14B", "overall", 57.28, 57.20),
        ("HealthGPT-L14", "overall", 44.43, 44.09),
        ("Qwen3-VL-Plus", "RG", 42.06, 42.60),
    ],
)
def test_a_misprint_is_kept_and_named(model, column, printed, derived):
    row = next(row for row in rows() if row.model == model)
    assert row.printed[column] == printed
    assert row.accuracy(column) == pytest.approx(derived / 100)


def test_the_random_row_shows_fewer_than_four_options_in_diagnosis():
    row = rows()[0]
    assert (row.printed["overall"], row.printed["DD"]) == (25.64, 28.63)
    spread = (0.25 * 0.75 / COUNTS["DD"]) ** 0.5
    assert (row.accuracy("DD") - 0.25) / spread == pytest.approx(4.1, abs=0.15)


@pytest.mark.real
def test_the_file_is_the_checked_transcription():
    shared = Path(os.environ.get("MEDRCUBE_SHARED", "../shared"), "reference")
    table = shared / "medrcube_results_table.csv"
    if not table.exists():
        pytest.skip("MEDRCUBE_SHARED holds no reference table")
    with table.open(encoding="utf-8", newline="") as file:
        file_rows = list(csv.DictReader(file))
    assert [row.model for row in rows()] == [row["model"] for row in file_rows]
    assert [dict(row.printed) for row in rows()] == [
        {column: float(row[column]) for column in COUNTS} for row in file_rows
    ]

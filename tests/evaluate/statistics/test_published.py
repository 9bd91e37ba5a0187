"""The published table: its arithmetic, its misprints, and a place in it."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from medrcube.evaluate.statistics.grouping import OUTSIDE_PUBLISHED_MARGINS
from medrcube.evaluate.statistics.metrics import metrics
from medrcube.evaluate.statistics.published_table import (
    COUNTS,
    MISPRINTS,
    MODALITIES,
    OUTSIDE_MARGINS,
    RANDOM,
    REGIONS,
    TASKS,
    TOLERANCE,
    find_misprints,
    margin_counts,
    models,
    overall_of_tasks,
    published_ranks,
    rows,
)
from medrcube.taxonomy import Anatomy, Modality, Task

WRONG = False

MISPRINTED = {(misprint.model, misprint.column) for misprint in MISPRINTS}
every_row = pytest.mark.parametrize("row", rows(), ids=lambda row: row.model)


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
    assert set(TASKS.values()) == set(Task)
    assert set(MODALITIES.values()) == set(Modality)
    assert set(REGIONS.values()) == set(Anatomy)
    assert {TASKS[name] for name in OUTSIDE_MARGINS} == OUTSIDE_PUBLISHED_MARGINS


@every_row
def test_the_tasks_make_the_overall_accuracy(row):
    wanted = 100 * row.accuracy("overall")
    assert overall_of_tasks(row) == pytest.approx(wanted, abs=TOLERANCE)


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
    assert set(find_misprints()) == set(MISPRINTS)


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
        read = list(csv.DictReader(file))
    assert [row.model for row in rows()] == [row["model"] for row in read]
    assert [dict(row.printed) for row in rows()] == [
        {column: float(row[column]) for column in COUNTS} for row in read
    ]


def test_a_run_finds_its_place_column_by_column(result):
    results = [result(f"a{i}", i < 63) for i in range(100)]
    results += [result(f"v{i}", WRONG, task=Task.VIEW_RECOGNITION) for i in range(5)]
    places = {place.column: place for place in published_ranks(metrics(results))}
    assert list(places) == ["overall", "VR", "DD", "CT", "Lungs"]
    assert (places["overall"].n, places["CT"].n) == (105, 100)
    assert places["DD"].rank == 3
    assert (places["DD"].best_model, places["DD"].models) == ("Lingshu-32B", 33)
    assert places["VR"].rank == 34


def test_who_answers_everything_is_first(result):
    assert {place.rank for place in published_ranks(metrics([result("a")]))} == {1}

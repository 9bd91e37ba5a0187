"""Groups of results: intervals, bounds, macro means and what stays out of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.metrics import group_metrics, metrics, task_metrics
from medrcube.taxonomy import Anatomy, Modality, Task

RIGHT, WRONG = True, False


def test_the_bounds_hold_whatever_the_lost_items_would_have_been(result):
    rows = [result("a"), result("b", WRONG), result("c", outcome=AnswerOutcome.FAILED)]
    rows.append(result("d", outcome=AnswerOutcome.MISSING_IMAGE))
    assert group_metrics(rows)["bounds"] == [0.25, 0.75]


@given(st.lists(st.sampled_from(list(AnswerOutcome)), min_size=1, max_size=12))
def test_every_accuracy_lies_between_the_bounds(result, outcomes):
    row = group_metrics([result(f"q{i}", outcome=o) for i, o in enumerate(outcomes)])
    low, high = row["bounds"]
    assert low == row["accuracy"] <= high
    if row["accuracy_without_failures"] is not None:
        assert low <= row["accuracy_without_failures"] <= high


def test_a_run_that_lacks_replies_has_bounds_and_no_accuracy(result):
    rows = [result(f"q{i}", picture=f"p{i}") for i in range(18)]
    rows.append(result("lost", outcome=AnswerOutcome.FAILED))
    whole = metrics([*rows, result("q19")])
    summary = metrics([*rows, result("later", outcome=AnswerOutcome.NOT_ASKED)])
    assert (whole["incomplete"], whole["global"]["accuracy"]) == (False, 0.95)
    assert summary["incomplete"]
    assert summary["global"]["bounds"] == [0.9, 1]
    groups = [summary["global"], *summary["voxels"]]
    groups += [group for axis in summary["slices"].values() for group in axis.values()]
    assert {(group["accuracy"], group["interval"]) for group in groups} == {(None, None)}
    assert summary["macro"]["accuracy"] is None


def test_a_question_that_was_not_asked_is_no_failure(result):
    group = group_metrics([result("a"), result("b", outcome=AnswerOutcome.NOT_ASKED)])
    assert (group["outcomes"]["failed"], group["outcomes"]["not-asked"]) == (0, 1)
    assert group["bounds"] == [0.5, 1]


def test_questions_of_one_unit_widen_the_interval(result):
    together = [result(f"q{i}", (i // 4) % 2 == 0, picture=f"p{i // 4}") for i in range(160)]
    apart = [result(f"q{i}", (i // 4) % 2 == 0, picture=f"p{i}") for i in range(160)]
    widths = []
    for rows in (together, apart):
        group = group_metrics(rows)
        low, high = group["interval"]
        widths.append(high - low)
    assert group_metrics(together)["design_effect"] == pytest.approx(4, rel=0.05)
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.15)


def test_pictures_of_one_patient_are_one_unit(result):
    rows = [
        result(f"q{i}", i % 2 == 0, picture=f"p{i}", unit=f"patient-{i % 7:016x}")
        for i in range(28)
    ]
    group = group_metrics([*rows, result("other", picture="elsewhere")])
    assert (group["units"], group["unit_kinds"]) == (8, {"patient": 7, "picture": 1})


def test_a_group_without_an_interval_says_why(result):
    group = group_metrics([result(f"q{i}", picture="p0") for i in range(30)])
    assert group["interval"] is None
    assert group["interval_reason"] == "fewer than 5 units"
    group = group_metrics([result(f"q{i}", picture=f"p{i}") for i in range(30)])
    assert group["interval_reason"] is None
    assert group["interval"][0] > 0.85


def test_a_guesser_stands_at_nought_once_chance_is_taken_off(result):
    rows = [result(f"q{i}", i % 4 == 0) for i in range(40)]
    assert group_metrics(rows)["chance_corrected"] == pytest.approx(0)


def test_suppressed_voxels_stay_out_of_the_macro_mean(result):
    rows = [result(f"a{i}", RIGHT) for i in range(10)]
    rows += [result(f"b{i}", WRONG, parts=Anatomy("Brain")) for i in range(9)]
    macro = metrics(rows)["macro"]
    assert (macro["n_min"], macro["suppressed"]) == (10, 1)
    assert (macro["accuracy"], macro["accuracy_not_small"]) == (0.5, 1)


def test_the_macro_mean_of_tasks_weighs_tasks_alike(result):
    rows = [result(f"a{i}", RIGHT) for i in range(90)]
    rows += [result(f"b{i}", WRONG, task=Task("ROI Grounding")) for i in range(10)]
    summary = metrics(rows)
    assert summary["global"]["accuracy"] == 0.9
    assert summary["macro"]["task_accuracy_not_small"] == 0.5


def test_slices_come_in_the_order_of_the_taxonomy(result):
    rows = [
        result("a", task=Task("Severity Grading"), modality=Modality("MRI"), dataset="ZETA"),
        result("b", task=Task("View Recognition"), modality=Modality("X-ray"), dataset="BETA"),
        result("c", task=Task("View Recognition"), modality=Modality("MRI"), dataset="ZETA"),
    ]
    summary = metrics(rows)
    assert list(summary["slices"]["task"]) == ["View Recognition", "Severity Grading"]
    assert list(summary["slices"]["dataset"]) == ["BETA", "ZETA"]
    assert [(v["modality"], v["task"]) for v in summary["voxels"]] == [
        ("X-ray", "View Recognition"),
        ("MRI", "View Recognition"),
        ("MRI", "Severity Grading"),
    ]


def test_the_order_of_results_changes_no_number(result):
    rows = [result(f"q{i}", i % 3 == 0, picture=f"p{i % 17}") for i in range(60)]
    assert metrics(rows) == metrics(rows[::-1])


def test_within_sources_count_only_items_whose_options_are_all_answers_of_their_source(result):
    pair = {"options": (("A", "edema"), ("B", "Mass"))}
    rows = [
        result("a", RIGHT, dataset="one", key="A", **pair),
        result("b", WRONG, dataset="one", key="B", **pair),
        result("c", WRONG, dataset="two", key="A", **pair),
    ]
    within = metrics(rows)["slices"]["within_sources"]
    assert {name: group["n"] for name, group in within.items()} == {
        rows[0].item.task.value: 2,
        "All tasks": 2,
    }
    assert within["All tasks"]["accuracy"] == 0.5
    assert metrics(rows[1:])["slices"]["within_sources"] == {}


def test_what_a_picture_shows_in_part_is_counted_apart_where_the_release_says_so(result):
    visibilities = ["yes"] * 6 + ["partly"] * 4 + [""] * 3
    rows = []
    for number, visible in enumerate(visibilities):
        answer = result(f"q{number}", right=int(number % 2 == 0), picture=f"p{number}")
        presentation = answer.question.presentation
        item = replace(presentation.item, visible=visible)
        question = replace(answer.question, presentation=replace(presentation, item=item))
        rows.append(replace(answer, question=question))
    by_visibility = metrics(rows)["slices"]["visible"]
    assert {name: (value["n"], value["correct"]) for name, value in by_visibility.items()} == {
        "yes": (6, 3),
        "partly": (4, 2),
    }
    assert list(by_visibility) == ["yes", "partly"]
    assert by_visibility["yes"]["interval"] is not None
    assert metrics(rows[10:])["slices"]["visible"] == {}


def test_the_metrics_of_tasks_are_those_of_the_whole(result):
    rows = [result(f"q{i}", i % 3 == 0, picture=f"p{i}") for i in range(30)]
    whole, tasks = metrics(rows), task_metrics(rows)
    assert tasks == {"global": whole["global"], "task": whole["slices"]["task"]}
    assert tasks["global"]["accuracy"] == 10 / 30


def test_margins_as_published_count_items_with_options_of_the_published_tasks_alone(result):
    rows = [result("a"), result("b", WRONG, picture="p1")]
    rows.append(result("view", picture="p3", task=Task("View Recognition")))
    open_item = result("open", picture="p2", stated_chance=0.0)
    presentation = open_item.question.presentation
    bare = replace(presentation, item=replace(presentation.item, options=(), key=""))
    rows.append(replace(open_item, question=replace(open_item.question, presentation=bare)))
    slices = metrics(rows)["slices"]
    assert {name: group["n"] for name, group in slices["modality"].items()} == {"CT": 4}
    assert {name: group["n"] for name, group in slices["modality_as_published"].items()} == {
        "CT": 2
    }
    assert {name: group["n"] for name, group in slices["parts_as_published"].items()} == {
        "Lungs": 2
    }


def test_the_tasks_of_a_run_that_lacks_replies_have_bounds_and_no_accuracy(result):
    rows = [result(f"q{i}", picture=f"p{i}") for i in range(18)]
    later = {"outcome": AnswerOutcome.NOT_ASKED, "task": Task("View Recognition")}
    rows += [result(f"later{i}", **later) for i in range(2)]
    whole = task_metrics([*rows[:19], result("q19")])
    assert (whole["global"]["accuracy"], len(whole["task"])) == (0.95, 2)
    outcome = task_metrics(rows)
    groups = [outcome["global"], *outcome["task"].values()]
    assert len(groups) == 3
    assert {(group["accuracy"], group["interval"]) for group in groups} == {(None, None)}
    assert outcome["global"]["bounds"] == [0.9, 1]

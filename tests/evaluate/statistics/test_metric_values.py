"""Figures of a group and of a whole run, by hand."""

from __future__ import annotations

import pytest

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.metrics import group_metrics, metrics, run_metrics, task_metrics
from medrcube.taxonomy import Anatomy, Task

RIGHT, WRONG = True, False
FAILED = AnswerOutcome.FAILED


def test_each_accuracy_has_its_own_denominator(result):
    rows = [result(f"q{i}", i < 3, picture=f"p{i}", count=2 + 2 * (i % 2)) for i in range(6)]
    rows += [
        result("none", None, picture="p7"),
        result("refused", outcome=AnswerOutcome.REFUSED, picture="p8"),
        result("cut", outcome=AnswerOutcome.CUT, picture="p9"),
        result("lost", outcome=FAILED, picture="p10"),
    ]
    group = group_metrics(rows)
    assert (group["n"], group["correct"], group["units"]) == (10, 3, 10)
    assert group["accuracy"] == 3 / 10
    assert group["accuracy_without_failures"] == 3 / 9
    assert group["accuracy_answered"] == 3 / 6
    assert group["bounds"] == [3 / 10, 4 / 10]
    assert group["chance"] == pytest.approx((3 / 2 + 3 / 4 + 4 / 4) / 10)
    assert group["chance_corrected"] == pytest.approx((0.3 - 0.325) / 0.675)
    assert group["design_effect"] == pytest.approx(1)
    counts = {"correct": 3, "wrong": 3, "unparsed": 1, "refused": 1, "cut": 1, "failed": 1}
    assert {name: count for name, count in group["outcomes"].items() if count} == counts
    assert list(group["outcomes"]) == [outcome.value for outcome in AnswerOutcome]


def test_no_item_has_no_figure():
    group = group_metrics([])
    assert (group["n"], group["small"], group["interval_reason"]) == (0, True, "fewer than 5 units")
    undefined = ("accuracy", "interval", "bounds", "chance", "chance_corrected", "design_effect")
    undefined += ("accuracy_without_failures", "accuracy_answered")
    assert {group[name] for name in undefined} == {None}


@pytest.mark.parametrize(("lost", "incomplete"), [(1, False), (2, True)])
def test_a_run_may_lack_one_reply_of_twenty(result, lost, incomplete):
    rows = [result(f"q{i}", picture=f"p{i}") for i in range(20 - lost)]
    rows += [result(f"f{i}", outcome=FAILED, picture=f"f{i}") for i in range(lost)]
    outcome = run_metrics(rows)
    assert metrics(rows)["incomplete"] is incomplete
    assert (outcome["accuracy"] is None) is incomplete
    assert (task_metrics(rows)["global"]["accuracy"] is None) is incomplete
    assert outcome["bounds"] == [1 - lost / 20, 1]
    if incomplete:
        assert (
            outcome["interval_reason"] == "more than 5 % of the questions of the run have no reply"
        )
        names = ("interval", "chance_corrected", "design_effect")
        assert {outcome[name] for name in names} == {None}
        assert outcome["accuracy_answered"] == 1


def test_macro_means_are_over_voxels_and_tasks(result):
    rows = [result(f"a{i}", i < 8) for i in range(10)]
    rows += [result(f"b{i}", i < 3, parts=Anatomy("Brain")) for i in range(12)]
    rows += [result(f"c{i}", i < 1, task=Task("ROI Grounding")) for i in range(4)]
    rows += [result(f"d{i}", i < 6, task=Task("View Recognition")) for i in range(10)]
    summary = metrics(rows)
    macro = summary["macro"]
    assert (macro["voxels"], macro["voxels_not_small"], macro["suppressed"]) == (4, 3, 1)
    assert macro["accuracy"] == pytest.approx((8 / 10 + 3 / 12 + 1 / 4 + 6 / 10) / 4)
    assert macro["accuracy_not_small"] == pytest.approx((8 / 10 + 3 / 12 + 6 / 10) / 3)
    assert macro["tasks_not_small"] == 2
    assert macro["task_accuracy_not_small"] == pytest.approx((11 / 22 + 6 / 10) / 2)
    assert summary["rules"] == {"test": 36}
    assert summary["sets"] is None


def test_the_figures_of_an_incomplete_run_without_sets_have_no_macro_mean(result):
    rows = [result(f"q{i}") for i in range(10)] + [result("f", outcome=FAILED)]
    summary = metrics(rows)
    names = ("accuracy", "accuracy_not_small", "task_accuracy_not_small")
    assert {summary["macro"][name] for name in names} == {None}
    assert summary["macro"]["voxels"] == 1
    assert summary["sets"] is None


def test_the_sets_of_an_incomplete_run_have_no_share(result):
    def rows(lost):
        results = [
            result(f"{name}{i}", picture=f"{name}{i}", set=f"block-{name}", set_size=2)
            for name in "abcdef"
            for i in range(2)
        ]
        return [*results, *[result(f"f{i}", outcome=FAILED, picture="f") for i in range(lost)]]

    whole, part = metrics(rows(0))["sets"], metrics(rows(6))["sets"]
    for row in (part["global"], *part["task"].values()):
        names = ("accuracy", "interval", "confusion", "item_accuracy", "chance_corrected")
        assert {row[name] for name in names} == {None}
        assert (row["n"], row["correct"]) == (6, 6)
    assert (whole["global"]["accuracy"], whole["global"]["item_accuracy"]) == (1, 1)
    assert part["incomplete"] == whole["incomplete"] == 0


def test_an_option_is_within_its_source_only_if_the_same_task_of_it_has_that_answer(result):
    options = {"options": (("A", "Edema"), ("B", "mass"))}
    view = {"task": Task("View Recognition")}
    edema = result("a", key="A", **options)
    assert metrics([edema])["slices"]["within_sources"] == {}
    assert (
        metrics([edema, result("b", key="B", **options, **view)])["slices"]["within_sources"] == {}
    )
    other_case = {"options": (("A", "EDEMA"), ("B", "MASS"))}
    within_sources = metrics([edema, result("b", key="B", **other_case)])["slices"][
        "within_sources"
    ]
    assert list(within_sources) == ["Disease Diagnosis", "All tasks"]
    assert within_sources["All tasks"]["n"] == 2

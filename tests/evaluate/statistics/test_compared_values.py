"""Comparisons of runs: which items count, and the figures of sets, pairs and groups."""

from __future__ import annotations

from dataclasses import replace

import pytest

from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.statistics.clustered_inference import (
    UnitTally,
    design_effect,
    difference_interval,
    effective_units,
    share_interval,
    sign_test,
)
from medrcube.evaluate.statistics.comparison import compare_many_runs, compare_runs
from medrcube.evaluate.statistics.comparison.answer_matrix import answer_table
from medrcube.evaluate.statistics.comparison.compare_many_runs import compare_many, compare_table
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two
from medrcube.evaluate.statistics.comparison.compared_runs import load_compared
from medrcube.evaluate.statistics.power import minimum_detectable_effect
from medrcube.taxonomy import Task

FAILED = AnswerOutcome.FAILED


@pytest.fixture
def of_results(scored_run, monkeypatch):
    """Compare runs that have the given results, and all else of one scored run."""
    (like,) = load_compared([scored_run("like", range(4), n=4)])

    def compare(*runs, common=False, **options):
        loaded = [
            replace(like, results=results, folder=like.folder.with_name(f"run{number}"))
            for number, results in enumerate(runs)
        ]
        for module in (compare_runs, compare_many_runs):
            monkeypatch.setattr(module, "load_compared", lambda _: loaded)
        folders = [run.folder for run in loaded]
        if len(runs) == 2:
            return compare_two(*folders, common=common, **options)
        return compare_many(folders, common=common, **options)

    return compare


def answers(result, right, n=40, lost=(), **axes):
    return [
        result(f"q{i}", i < right, picture=f"p{i}", outcome=FAILED if i in lost else None, **axes)
        for i in range(n)
    ]


@pytest.mark.parametrize("count", [2, 3])
def test_every_item_that_is_not_compared_is_counted_by_its_reason(result, of_results, count):
    other_key = result("q3", key="B", picture="p3")
    first = answers(result, 40, lost=[0])
    second = [*answers(result, 40, lost=[1])[:3], other_key, *answers(result, 40)[4:38]]
    items = of_results(*[first, second, second][:count], common=True)["items"]
    only = "only_one" if count == 2 else "only_some"
    assert items == {"common": 35, "lost": 2, "changed": 1, only: 2, "withdrawn": 0}


def test_two_images_of_an_item_differ_though_the_first_run_knows_neither(result, of_results):
    own_answers, others = answers(result, 40), answers(result, 40)
    others[3] = replace(
        own_answers[3], question=replace(own_answers[3].question, subject="another")
    )
    imported = [replace(r, question=replace(r.question, subject=None)) for r in own_answers]
    assert of_results(imported, own_answers, others, common=True)["items"]["changed"] == 1
    assert of_results(imported, own_answers, own_answers, common=True)["items"]["changed"] == 0


@pytest.mark.parametrize("count", [2, 3])
def test_items_that_a_run_alone_has_are_refused_unless_common_ones_are_asked_for(
    result, of_results, count
):
    runs = [answers(result, 40), answers(result, 40, n=39), answers(result, 40)][:count]
    with pytest.raises(WorkspaceError, match="add  --common"):
        of_results(*runs)


@pytest.mark.parametrize("count", [2, 3])
def test_conditions_that_are_not_compared_are_named_for_each_run(scored_run, count):
    kinds = [["full", "blind"], ["blind"], ["blind"]][:count]
    folders = [scored_run(f"r{i}", [], n=12, conditions=kind) for i, kind in enumerate(kinds)]
    comparison = compare_two(*folders) if count == 2 else compare_many(folders)
    assert comparison["condition"] == "blind"
    assert comparison["conditions_left"] == [["full"], [], []][:count]


@pytest.mark.parametrize("count", [2, 3])
def test_later_epochs_and_turns_are_not_compared(result, of_results, count):
    def run(right):
        later = [result(f"q{i}", 0, picture=f"p{i}", epoch=1) for i in range(40)]
        turned = [
            result(f"q{i}", 0, picture=f"p{i}", condition=Condition.CIRCULAR, turn=1)
            for i in range(40)
        ]
        return [*answers(result, right), *later, *turned]

    outcome = of_results(*[run(40), run(30), run(30)][:count])
    assert outcome["items"]["common"] == 40
    assert outcome["condition"] == "full"


def test_figures_of_runs_and_pairs_are_those_of_their_units(result):
    def run(right, lost=()):
        return [
            result(f"q{i}", right(i), picture=f"p{i // 2}", outcome=FAILED if i in lost else None)
            for i in range(80)
        ]

    table = answer_table(
        {
            "middle": run(lambda i: i < 50, lost=[79]),
            "best": run(lambda i: i < 60 or i % 3 == 0),
            "last": run(lambda i: 10 <= i < 45),
        }
    )
    row = compare_table(table, "task")["overall"]
    assert (row["n"], row["small"], row["unit_kinds"]) == (79, False, {"picture": 40})
    best, middle, last = row["runs"]
    assert [run["label"] for run in row["runs"]] == ["best", "middle", "last"]
    assert [run["correct"] for run in row["runs"]] == [67, 50, 35]
    assert [run["accuracy"] for run in row["runs"]] == [67 / 79, 50 / 79, 35 / 79]
    halves = [UnitTally(2, 2)] * 25 + [UnitTally(0, 2)] * 14 + [UnitTally(0, 1)]
    assert middle["interval"] == list(share_interval(halves))
    assert best["interval_reason"] is last["interval_reason"] is None
    pair = next(candidate for candidate in row["pairs"] if candidate["first"] == "middle")
    # Pictures 0 to 4 are of the middle run alone, the last run has 22 and a half after them.
    units = [UnitTally(2, 2)] * 5 + [UnitTally(0, 2)] * 17 + [UnitTally(1, 2)]
    units += [UnitTally(2, 2)] * 2 + [UnitTally(0, 2)] * 14 + [UnitTally(0, 1)]
    assert (pair["second"], pair["difference"]) == ("last", 15 / 79)
    assert pair["interval"] == list(difference_interval(units))
    assert pair["p"] == sign_test(units)
    assert pair["apart"] is (pair["p_holm"] < 0.05)
    assert pair["minimum_detectable_effect"] == minimum_detectable_effect(
        79, 15 / 79, design_effect(units, 15), 79 / effective_units(units), 0.05 / 3
    )


def test_groups_name_why_they_have_no_interval(result):
    rows = answers(result, 40), answers(result, 20)
    small = [[result("v", value, picture="v", task=Task("View Recognition"))] for value in (1, 0)]
    table = answer_table({"a": rows[0] + small[0], "b": rows[1] + small[1]})
    view, diagnosis = compare_table(table, "task")["groups"]
    assert (view["task"], view["n"], view["small"], view["pairs"]) == (
        "View Recognition", 1, True, [],
    )  # fmt: skip
    assert {run["interval_reason"] for run in view["runs"]} == {"fewer than 5 units"}
    assert {run["interval_reason"] for run in diagnosis["runs"]} == {None}
    (pair,) = diagnosis["pairs"]
    assert "minimum_detectable_effect" not in pair
    assert pair["p_holm"] == pair["p"]
    assert pair["apart"] is True
    assert [run["letters"] for run in diagnosis["runs"]] == ["a", "b"]


def test_a_group_keeps_the_order_of_the_whole(result):
    def run(diagnoses, views):
        other = [
            result(f"v{i}", i < views, picture=f"v{i}", task=Task("View Recognition"))
            for i in range(10)
        ]
        return answers(result, diagnoses) + other

    comparison = compare_table(answer_table({"a": run(10, 10), "b": run(30, 0)}), "task")
    for row in (comparison["overall"], *comparison["groups"]):
        assert [entry["label"] for entry in row["runs"]] == ["b", "a"]
    (pair,) = comparison["groups"][0]["pairs"]
    assert (pair["first"], pair["difference"]) == ("b", -1)


@pytest.mark.parametrize(("n", "small"), [(9, True), (10, False)])
def test_ten_questions_are_no_small_group(result, n, small):
    table = answer_table({"a": answers(result, n, n), "b": answers(result, 0, n)})
    comparison = compare_table(table, "task")
    assert comparison["groups"][0]["small"] is small
    assert comparison["correction"] == {
        "method": "holm",
        "alpha": 0.05,
        "overall_tests": 1,
        "group_tests": 0 if small else 1,
    }


def sets(result, right, count=12, lost=()):
    """Sets of two items; the first ``right`` are right, of the others one item alone."""
    return [
        result(
            f"s{number}-{i}",
            number < right or i == 0,
            picture=f"s{number}-{i}",
            set=f"block-{number}",
            set_size=2,
            outcome=FAILED if number in lost and i else None,
        )
        for number in range(count)
        for i in range(2)
    ]


def test_sets_are_compared_where_both_runs_answered_them(result, of_results):
    outcome = of_results(sets(result, 12), sets(result, 2, lost=[11]))["sets"]
    assert (outcome["n"], outcome["first"], outcome["second"]) == (11, 1, 2 / 11)
    assert (outcome["only_first"], outcome["only_second"], outcome["verdict"]) == (9, 0, "first")
    turned = of_results(sets(result, 2, lost=[11]), sets(result, 12))["sets"]
    assert (turned["difference"], turned["verdict"]) == (-9 / 11, "second")


def test_runs_without_sets_or_chains_have_no_such_row(result, of_results):
    outcome = of_results(answers(result, 40), answers(result, 20))
    assert (outcome["sets"], outcome["chains"]) == (None, None)


def test_an_incomplete_run_leaves_the_counts_of_sets_and_no_difference(result, of_results):
    outcome = of_results(sets(result, 12), sets(result, 2, lost=[10, 11]))
    assert outcome["runs"][1]["incomplete"] == "22 of 24 questions have a reply"
    for row in (outcome["sets"], outcome["overall"], *outcome["families"]["task"]):
        assert row["n"] > 0
        names = {"first", "second", "difference", "interval", "mcnemar_p", "mcnemar_p_holm"}
        assert {row[name] for name in names & row.keys()} == {None}
        assert row["verdict"] == "unclear"
    no_sets = of_results(answers(result, 40), answers(result, 20, lost=range(20, 23)))
    assert no_sets["sets"] is None


@pytest.mark.parametrize("lost", [2, 3])
def test_one_reply_of_twenty_may_be_lost(result, of_results, lost):
    outcome = of_results(answers(result, 40), answers(result, 20, lost=range(37, 37 + lost)))
    assert (outcome["overall"]["difference"] is None) is (lost > 2)
    assert outcome["items"] == {
        "common": 40 - lost, "lost": lost, "changed": 0, "only_one": 0, "withdrawn": 0,
    }  # fmt: skip


def test_rows_count_units_by_kind_and_name_their_group(result, of_results):
    case = {"unit": "case-0000000000000001"}
    rows = [*answers(result, 40), result("q40", **case), result("q41", **case)]
    outcome = of_results(rows, [*answers(result, 30), *rows[40:]], by="voxel")
    assert outcome["overall"]["unit_kinds"] == {"case": 1, "picture": 40}
    (row,) = outcome["families"]["voxel"]
    assert (row["task"], row["modality"], row["parts"]) == ("Disease Diagnosis", "CT", "Lungs")
    assert (row["n"], row["difference"], row["verdict"]) == (42, 10 / 42, "first")
    assert row["mcnemar_p_holm"] == row["mcnemar_p"] == 2 / 2**10

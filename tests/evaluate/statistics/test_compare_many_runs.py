"""Many runs on the same questions: groups that are not distinguishable, under one correction."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from medrcube.errors import WorkspaceError
from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.statistics.comparison.answer_matrix import answer_table
from medrcube.evaluate.statistics.comparison.compare_many_runs import compare_many, compare_table
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two
from medrcube.evaluate.statistics.paired_tests import holm
from medrcube.evaluate.statistics.power import minimum_detectable_effect
from medrcube.taxonomy import cube_tasks

TASKS = cube_tasks()[:4]


@pytest.fixture
def answers(result):
    """Results of a run that is right on some questions; tasks go round."""

    def make(right, n=80, lost=(), pictures=1):
        return [
            result(
                f"q{i}",
                i in right,
                picture=f"p{i // pictures}",
                task=TASKS[i % 4],
                outcome=AnswerOutcome.FAILED if i in lost else None,
            )
            for i in range(n)
        ]

    return make


def test_groups_of_equals_and_pairs_say_the_same(answers):
    table = answer_table(
        {"low": answers(range(10)), "high": answers(range(70)), "as high": answers(range(69))}
    )
    row = compare_table(table, "task")["overall"]
    assert [run["label"] for run in row["runs"]] == ["high", "as high", "low"]
    assert [run["letters"] for run in row["runs"]] == ["a", "a", "b"]
    assert {(p["first"], p["second"]): p["apart"] for p in row["pairs"]} == {
        ("high", "as high"): False,
        ("high", "low"): True,
        ("as high", "low"): True,
    }


def test_wins_and_losses_that_cancel_out_in_every_unit_count_as_single_answers(answers):
    table = answer_table(
        {"a": answers(range(0, 80, 2), pictures=2), "b": answers(range(1, 80, 2), pictures=2)}
    )
    (pair,) = compare_table(table, "task")["overall"]["pairs"]
    assert pair["difference"] == 0
    assert pair["minimum_detectable_effect"] == minimum_detectable_effect(80, 1.0, 1.0, 2.0)


@pytest.mark.parametrize(("units", "expected"), [(29, False), (30, True)])
def test_thirty_units_are_enough_for_a_power_statement(answers, units, expected):
    table = answer_table({"a": answers(range(20), units), "b": answers(range(10), units)})
    (pair,) = compare_table(table, "task")["overall"]["pairs"]
    assert (pair["minimum_detectable_effect"] is not None) is expected


def test_all_groups_and_pairs_are_adjusted_as_one_family(answers):
    table = answer_table({str(k): answers(range(k)) for k in (20, 38, 44, 72)})
    comparison = compare_table(table, "task")
    pairs = [pair for group in comparison["groups"] for pair in group["pairs"]]
    assert len(pairs) == comparison["correction"]["group_tests"] == 4 * 6
    assert [pair["p_holm"] for pair in pairs] == holm([pair["p"] for pair in pairs])
    overall = comparison["overall"]["pairs"]
    assert [pair["p_holm"] for pair in overall] == holm([pair["p"] for pair in overall])


def test_only_questions_that_every_run_has_kept_are_compared(answers):
    table = answer_table(
        {"a": answers(range(80), lost=[0, 1]), "b": answers(range(80), lost=[1, 2])}
    )
    overall = compare_table(table, "task")["overall"]
    assert overall["n"] == 77
    assert [run["accuracy"] for run in overall["runs"]] == [1, 1]


def test_a_small_group_is_shown_and_not_tested(answers):
    comparison = compare_table(
        answer_table({"a": answers(range(20), 20), "b": answers([], 20)}), "task"
    )
    assert [(group["n"], group["small"], group["pairs"]) for group in comparison["groups"]] == [
        (5, True, [])
    ] * 4
    assert {run["letters"] for group in comparison["groups"] for run in group["runs"]} == {""}
    assert comparison["correction"]["group_tests"] == 0


def test_questions_on_one_picture_count_once(answers):
    half = answers(range(40), pictures=20)
    apart = compare_table(answer_table({"a": answers(range(80)), "b": answers(range(40))}), "task")
    together = compare_table(
        answer_table({"a": answers(range(80), pictures=20), "b": half}), "task"
    )
    assert [run["letters"] for run in apart["overall"]["runs"]] == ["a", "b"]
    assert [run["letters"] for run in together["overall"]["runs"]] == ["a", "a"]


@pytest.mark.thorough
def test_equal_models_are_parted_in_at_most_one_table_of_twenty(answers):
    rng = np.random.default_rng(5)
    parted = 0
    for _ in range(60):
        runs = {str(k): answers(set(np.flatnonzero(rng.random(48) < 0.5)), 48) for k in range(4)}
        comparison = compare_table(answer_table(runs), "task")
        parted += any(p["apart"] for group in comparison["groups"] for p in group["pairs"])
        parted += any(p["apart"] for p in comparison["overall"]["pairs"])
    assert parted <= 0.1 * 60 + 6  # two tables, each at 5 %, and three standard errors


def test_runs_without_a_question_in_common_are_refused(answers):
    runs = {"a": answers([], lost=range(40)), "b": answers([], lost=range(40, 80))}
    with pytest.raises(WorkspaceError, match="no item in common"):
        compare_table(answer_table(runs), "task")


def test_pairs_are_those_of_two_runs_alone(scored_run):
    folders = [scored_run("a", range(40)), scored_run("b", range(20)), scored_run("c", range(10))]
    comparison = compare_many(folders, by="voxel")
    for first, second in itertools.combinations(folders, 2):
        two = compare_two(first, second)["overall"]
        pair = next(
            pair
            for pair in comparison["overall"]["pairs"]
            if {pair["first"], pair["second"]} == {first.name, second.name}
        )
        assert abs(pair["difference"]) == abs(two["difference"])
        assert pair["p"] == two["mcnemar_p"]


def test_what_differs_between_the_runs_is_left_out_and_counted(scored_run):
    a, b = scored_run("a", range(40)), scored_run("b", range(40), lost=[3])
    c = scored_run("c", range(40), n=39, release="other")
    comparison = compare_many([a, b, c], common=True)
    assert comparison["items"] == {
        "common": 38,
        "lost": 1,
        "changed": 0,
        "only_some": 1,
        "withdrawn": 0,
    }
    assert comparison["same_dataset"] is False
    with pytest.raises(WorkspaceError, match=r"different releases.*--common"):
        compare_many([a, b, c])


def test_the_command_shows_groups_and_what_follows(scored_run, compare_command):
    folders = [str(scored_run(name, range(k))) for name, k in (("a", 40), ("b", 20), ("c", 18))]
    process = compare_command(*folders, "--by", "voxel")
    assert process.returncode == 0, process.stderr
    assert "DD X-ray Chest" in process.stdout
    assert "a is right more often than every other run" in process.stdout
    assert "Runs that share a letter are not distinguishable" in process.stdout
    outcome = compare_command(*folders, "--by", "voxel", "--json")
    assert json.loads(outcome.stdout) == compare_many(
        [Path(folder) for folder in folders], by="voxel"
    )


def test_a_run_that_is_given_twice_stands_twice(scored_run):
    a, b = scored_run("a", range(40)), scored_run("b", range(20))
    comparison = compare_many([a, b, a])
    assert [run["label"] for run in comparison["overall"]["runs"]] == [
        "a (run 1)",
        "a (run 3)",
        "b",
    ]
    assert [run["letters"] for run in comparison["overall"]["runs"]] == ["a", "a", "b"]


def test_one_run_is_not_compared(scored_run, compare_command):
    process = compare_command(str(scored_run("a", range(4))))
    assert process.returncode == 2
    assert "expected two or more" in process.stderr


def test_an_incomplete_run_is_in_no_group_and_takes_no_question_from_the_others(scored_run):
    a, b = scored_run("a", range(40)), scored_run("b", range(20))
    c = scored_run("c", range(40), lost=range(10))
    comparison = compare_many([a, b, c])
    assert [run["label"] for run in comparison["overall"]["runs"]] == ["a", "b"]
    assert comparison["items"]["common"] == 40
    pairs = [(run["incomplete"], run["bounds"]) for run in comparison["runs"]]
    assert pairs[:2] == [(None, [1.0, 1.0]), (None, [0.5, 0.5])]
    assert pairs[2] == ("30 of 40 questions have a reply", [0.75, 1.0])
    assert comparison["conclusions"][0].startswith("INCOMPLETE c: 30 of 40 questions have a reply")


def test_the_command_names_incomplete_runs(scored_run, compare_command):
    folders = [str(scored_run(name, range(k))) for name, k in (("a", 40), ("b", 20))]
    process = compare_command(*folders, str(scored_run("c", range(40), lost=range(10))))
    assert process.returncode == 0, process.stderr
    (line,) = [line for line in process.stdout.splitlines() if line.strip().startswith("c ")]
    assert "75.0 to 100.0" in line
    assert "INCOMPLETE" in line


def test_one_complete_run_is_not_compared(scored_run):
    a = scored_run("a", range(40))
    parts = [scored_run(name, range(40), lost=range(10)) for name in "bc"]
    with pytest.raises(WorkspaceError, match=r"INCOMPLETE b: .*expected two or more complete"):
        compare_many([a, *parts])


def test_of_two_runs_no_number_is_told_where_one_is_incomplete(scored_run):
    comparison = compare_two(
        scored_run("a", range(40)), scored_run("b", range(20), lost=range(30, 40))
    )
    for row in (comparison["overall"], *comparison["families"]["task"]):
        assert {row[name] for name in ("first", "second", "difference", "interval")} == {None}
        assert row["mcnemar_p"] is None
        assert row["verdict"] == "unclear"
    assert [run["incomplete"] for run in comparison["runs"]] == [
        None,
        "30 of 40 questions have a reply",
    ]
    assert [line.partition(":")[0] for line in comparison["conclusions"]] == ["INCOMPLETE b"]


def test_a_copy_of_a_run_is_named_and_taken_once(scored_run, compare_command, tmp_path):
    a, b = scored_run("a", range(40)), scored_run("b", range(20))
    copy = shutil.copytree(a, tmp_path / "copy")
    process = compare_command(str(a), str(copy), str(b), "--json")
    assert [run["label"] for run in json.loads(process.stdout)["runs"]] == ["a", "b"]
    outcome = compare_command(str(a), str(copy), str(b))
    assert f"{copy.name} is a copy of" in "".join((outcome.stdout + outcome.stderr).split("\n"))
    alone = compare_command(str(a), str(copy))
    assert alone.returncode == 2
    assert "copies of it count as one run" in " ".join(alone.stderr.replace("\u2502", " ").split())

"""Comparing two runs: on the same items, with a verdict no stronger than the data."""

from __future__ import annotations

import json

import pytest
from scipy.stats import binomtest

from medrcube.errors import WorkspaceError
from medrcube.evaluate.statistics.comparison import compare_runs
from medrcube.evaluate.statistics.comparison.compare_many_runs import compare_many
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two


def test_a_better_run_is_found(scored_run):
    comparison = compare_two(scored_run("a", range(40)), scored_run("b", range(20)))
    row = comparison["overall"]
    assert (row["n"], row["units"], row["difference"]) == (40, 20, 0.5)
    assert (row["only_first"], row["only_second"]) == (20, 0)
    # Ten pictures with two questions each go one way.
    assert row["mcnemar_p"] == pytest.approx(2 / 2**10)
    assert row["verdict"] == "first"
    assert comparison["conclusions"][0].startswith("a is right more often than b")


def test_exchanging_the_runs_turns_everything_round(scored_run):
    a, b = scored_run("a", range(40)), scored_run("b", range(20))
    comparison = compare_two(b, a)
    assert comparison["overall"]["verdict"] == "second"
    assert comparison["overall"]["difference"] == -0.5
    sentence = comparison["conclusions"][0]
    assert sentence.startswith("a is right more often than b on these questions: ")
    assert "100.0 % against 50.0 %, +50.0 points" in sentence
    assert "-50" not in " ".join(comparison["conclusions"])
    assert sentence == compare_two(a, b)["conclusions"][0]


def test_without_a_group_of_enough_pairs_nothing_is_tested(scored_run):
    comparison = compare_two(scored_run("a", range(8), n=8), scored_run("b", [], n=8))
    assert "By task: no task has the 10 pairs needed for a test." in comparison["conclusions"]
    single = compare_two(
        scored_run("c", range(2), n=2, release="s"), scored_run("d", [], n=2, release="s")
    )
    assert "(no interval, exact McNemar p" in single["conclusions"][0]


def test_a_difference_on_every_picture_is_found_too(scored_run):
    comparison = compare_two(scored_run("a", range(40)), scored_run("b", []))
    assert (comparison["overall"]["difference"], comparison["overall"]["verdict"]) == (1, "first")


def test_a_verdict_needs_the_exact_test_beside_the_interval(scored_run):
    comparison = compare_two(
        scored_run("a", range(40)), scored_run("b", set(range(40)) - {0, 2, 4, 6, 8})
    )
    assert comparison["overall"]["interval"][0] > 0
    assert comparison["overall"]["mcnemar_p"] == 0.0625
    assert comparison["overall"]["verdict"] == "unclear"
    assert comparison["conclusions"][0].startswith("Unclear")


def test_questions_that_go_together_count_once(scored_run):
    # Two questions a picture that go together: 14 pictures for one run, 7 for the other.
    comparison = compare_two(
        scored_run("a", range(28), n=160), scored_run("b", range(28, 42), n=160)
    )
    assert binomtest(28, 42).pvalue < 0.05
    assert comparison["overall"]["mcnemar_p"] > 0.1
    assert comparison["overall"]["verdict"] == "unclear"


def test_few_pictures_allow_no_verdict(scored_run):
    comparison = compare_two(scored_run("a", range(8), n=8), scored_run("b", [], n=8))
    assert comparison["overall"]["units"] == 4
    assert comparison["overall"]["verdict"] == "unclear"
    assert "fewer than 5 units" in comparison["conclusions"][0]
    assert "4 images" in comparison["conclusions"][0]


def test_no_difference_shown_is_not_called_equality(scored_run):
    halves = [[i for i in range(40) if i % 4 // 2 == side] for side in (0, 1)]
    comparison = compare_two(scored_run("a", halves[0]), scored_run("b", halves[1]))
    assert comparison["overall"]["verdict"] == "unclear"
    assert "not prove equality" in comparison["conclusions"][0]


def test_equal_runs_leave_nothing_to_find(scored_run):
    comparison = compare_two(scored_run("a", range(20), n=160), scored_run("b", range(20), n=160))
    assert comparison["overall"]["minimum_detectable_effect"] is None
    assert "0 of 160 questions are right in only one run" in comparison["conclusions"][1]


def test_what_few_units_would_find_is_not_said(scored_run):
    comparison = compare_two(scored_run("a", range(0, 40, 2)), scored_run("b", range(1, 40, 2)))
    assert "not stated for fewer than 30 units" in comparison["conclusions"][1]


def test_what_could_have_been_found_is_said(scored_run):
    comparison = compare_two(
        scored_run("a", range(0, 160, 3), n=160), scored_run("b", range(1, 160, 3), n=160)
    )
    effect = comparison["overall"]["minimum_detectable_effect"]
    assert f"{100 * effect:.1f} points would be detected" in comparison["conclusions"][1]


def test_items_without_a_reply_are_left_out_and_counted(scored_run):
    comparison = compare_two(
        scored_run("a", range(40), lost=[0, 1]), scored_run("b", range(40), lost=[1, 2])
    )
    assert comparison["items"] == {
        "common": 37,
        "lost": 3,
        "changed": 0,
        "only_one": 0,
        "withdrawn": 0,
    }


def test_other_data_are_refused(scored_run):
    a, b = scored_run("a", range(40)), scored_run("b", range(40), n=39, release="other")
    with pytest.raises(WorkspaceError, match=r"different releases.*--common"):
        compare_two(a, b)


def test_other_data_are_compared_where_they_are_the_same(scored_run):
    a, b = scored_run("a", range(40)), scored_run("b", range(40), n=39, release="other")
    comparison = compare_two(a, b, common=True)
    assert comparison["same_dataset"] is False
    assert comparison["items"] == {
        "common": 39,
        "lost": 0,
        "changed": 0,
        "only_one": 1,
        "withdrawn": 0,
    }


def test_an_item_of_one_name_with_another_text_is_another_item(scored_run):
    a = scored_run("a", range(40))
    b = scored_run("b", range(40), release="other", question="Something else?")
    with pytest.raises(WorkspaceError, match="no item in common"):
        compare_two(a, b, common=True)


def test_runs_of_other_conditions_are_refused(scored_run):
    a, b = scored_run("a", range(40)), scored_run("b", range(40), conditions=["blind"])
    with pytest.raises(WorkspaceError, match=r"asked full.*asked blind"):
        compare_two(a, b)


def test_circular_holds_the_question_as_it_stands(scored_run):
    comparison = compare_two(
        scored_run("a", range(40)), scored_run("b", range(20), conditions=["circular"])
    )
    assert (comparison["condition"], comparison["overall"]["n"]) == ("full", 40)


@pytest.mark.thorough
def test_the_text_names_a_condition_that_is_not_full_and_those_that_it_left(
    scored_run, compare_command
):
    a = scored_run("a", range(20), conditions=["full", "blind"])
    b = scored_run("b", range(20), conditions=["blind"])
    assert compare_two(a, b)["conditions_left"] == [["full"], []]
    words = "all figures are for condition blind; not compared: full of a"
    assert words in compare_command(a, b).stdout
    c = scored_run("c", range(20), conditions=["blind"])
    output = compare_command(a, b, c).stdout
    assert words in output
    d = scored_run("d", range(20))
    assert "all figures" not in compare_command(d, d).stdout


def test_runs_of_a_part_of_the_items_are_compared_with_common_alone(scored_run, benchmark_run):
    whole, part = scored_run("a", range(40)), benchmark_run("b", limit=30)
    for runs in ((whole, part), (part, whole)):
        with pytest.raises(WorkspaceError, match=r"40 items.*30 items|30 items.*40 items"):
            compare_two(*runs)
        items = compare_two(*runs, common=True)["items"]
        assert (items["common"], items["only_one"]) == (30, 10)
    with pytest.raises(WorkspaceError, match="--common"):
        compare_many([whole, whole, part])


def test_blind_runs_may_be_compared(scored_run):
    a, b = (scored_run(name, range(20), conditions=["blind"]) for name in "ab")
    assert compare_two(a, b)["condition"] == "blind"


@pytest.mark.parametrize("axis", ["task", "modality", "parts", "voxel"])
def test_slices_are_adjusted_together(scored_run, axis):
    comparison = compare_two(scored_run("a", range(40)), scored_run("b", range(20)), by=axis)
    assert set(comparison["families"]) == {"task", axis}
    rows = comparison["families"][axis]
    assert sum(row["n"] for row in rows) == 40
    assert all(row["mcnemar_p_holm"] >= row["mcnemar_p"] for row in rows)


def test_a_slice_that_is_too_small_has_no_verdict(scored_run):
    comparison = compare_two(scored_run("a", range(8), n=8), scored_run("b", [], n=8))
    (row,) = comparison["families"]["task"]
    assert (row["mcnemar_p_holm"], row["verdict"]) == (None, "unclear")
    assert "no task has the 10 pairs needed" in comparison["conclusions"][2]


def test_two_runs_of_one_model_are_told_apart(scored_run, tmp_path):
    a = scored_run("a", range(40))
    (tmp_path / "copy").mkdir()
    for file in a.iterdir():
        (tmp_path / "copy" / file.name).write_bytes(file.read_bytes())
    comparison = compare_two(a, tmp_path / "copy")
    assert [run["label"] for run in comparison["runs"]] == ["a (a)", "a (copy)"]


def test_another_prompt_is_noted(scored_run):
    a, b = scored_run("a", range(40)), scored_run("b", range(40))
    manifest = json.loads((b / "manifest.json").read_text())
    manifest["prompt"]["version"] = "other"
    (b / "manifest.json").write_text(json.dumps(manifest))
    assert "different prompts" in compare_two(a, b)["notes"][0]


def test_a_folder_that_is_no_run_is_refused(scored_run, tmp_path):
    with pytest.raises(WorkspaceError, match="is not a run"):
        compare_two(scored_run("a", range(40)), tmp_path / "nothing")


def test_the_command_shows_a_table_and_what_follows(scored_run, compare_command):
    process = compare_command(
        str(scored_run("a", range(40))), str(scored_run("b", range(20))), "--by", "voxel"
    )
    assert process.returncode == 0, process.stderr
    assert "DD X-ray Chest" in process.stdout
    assert "a is right more often than b" in process.stdout
    assert "It says nothing about other data" in process.stdout


def test_programs_get_one_object(scored_run, compare_command):
    a, b = scored_run("a", range(40)), scored_run("b", range(20))
    process = compare_command(str(a), str(b), "--json")
    assert json.loads(process.stdout) == compare_two(a, b)


def test_the_command_says_why_it_refuses(scored_run, compare_command):
    a, b = scored_run("a", range(40)), scored_run("b", range(40), n=39, release="other")
    process = compare_command(str(a), str(b))
    assert process.returncode == 2
    assert "different releases" in process.stderr
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("p", "interval", "verdict"),
    [
        (0.01, (0.1, 0.3), "first"),
        (0.01, (-0.3, -0.1), "second"),
        (0.01, (-0.1, 0.3), "unclear"),
        (0.01, (0.0, 0.3), "unclear"),
        (0.01, (-0.3, 0.0), "unclear"),
        (0.01, None, "unclear"),
        (0.05, (0.1, 0.3), "unclear"),
        (None, (0.1, 0.3), "unclear"),
    ],
)
def test_a_verdict_needs_an_interval_on_one_side_of_zero(p, interval, verdict):
    row = compare_runs._with_verdict({"p": p, "interval": interval}, "p")
    assert row == {"p": p, "interval": interval, "verdict": verdict}

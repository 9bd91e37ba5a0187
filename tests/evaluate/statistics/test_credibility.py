"""Credibility: upstream's numbers where they are defined, and what they leave out."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate.outcomes import AnswerOutcome
from medrcube.evaluate.score_files import upstream_row
from medrcube.evaluate.statistics.credibility import (
    credibility,
    cross_pairs,
    pair_metrics,
    upstream_credibility,
)
from medrcube.taxonomy import Task, cube_tasks

RIGHT, WRONG = True, False

HIGH, LOW, MID = Task("Disease Diagnosis"), Task("Modality Recognition"), Task("Organ Recognition")


@pytest.fixture
def quad(result):
    """Pictures with one high and one low question, as many as asked of each group."""

    def make(a=0, b=0, c=0, d=0, high=HIGH, low=LOW, **more):
        rows = []
        kinds = (
            [(True, True)] * a + [(False, True)] * b + [(False, False)] * c + [(True, False)] * d
        )
        for number, (is_high, is_low) in enumerate(kinds):
            picture = f"{high}-{low}-{number}"
            rows += [
                result(f"h{picture}", is_high, picture=picture, task=high, **more),
                result(f"l{picture}", is_low, picture=picture, task=low, **more),
            ]
        return rows

    return make


def main_row(results):
    return credibility(results)["view_counted"]["by_pair"]


def test_the_groups_and_values_are_upstreams(quad):
    row = main_row(quad(5, 2, 3, 1))
    assert row["groups"] == {"A": 5, "B": 2, "C": 3, "D": 1}
    assert row["luck_rate"]["value"] == pytest.approx(1 / 6)
    assert row["shortcut_probability"]["value"] == pytest.approx(1 / 4)
    assert row["rationality"]["value"] == pytest.approx(5 / 6)


@pytest.mark.parametrize(("pictures", "expected"), [(9, False), (10, True)])
def test_ten_pictures_are_enough_for_an_interval(quad, pictures, expected):
    row = main_row(quad(3, 2, 2, pictures - 7))
    assert (row["rationality"]["interval"] is not None) is expected
    assert row["rationality"]["value"] == pytest.approx(3 / (pictures - 4))


def test_every_high_question_meets_every_other_one_on_its_picture(result):
    rows = [result(f"h{i}", RIGHT, task=HIGH) for i in range(2)]
    rows += [result(f"l{i}", WRONG, task=task) for i, task in enumerate((LOW, MID, LOW))]
    rows.append(result("elsewhere", RIGHT, task=LOW, picture="p9"))
    assert main_row(rows)["groups"] == {"A": 0, "B": 0, "C": 0, "D": 6}


@pytest.mark.parametrize(
    ("counts", "undefined"),
    [
        ((0, 3, 2, 0), {"luck_rate", "rationality"}),
        ((3, 2, 0, 0), {"shortcut_probability", "grounding"}),
    ],
    ids=["never right on high", "never wrong on low"],
)
def test_what_is_undefined_stays_so(quad, counts, undefined):
    row = main_row(quad(*counts))
    names = ("luck_rate", "shortcut_probability", "rationality", "grounding")
    assert {name for name in names if row[name]["value"] is None} == undefined


def test_no_pair_leaves_everything_undefined(result):
    row = main_row([result("a", task=HIGH), result("b", task=LOW, picture="other")])
    assert row["pairs"] == 0
    assert row["rationality"] == {
        "value": None, "interval": None, "chance": None, "chance_corrected": None,
    }  # fmt: skip
    assert upstream_credibility([]).rationality is None


@pytest.mark.parametrize(
    "outcome", sorted(set(AnswerOutcome) - {AnswerOutcome.CORRECT, AnswerOutcome.WRONG})
)
def test_only_a_letter_is_perception_that_failed(quad, result, outcome):
    rows = [*quad(1, 1, 1, 1), result("h", RIGHT, task=HIGH, picture="x")]
    rows.append(result("l", outcome=outcome, task=LOW, picture="x"))
    summary = credibility(rows)
    assert summary["view_counted"]["by_pair"]["pairs"] == 4
    assert summary["items_left_out"] == {outcome.value: 1}


def test_a_lost_item_without_a_partner_is_not_counted(result):
    rows = [result("l", outcome=AnswerOutcome.FAILED, task=LOW)]
    assert credibility(rows)["items_left_out"] == {}


def test_both_readings_of_the_ignored_task_are_given(quad):
    rows = quad(1, 0, 0, 0) + quad(0, 0, 0, 1, low=Task("View Recognition"))
    summary = credibility(rows)
    assert summary["view_counted"]["by_pair"]["groups"]["D"] == 1
    assert summary["view_ignored"]["by_pair"]["groups"]["D"] == 0
    assert upstream_credibility(rows).groups == (1, 0, 0, 1)
    assert upstream_credibility(rows, ignore_view=True).groups == (1, 0, 0, 0)


def test_levels_and_task_pairs_add_up(quad):
    rows = quad(2, 1, 1, 1) + quad(1, 1, 0, 2, low=MID) + quad(1, high=Task("Severity Grading"))
    summary = credibility(rows)
    levels = summary["view_counted"]["by_level"]
    assert {name: row["pairs"] for name, row in levels.items()} == {"low": 6, "mid": 4}
    assert [(row["high"], row["low"], row["pairs"]) for row in summary["by_task_pair"]] == [
        (HIGH, LOW, 5),
        (HIGH, MID, 4),
        ("Severity Grading", LOW, 1),
    ]


def test_weighed_by_picture_five_low_questions_count_once(result):
    rows = [result("h0", RIGHT, task=HIGH), result("h1", RIGHT, task=HIGH, picture="p1")]
    rows += [result(f"l{i}", WRONG, task=LOW) for i in range(5)]
    rows.append(result("m", RIGHT, task=LOW, picture="p1"))
    view_counted = credibility(rows)["view_counted"]
    assert view_counted["by_pair"]["luck_rate"]["value"] == pytest.approx(5 / 6)
    assert view_counted["by_image"]["luck_rate"]["value"] == pytest.approx(1 / 2)


@pytest.fixture(scope="module")
def guesser(result):
    rng = np.random.default_rng(11)

    def guess(name, task, picture, count):
        right = bool(rng.random() < 1 / count)
        return result(name, right, task=task, picture=picture, count=count)

    rows = []
    for number in range(4000):
        picture = f"p{number}"
        rows.append(guess(f"h{number}", HIGH, picture, 2 + number % 3))
        rows.append(guess(f"l{number}", LOW, picture, 4 - number % 2))
    return rows


@pytest.mark.parametrize("name", ["shortcut_probability", "rationality"])
def test_a_guesser_gets_what_chance_says_and_no_more(guesser, name):
    value = main_row(guesser)[name]
    assert value["value"] == pytest.approx(value["chance"], abs=0.03)
    assert value["chance_corrected"] == pytest.approx(0, abs=0.04)
    assert value["interval"][0] < value["chance"] < value["interval"][1]


def test_a_guesser_has_all_the_luck_of_a_guesser(guesser):
    assert main_row(guesser)["luck_rate"]["chance_corrected"] == pytest.approx(1, abs=0.04)


def test_four_options_give_a_guesser_a_quarter(quad):
    row = main_row(quad(2, 1, 3, 1))
    assert row["shortcut_probability"]["chance"] == pytest.approx(0.25)
    assert row["rationality"]["chance"] == pytest.approx(0.25)
    assert row["luck_rate"]["chance"] == pytest.approx(0.75)


def test_without_a_link_grounding_is_nought_and_the_shortcut_is_the_accuracy(quad):
    row = main_row(quad(48, 12, 8, 32))
    assert row["grounding"]["value"] == pytest.approx(0)
    assert row["shortcut_probability"]["value"] == pytest.approx(0.8)
    assert row["independent_shortcut"] == pytest.approx(0.8)


def test_many_pairs_of_one_picture_widen_the_interval(result):
    def rows(each):
        return [
            result(f"{kind}{i}-{j}", right, task=task, picture=f"p{i}")
            for i in range(40)
            for j in range(each)
            for kind, task, right in (("h", HIGH, i % 2 == 0), ("l", LOW, i % 4 < 2))
        ]

    once, often = main_row(rows(1)), main_row(rows(3))
    assert often["pairs"] == 9 * once["pairs"]
    assert often["luck_rate"]["interval"] == pytest.approx(once["luck_rate"]["interval"], abs=0.06)


def test_few_pictures_have_no_interval(quad):
    assert main_row(quad(2, 2, 2, 2))["luck_rate"]["interval"] is None
    assert main_row(quad(3, 3, 3, 3))["luck_rate"]["interval"] is not None


def test_images_of_two_pairs_are_counted_once(quad):
    pairs, _ = cross_pairs(quad(3, 1, 1, 1))
    assert pair_metrics(pairs + pairs)["images"] == 6


@pytest.fixture(scope="session")
def script():
    folder = os.environ.get("MEDRCUBE_UPSTREAM")
    path = Path(folder or "", "scripts", "shortcut_analysis.py")
    if not folder or not path.exists():
        pytest.skip("MEDRCUBE_UPSTREAM names no checkout of the published evaluator")
    return path


@pytest.fixture(scope="session")
def upstream(script):
    spec = importlib.util.spec_from_file_location("upstream_shortcut_analysis", script)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.compute_shortcut_metrics


def records(results):
    """What stands in ``results.json`` of a run."""
    answers = [
        r
        for r in results
        if r.outcome not in (AnswerOutcome.MISSING_IMAGE, AnswerOutcome.NOT_ASKED)
    ]
    return json.loads(json.dumps([upstream_row(r) for r in answers]))


def assert_equal(ours, theirs):
    a, b, c, d = ours.groups
    assert (a, b, c, d) == (theirs.Group_A, theirs.Group_B, theirs.Group_C, theirs.Group_D)
    assert (ours.shortcut_probability or 0.0) == theirs.Shortcut_Prob
    assert (ours.luck_rate or 0.0) == theirs.Luck_Rate
    # Undefined is printed as 1.0 by upstream, and as 0.0 where there is no pair at all.
    undefined = 1.0 if sum(ours.groups) else 0.0
    assert (undefined if ours.rationality is None else ours.rationality) == theirs.Rationality


@st.composite
def any_results(draw, result):
    def draw_result(index):
        return result(
            draw(st.sampled_from(["x", "y", f"q{index}"])),
            outcome=draw(st.sampled_from(list(AnswerOutcome))),
            dataset=draw(st.sampled_from(["ALPHA", "BETA"])),
            picture=draw(st.sampled_from(["p0", "p1", "p2", None])),
            task=draw(st.sampled_from(cube_tasks())),
        )

    return [draw_result(index) for index in range(draw(st.integers(0, 14)))]


@given(data=st.data(), ignore=st.booleans())
def test_any_results_give_what_upstreams_script_gives(result, upstream, data, ignore):
    results = data.draw(any_results(result))
    ignored = {"View Recognition", "Report Generation"} if ignore else None
    theirs = upstream(records(results), ignore_tasks=ignored)
    assert_equal(upstream_credibility(results, ignore_view=ignore), theirs)


@given(data=st.data())
def test_where_all_replies_give_letters_ours_are_upstreams(result, upstream, data):
    outcomes = data.draw(any_results(result))
    results = [
        result(
            f"u{i}",
            r.outcome is AnswerOutcome.CORRECT,
            task=r.item.task,
            picture=r.question.subject,
        )
        for i, r in enumerate(outcomes)
    ]
    theirs = upstream(records(results))
    groups = main_row(results)["groups"]
    assert list(groups.values()) == [
        theirs.Group_A, theirs.Group_B, theirs.Group_C, theirs.Group_D,
    ]  # fmt: skip


def test_the_command_line_of_upstream_agrees(script, quad, tmp_path):
    results = quad(5, 2, 3, 1) + quad(1, 1, 1, 1, low=Task("View Recognition"))
    (tmp_path / "results.json").write_text(json.dumps(records(results)))
    process = subprocess.run(
        [sys.executable, str(script), "--results", str(tmp_path / "results.json")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    printed = json.loads(process.stdout)
    ours = upstream_credibility(results)
    assert [printed[f"Group_{name}"] for name in "ABCD"] == list(ours.groups)
    assert printed["Luck_Rate"] == ours.luck_rate
    assert printed["Shortcut_Prob"] == ours.shortcut_probability
    assert printed["Rationality"] == ours.rationality

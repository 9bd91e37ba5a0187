"""The published rule beside ours, and equal to the published evaluator where that is at hand."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import types
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from medrcube.evaluate.answer_parsing.published_rule import (
    NO_REPLY,
    upstream_correct,
    upstream_letter,
    upstream_scores,
    upstream_truth,
)
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.questions.conditions import Condition, Presentation
from medrcube.evaluate.reply_outcomes import score_reply
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.runner.run_folder import AskedQuestion


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("A chest X-ray. The answer is B", "A"),
        ("I'd say B", "D"),
        ("Not A; C", "A"),
        ("<think>A</think>C", "A"),
        ("vitamin d, so B", "D"),
        ("答案是C", ""),
        ("option_B", ""),
        ("C7", ""),
        ("Mass", ""),
        ("E", ""),
        ("", ""),
        (None, ""),
        (NO_REPLY, ""),
    ],
)
def test_the_first_lone_letter_of_the_raised_reply_counts(reply, letter):
    assert upstream_letter(reply) == letter


def test_a_truth_that_is_no_option_is_met_by_silence():
    truth = upstream_truth([("A", "Mass"), ("B", None)], "Edema")
    assert truth == ""
    assert upstream_correct(NO_REPLY, truth)
    assert not upstream_correct("A", truth)


def test_of_two_options_with_one_text_the_last_is_the_truth():
    assert upstream_truth([("A", "Mass"), ("B", "Mass"), ("C", "Edema")], "Mass") == "B"


@pytest.fixture
def results(load, row, question_of):
    texts = ["A", "A mass. B", "C", "答案是D", None, "A or B", "E. D"]
    items = load(*(row(number) for number in range(7))).items
    return [
        score_reply(
            question_of(item), None if text is None else {"text": text, "finish_reason": "stop"}
        )
        for item, text in zip(items, texts, strict=True)
    ]  # keys A B C D A B C


@pytest.fixture
def question_of():
    def make(item, key="k"):
        presentation = Presentation(item=item, condition=Condition.FULL, image=item.image)
        return AskedQuestion(presentation=presentation, subject="0", image_sha256="0", key=key)

    return make


def test_both_accuracies_stand_beside_each_other(results, load, row, question_of):
    reply = {"text": "Nothing to see", "finish_reason": "stop"}
    more = [
        score_reply(question_of(item), reply)
        for item in load(*(row(n) for n in range(7, 20))).items
    ]
    scores = upstream_scores([*results, *more])
    assert scores["global"] == {
        "n": 20,
        "correct": 2,
        "accuracy": pytest.approx(2 / 20),
        "ours": pytest.approx(4 / 20),
        "difference": pytest.approx(-2 / 20),
    }
    assert scores["by_task"]["Disease Diagnosis"] == scores["global"]


def test_of_an_incomplete_run_both_accuracies_are_bounds(results):
    scores = upstream_scores(results)
    assert scores["global"] == {
        "n": 7,
        "correct": 2,
        "accuracy": None,
        "ours": None,
        "difference": None,
        "bounds": [pytest.approx(2 / 7), pytest.approx(3 / 7)],
        "ours_bounds": [pytest.approx(4 / 7), pytest.approx(5 / 7)],
    }
    assert scores["by_task"]["Disease Diagnosis"] == scores["global"]


def test_items_that_are_read_differently_are_counted_by_kind(results):
    assert upstream_scores(results)["disagreements"] == {
        "items": 4,
        "kinds": {
            "other-letter": 1,
            "letter-of-no-option": 0,
            "abstained-here": 2,
            "abstained-there": 1,
        },
        "only_published": 0,
        "only_ours": 2,
        "failed_counted_wrong": 1,
    }


def test_a_letter_of_no_option_is_a_kind_of_its_own(load, row, question_of):
    item = load(row(0, option_C=None, option_D=None)).items[0]
    result = score_reply(question_of(item), {"text": "The answer is D", "finish_reason": "stop"})
    assert upstream_scores([result])["disagreements"]["kinds"]["letter-of-no-option"] == 1


def test_an_item_without_picture_is_not_in_the_published_denominator(load, row, question_of):
    item = load(row(0)).items[0]
    assert upstream_scores([score_reply(question_of(item, key=None), None)])["global"]["n"] == 0


@pytest.fixture(scope="module")
def published():
    folder = os.environ.get("MEDRCUBE_UPSTREAM")
    path = Path(folder or "") / "scripts" / "eval.py"
    if not folder or not path.is_file():
        pytest.skip("MEDRCUBE_UPSTREAM names no checkout of the published evaluator")
    standing = {name: sys.modules.get(name) for name in ("models", "tqdm")}
    sys.modules["models"] = types.SimpleNamespace(ModelAdapter=object, SampleMessage=dict)
    sys.modules["tqdm"] = types.SimpleNamespace(tqdm=lambda entry, **_: entry)
    try:
        spec = importlib.util.spec_from_file_location("published_eval", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for name, module_before in standing.items():
            if module_before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module_before
    return module.MedRCubeEvaluator


PIECES = st.lists(
    st.sampled_from(
        ["A", "b", "C.", "d", "I'd", "_", "7", "答案", "ß", "ǆ", "\u0301", "é", "-", " "]
    )
    | st.characters(),
    max_size=20,
).map("".join)


@pytest.mark.thorough
@settings(max_examples=1000, deadline=None)
@given(reply=PIECES | st.text() | st.none() | st.integers(), truth=st.sampled_from(["", *"ABCD"]))
@example(reply="ŉA", truth="A")
@example(reply="A\u0301", truth="A")
@example(reply="\uff21", truth="A")
def test_the_rule_equals_the_published_one(published, reply, truth):
    assert upstream_correct(reply, truth) == published._judge(reply, truth)


@given(
    texts=st.lists(st.sampled_from(["Mass", "Edema", "", None]), min_size=1, max_size=4),
    answer=st.sampled_from(["Mass", "Edema", "Cyst"]),
)
def test_the_truth_equals_the_published_one(published, texts, answer):
    options = list(zip("ABCD", texts, strict=False))
    item = {"question": "?", "gt_answer": answer, **{f"option_{k}": v for k, v in options}}
    theirs = published._build_prompt(item).get("_gt_letter", "")
    assert upstream_truth(options, answer) == theirs


def test_the_corpus_is_judged_as_published(published):
    for name in ("replies.jsonl", "replies_fresh.jsonl"):
        for line in Path(__file__).with_name(name).read_text("utf-8").split("\n"):
            if line:
                reply = json.loads(line)["reply"]
                for truth in "ABCD":
                    assert upstream_correct(reply, truth) == published._judge(reply, truth)


def test_the_metrics_of_a_run_hold_the_published_accuracy(benchmark, tmp_path):
    run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "run")
    upstream = json.loads((tmp_path / "run/metrics.json").read_text())["upstream"]
    assert upstream["global"]["accuracy"] == upstream["global"]["ours"] == 0.25
    assert upstream["disagreements"]["items"] == 0

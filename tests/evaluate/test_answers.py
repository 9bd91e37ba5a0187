"""Extraction: right or silent, never wrong; ``replies.jsonl`` holds the adversarial replies."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medrcube.evaluate.answers import extract
from medrcube.evaluate.refusals import is_refusal
from medrcube.evaluate.reasoning import strip_reasoning

OPTIONS = (("A", "Normal"), ("B", "Mass"), ("C", "Edema"), ("D", "Fracture"))
CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("replies.jsonl").read_text("utf-8").split("\n")
    if line
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}: {case['reply'][:40]!r}")
def test_a_reply_gives_the_letter_that_it_means_or_none(case):
    assert extract(case["reply"], OPTIONS).letter == case["answer"]


@pytest.mark.parametrize("reply", ["C", "Answer: C", "The answer is D.", "C. Edema", "(D)"])
def test_a_letter_without_an_option_is_no_answer(reply):
    assert extract(reply, OPTIONS[:2]).letter is None


@pytest.mark.parametrize(
    ("options", "reply", "letter"),
    [
        ([("A", "Malignant"), ("B", "Benign"), ("C", "Undetermined")], "Undetermined", "C"),
        ([("A", "Mass"), ("B", "Calcified mass")], "The image shows a calcified mass.", "B"),
        ([("A", "Mass"), ("B", "Calcified mass")], "The image shows a mass.", "A"),
        ([("A", "Hepatitis B"), ("B", "Hepatitis C")], "The answer is hepatitis B.", "A"),
        ([("A", "No finding"), ("B", "Finding")], "No finding", "A"),
        ([("A", "None of the above"), ("B", "Mass")], "Answer: none of the above", "A"),
        ([("A", "Yes"), ("B", "No")], "No, there is no fracture.", "B"),
        ([("A", "Yes"), ("B", "No")], "Yes.", "A"),
        ([("A", "0"), ("B", "1"), ("C", "2")], "2", "C"),
        ([("A", "0"), ("B", "1"), ("C", "2")], "There are 2 lesions.", None),
        ([("A", "T1-weighted"), ("B", "T2-weighted")], "T2-weighted", "B"),
        ([("A", "T1"), ("B", "T1ce"), ("C", "FLAIR")], "This is T1ce.", "B"),
        ([("A", "X-ray"), ("B", "CT"), ("C", "MRI")], "This is an MRI of the brain.", "C"),
        ([("A", "Left lung"), ("B", "Right lung")], "It lies in the left lung.", "A"),
        ([("A", "水肿"), ("B", "骨折")], "图像显示骨折。", "B"),
        ([("A", "Glioma (grade II)"), ("B", "Glioma")], "Glioma (grade II)", "A"),
        ([("A", "C"), ("B", "D")], "B", "B"),
    ],
)
def test_the_texts_of_the_items_own_options_decide(options, reply, letter):
    assert extract(reply, options).letter == letter


@pytest.mark.parametrize(
    ("reply", "rule"),
    [
        ("B", "bare-letter"),
        ("The answer is B", "declared"),
        ('{"answer": "B"}', "json"),
        ("\\boxed{B}", "boxed"),
        ("There is a mass.", "option-text"),
        ("A or B", "left-open"),
        ("", "empty"),
        ("<think>B", "unclosed-reasoning"),
    ],
)
def test_the_rule_that_fired_is_named(reply, rule):
    assert extract(reply, OPTIONS).rule == rule


@given(st.text(max_size=200))
def test_any_text_gives_one_of_the_own_letters_or_none(reply):
    assert extract(reply, OPTIONS[:3]).letter in {"A", "B", "C", None}


WORDS = st.sampled_from(
    [
        "A",
        "B",
        "C",
        "D",
        "E",
        "a",
        "the",
        "answer",
        "is",
        "not",
        "or",
        "and",
        ",",
        ".",
        "\n",
        "Answer:",
        "(",
        ")",
        "Mass",
        "edema",
        "normal",
        "because",
        "if",
        "I",
        "option",
        "**",
        "\\boxed{",
        "}",
        "{",
        '"',
        "think",
        "</think>",
        "correct",
        "no",
        "答案",
        "是",
        "选",
        "wait,",
        "actually",
        "it's",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, max_size=25).map(" ".join))
def test_odd_wording_never_breaks_the_reader(reply):
    assert extract(reply, OPTIONS).letter in {"A", "B", "C", "D", None}


@given(st.sampled_from("ABCD"), st.text("abcdefgh ,.", max_size=60))
def test_thinking_never_decides(letter, thought):
    reply = f"<think>The answer is A. {thought} I choose B.</think>The answer is {letter}."
    assert extract(reply, OPTIONS).letter == letter


@pytest.mark.parametrize("options", [OPTIONS, tuple(zip("ABCD", "wxyz", strict=True))])
@pytest.mark.parametrize("letter", "ABCD")
def test_every_letter_is_read_alike(options, letter):
    for form in ("{}", "({})", "**{}**", "Answer: {}", "The answer is {}.", "{} is correct."):
        assert extract(form.format(letter), options).letter == letter


@pytest.mark.parametrize(
    "piece", ["(", "A ", "\\boxed{", "<think>", "{", "option A ", "not ", "答案", "A, ", "<answer>"]
)
def test_a_model_that_loops_does_not_hold_up_scoring(piece):
    started = time.perf_counter()
    extract(piece * (40_000 // len(piece)), OPTIONS)
    assert time.perf_counter() - started < 5


def test_a_closing_tag_alone_ends_the_thinking():
    assert strip_reasoning("The answer is A.</think> B") == ("B", True)


def test_text_before_the_thinking_is_kept():
    assert strip_reasoning("Answer: B <think>hm</think>").text.startswith("Answer: B")


@pytest.mark.parametrize(
    "reply",
    ["I'm sorry, I can't assist with that.", "I cannot diagnose images.", "抱歉,我无法回答。"],
)
def test_a_refusal_is_told_apart(reply):
    assert is_refusal(reply)


def test_an_undecided_reply_is_no_refusal():
    assert not is_refusal("A and B are both possible.")

"""Truncated replies: a letter counts only where no continuation could take it back."""

from __future__ import annotations

import pytest

from medrcube.evaluate.answer_parsing.truncated_replies import extract_truncated

OPTIONS = (("A", "Normal"), ("B", "Mass"), ("C", "Edema"), ("D", "Fracture"))


@pytest.mark.parametrize(
    ("reply", "letter", "rule"),
    [
        ("The answer is B. The opacity is", "B", "declared"),
        ("The answer is \\boxed{C} because the", "C", "boxed"),
        ('{"answer": "D"} The line', "D", "json"),
        ("B\nThe opacity has a clear", "B", "bare-letter"),
        ("The answer is B. The opacity is round and", "B", "declared"),
        ("<think>A, or perhaps C.</think>The answer is B. The opacity", "B", "declared"),
    ],
)
def test_an_outright_answer_before_the_end_counts(reply, letter, rule):
    answer = extract_truncated(reply, OPTIONS)
    assert answer.letter == letter
    assert answer.rule in {rule, "leading-letter", "own-line"}


@pytest.mark.parametrize(
    "reply",
    [
        "The answer is B",
        "The answer is B or",
        "The answer is B or ",
        "The answer is B,",
        "Answer: B /",
        "The image shows a mass and",
        "There is no fracture in this",
        "<think>The answer is B. The",
        "<think>The answer is B.</think>",
        "",
    ],
)
def test_what_the_next_words_may_change_is_no_answer(reply):
    answer = extract_truncated(reply, OPTIONS)
    assert (answer.letter, answer.rule) == (None, "finish-reason")

"""Which rule decides a reply, and that the reasoning of a channel without an answer stays open."""

from __future__ import annotations

import pytest

from medrcube.evaluate.answer_parsing import extract
from medrcube.evaluate.answer_parsing.thinking_blocks import strip_reasoning

FINDINGS = ("Normal", "Mass", "Edema", "Fracture")
HIPS = ("Femoral neck fracture", "Femoral neck", "Tibia", "Patella")
NEGATED = ("No fracture", "Mass", "Edema", "Normal")


@pytest.mark.parametrize(
    ("reply", "options", "parsed"),
    [
        ("A. Normal\nAnswer: B. Mass\nC. Edema\nD. Fracture", FINDINGS, ("B", "declared")),
        ('{"A": false, "B": true, "C": false, "D": false}', FINDINGS, ("B", "json")),
        ('{"present": true}\nB', FINDINGS, ("B", "own-line")),
        ("Fracture", HIPS, ("A", "whole-text")),
        ("Fracture", NEGATED, (None, "no-answer-found")),
        ("Chest", ("Chest CT", "CT", "MRI", "X-ray"), (None, "no-answer-found")),
        ("Mass lesion is seen.", FINDINGS, ("B", "option-text")),
        ("A is plausible. C is plausible. B is correct.", FINDINGS, ("B", "verdict")),
        ("The answer is either A or B. Probably B.", FINDINGS, ("B", "hint")),
        ("A mass lesion (B).", FINDINGS, ("B", "letter-and-text")),
        ("B or (C) is correct", FINDINGS, ("C", "verdict")),
        ("F. Mass", FINDINGS, (None, "left-open")),
        ("B or F", FINDINGS, (None, "left-open")),
        (
            "A. Normal is what this shows, since everything is clear, and B. Mass is not.",
            FINDINGS,
            ("A", "leading-letter"),
        ),
        ("A rounded opacity is seen. B", FINDINGS, ("B", "last-sentence")),
    ],
)
def test_a_reply_is_decided_by_the_strongest_rule_that_applies(reply, options, parsed):
    assert extract(reply, tuple(zip("ABCD", options, strict=True))) == parsed


@pytest.mark.parametrize(
    "reply",
    [
        "<|channel|>analysis<|message|>The mass is round.",
        "analysisThe mass is round.",
    ],
)
def test_a_channel_that_never_reaches_its_answer_is_not_closed(reply):
    assert strip_reasoning(reply) == ("", False)

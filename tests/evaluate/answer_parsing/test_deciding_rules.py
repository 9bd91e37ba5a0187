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


def test_an_ordinal_written_with_a_dotless_i_names_its_option():
    options = tuple(zip("ABCD", FINDINGS, strict=True))
    assert extract("The f\u0131rst option is correct.", options) == ("A", "verdict")


@pytest.mark.parametrize(
    ("reply", "parsed"),
    [
        ("Answer: A. Wa\u0131t, C.", ("C", "revised")),
        ("Answer: A. WAIT, C.", ("C", "revised")),
        ("Just B remains.", ("B", "singled-out")),
        ("All options except B are incorrect.", ("B", "singled-out")),
        ("\u9664A\u4ee5\u5916\u5747\u4e0d\u5bf9", ("A", "singled-out")),
        ("B > A > C", ("B", "ranked")),
        ("Ranking: B, A, C", ("B", "ranked")),
        ("It can't be anything other than edema.", ("C", "hint")),
    ],
)
def test_a_rule_applies_wherever_its_words_occur(reply, parsed):
    assert extract(reply, tuple(zip("ABCD", FINDINGS, strict=True))) == parsed

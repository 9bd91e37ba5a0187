"""The corpora of replies: right or silent, never a wrong letter, never an invented one.

``replies.jsonl`` grew with the rules. ``replies_fresh.jsonl`` was written in five parts, each
measured once before anything was mended for it: 84, 89, 91, 88 and 92 % right. A line may bring
options of its own; ``null`` is the answer of a reply that gives none.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from medrcube.evaluate.answers import extract

FINDINGS = ["Normal", "Mass", "Edema", "Fracture"]
FILES = ("replies.jsonl", "replies_fresh.jsonl")
ENOUGH = 0.97


def read(name):
    lines = Path(__file__).with_name(name).read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def options_of(case):
    return tuple(zip("ABCD", case.get("options", FINDINGS), strict=False))


def letter(case):
    return extract(case["reply"], options_of(case)).letter


CASES = [case for name in FILES for case in read(name)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['kind']}: {case['reply'][:40]!r}")
def test_a_reply_gives_the_letter_that_it_means_or_none(case):
    assert letter(case) in {case["answer"], None}


@pytest.mark.parametrize("name", FILES)
def test_nearly_every_reply_is_read(name):
    cases = read(name)
    right = sum(letter(case) == case["answer"] for case in cases)
    assert right / len(cases) >= ENOUGH


def test_the_corpora_are_large_and_repeat_no_reply():
    keys = Counter((case["reply"], str(case.get("options"))) for case in CASES)
    assert len(CASES) > 1500
    assert max(keys.values()) == 1


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("B", "B"),
        ("(B)", "B"),
        ("**B. Mass**", "B"),
        ("The correct answer is **B**.", "B"),
        ("ANSWER: $B$", "B"),
        ("\\boxed{B}", "B"),
        ("Mass", "B"),
        ("A chest X-ray shows a rounded opacity. The answer is B", "B"),
        ("I'd say option B is most likely.", "B"),
        ("Not A; the correct one is C", "C"),
        ("<think>Maybe A or B. A looks plausible.</think>C", "C"),
        ("Considering vitamin D deficiency, the answer is A", "A"),
        ("答案是C", "C"),
        ("C\n\nThe image shows a diffuse pattern.", "C"),
        ("Answer: A\nActually, on review, the answer is B", "B"),
        ('{"answer": "D"}', "D"),
        ("I'm sorry, I can't assist with that.", None),
        ("A and B are both possible.", None),
    ],
)
def test_the_examples_that_were_asked_for_are_right(reply, expected):
    assert extract(reply, tuple(zip("ABCD", FINDINGS, strict=True))).letter == expected

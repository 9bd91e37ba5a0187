"""The corpora of replies: right or silent, never a wrong letter, never an invented one.

``replies.jsonl`` grew with the rules. ``replies_fresh.jsonl`` was written in five parts, each
measured once before anything was mended for it: 84, 89, 91, 88 and 92 % right.
``replies_unseen.jsonl`` came later, longer and over two to six options, in four parts measured
the same way: 90, 84, 90 and 78 % right, with 2, 1, 1 and 2 wrong letters and 4, 6, 4 and 2 that
were invented. ``replies_blind.jsonl`` came last, measured the same way: a fair set, 98 % right; a
hard one, 82 %, with 2 wrong letters and 7 that were invented; two that are half fair and half hard,
91 and 85 %, with 2 and 1 wrong letters, 1 and 3 invented; two fair ones, 92 and 93 %.

A line may bring options of its own; ``null`` is the answer of a reply that gives none. ``missed``
marks the replies from which no letter is parsed although they give one: a change of the rules that
reads one of them takes its mark away, and no change may lose another reply.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from medrcube.evaluate.answer_parsing import extract

FINDINGS = ["Normal", "Mass", "Edema", "Fracture"]
FILES = ("replies.jsonl", "replies_fresh.jsonl", "replies_unseen.jsonl", "replies_blind.jsonl")
ENOUGH = 0.97

RULES = {
    "replies.jsonl": {
        "bare-letter": 75,
        "boxed": 33,
        "contradiction": 7,
        "declared": 323,
        "doubtful": 10,
        "element": 12,
        "empty": 4,
        "hint": 78,
        "json": 33,
        "judged-list": 17,
        "last-sentence": 4,
        "leading-letter": 76,
        "left-open": 80,
        "letter-and-text": 5,
        "no-answer-found": 227,
        "option-text": 16,
        "own-line": 6,
        "ranked": 1,
        "revised": 10,
        "several-options": 4,
        "singled-out": 3,
        "standing-letter": 1,
        "unclosed-reasoning": 6,
        "verdict": 56,
        "whole-text": 118,
    },
    "replies_fresh.jsonl": {
        "bare-letter": 30,
        "boxed": 10,
        "contradiction": 8,
        "declared": 211,
        "doubtful": 18,
        "element": 11,
        "empty": 2,
        "hint": 97,
        "json": 14,
        "judged-list": 5,
        "last-sentence": 11,
        "leading-letter": 70,
        "left-open": 34,
        "letter-and-text": 9,
        "no-answer-found": 157,
        "option-text": 68,
        "own-line": 3,
        "ranked": 1,
        "revised": 4,
        "several-options": 12,
        "unclosed-reasoning": 4,
        "verdict": 40,
        "whole-text": 82,
    },
    "replies_unseen.jsonl": {
        "bare-letter": 53,
        "boxed": 15,
        "contradiction": 3,
        "declared": 233,
        "doubtful": 21,
        "element": 14,
        "empty": 2,
        "hint": 117,
        "json": 23,
        "judged-list": 14,
        "last-sentence": 12,
        "leading-letter": 89,
        "left-open": 55,
        "letter-and-text": 16,
        "no-answer-found": 206,
        "option-text": 136,
        "own-line": 4,
        "ranked": 2,
        "revised": 3,
        "several-options": 22,
        "standing-letter": 14,
        "unclosed-reasoning": 3,
        "verdict": 30,
        "whole-text": 134,
    },
    "replies_blind.jsonl": {
        "bare-letter": 45,
        "boxed": 18,
        "contradiction": 6,
        "declared": 254,
        "doubtful": 8,
        "element": 10,
        "empty": 1,
        "hint": 114,
        "json": 27,
        "judged-list": 11,
        "last-sentence": 13,
        "leading-letter": 103,
        "left-open": 36,
        "letter-and-text": 18,
        "no-answer-found": 174,
        "option-text": 100,
        "own-line": 9,
        "ranked": 3,
        "revised": 4,
        "several-options": 15,
        "singled-out": 2,
        "standing-letter": 7,
        "unclosed-reasoning": 10,
        "verdict": 26,
        "whole-text": 71,
    },
}
"""How many replies of each file each rule decides, or leaves without a letter for which reason."""


def read(name):
    lines = Path(__file__).with_name(name).read_text("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def options_of(case):
    return tuple(zip("ABCDEF", case.get("options", FINDINGS), strict=False))


def letter(case):
    return extract(case["reply"], options_of(case)).letter


def rules(name):
    return Counter(extract(case["reply"], options_of(case)).rule for case in CASES[name])


CASES = {name: read(name) for name in FILES}
KINDS = [(name, kind) for name in FILES for kind in dict.fromkeys(c["kind"] for c in CASES[name])]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_a_reply_gives_the_letter_that_it_means_or_none(name, kind):
    cases = [case for case in CASES[name] if case["kind"] == kind]
    read_as = {case["reply"]: (letter(case), case["answer"]) for case in cases}
    assert {r: pair for r, pair in read_as.items() if pair[0] not in {pair[1], None}} == {}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FILES)
def test_every_reply_is_read_but_for_the_known_few(name):
    missed = {case["reply"] for case in CASES[name] if letter(case) != case["answer"]}
    assert missed == {case["reply"] for case in CASES[name] if case.get("missed")}
    assert len(missed) / len(CASES[name]) <= 1 - ENOUGH


@pytest.mark.parametrize("name", FILES)
def test_each_rule_decides_as_many_replies_as_before(name):
    assert rules(name) == RULES[name]


def test_the_corpora_are_large_and_repeat_no_reply():
    every = [case for cases in CASES.values() for case in cases]
    keys = Counter((case["reply"], str(case.get("options"))) for case in every)
    assert len(every) > 3000
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

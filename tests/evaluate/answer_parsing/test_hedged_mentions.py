"""An answer that is asserted beside options that only seem right, or did so at first."""

from __future__ import annotations

import functools
from itertools import product

import pytest

from medrcube.evaluate.answer_parsing import extract

OPTIONS = tuple(zip("ABCD", ("Normal", "Mass", "Edema", "Fracture"), strict=True))
ASSERTIONS = (
    "B is the correct answer",
    "The answer is B",
    "The correct option is B",
    "Option B is correct",
    "My final answer is B",
    "I choose B",
    "B best describes the image",
    "B (mass) is the best answer",
    "So it must be B",
    "It is B",
)
HEDGES = (
    "A seems right",
    "A seems right and C seems right at first",
    "A looks correct initially",
    "A appears correct on a quick look",
    "Perhaps A is correct",
    "Option A seems plausible",
    "A looks like the answer at first glance",
    "It looks like normal at first",
    "A is correct, perhaps, in children",
    "Although A seems correct",
    "Even though A is right in many such cases",
    "A would be correct at first glance",
)
JOINS = (
    "{0}; {1}.",
    "{0}. {1}.",
    "{0}, {1}.",
    "{0} ({1}).",
    "{0}.\n\n{1}.",
    "{1}; {0}.",
    "{1}. {0}.",
)
MOST = 0.9


@functools.cache
def readings():
    replies = (join.format(*parts) for *parts, join in product(ASSERTIONS, HEDGES, JOINS))
    return {reply: extract(reply, OPTIONS).letter for reply in replies}


def test_an_option_that_only_seems_right_is_never_the_answer():
    assert {
        reply: letter for reply, letter in readings().items() if letter not in {"B", None}
    } == {}


def test_options_that_only_seem_right_hide_few_answers():
    letters = list(readings().values())
    assert letters.count("B") / len(letters) > MOST


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("A seems right and C seems right at first.", None),
        ("A seems right. C seems right.", None),
        ("A seems right.", "A"),
        ("The answer seems to be A.", "A"),
        ("B is correct. The answer seems to be A.", None),
        ("B is correct. A seems the best.", None),
        ("B is correct as I thought at first.", "B"),
        ("The answer is B at a confidence of 0.9.", "B"),
    ],
)
def test_what_only_seems_so_counts_if_nothing_else_is_said(reply, expected):
    assert extract(reply, OPTIONS).letter == expected


def test_a_bare_letter_counts_before_a_verdict_that_only_seems_so():
    assert extract("B\n\nA seems right too.", OPTIONS).letter == "B"


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Perhaps option B fits best, but A is correct.", "A"),
        ("Perhaps option B fits best. A seems best.", "A"),
        ("Although option B fits best, A seems correct.", None),
        ("While option B fits best, A appears more likely.", "A"),
        ("A is the best choice, even though option B fits best.", "A"),
    ],
)
def test_an_option_that_is_conceded_or_only_possible_is_never_the_answer(reply, letter):
    assert extract(reply, OPTIONS).letter == letter

"""Bounds of single reading rules: the reply just inside each, and the one just outside."""

from __future__ import annotations

import json

import pytest

from medrcube.evaluate.answer_parsing import extract

FINDINGS = ("Normal", "Mass", "Edema", "Fracture")
VIEWS = ("AP", "PA", "Lateral")
RETINA = ("No diabetic retinopathy", "Mild", "Severe")


def parsed(reply, options=FINDINGS):
    return extract(reply, tuple(zip("ABCDEF", options, strict=False)))


@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        ("F is correct.", (None, "left-open")),
        ("f is correct.", (None, "no-answer-found")),
        ("I is correct.", (None, "no-answer-found")),
        ("Only F fits.", (None, "no-answer-found")),
        ("Ranking: F, A", (None, "left-open")),
        ("The third option is correct.", ("C", "verdict")),
        ("The last option is correct.", ("D", "verdict")),
        ("The fifth option is correct.", (None, "no-answer-found")),
    ],
)
def test_a_letter_or_place_of_no_option_is_never_an_answer(reply, reading):
    assert parsed(reply) == reading


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("A. Normal: not clear, so this is incorrect.\nB. Mass: round, so this is correct.", "B"),
        (
            "A. Normal: so this is incorrect.\nB. Mass: so this is correct.\n\nSo that is wrong.",
            "B",
        ),
        ("A: no. B: yes. C: no, actually D is seen. D: no.", "B"),
        ("A\u00d7 B\u221a", "B"),
    ],
)
def test_the_verdicts_of_a_list_are_those_of_its_own_entries(reply, letter):
    assert parsed(reply) == (letter, "judged-list")


@pytest.mark.parametrize(
    ("reply", "options", "letter"),
    [
        ("T1", ("T-1", "T1"), "B"),
        ("t-1", ("T-1", "T1"), "A"),
        ("T 1", ("T-1", "T1"), None),
        ("fracture", ("No fracture", "No mass"), None),
        ("tumors", ("Brain tumor", "Mass"), None),
        ("consolidation, acute, left upper zone", ("Acute left upper zone consolidation", ""), "A"),
        (
            "consolidation, acute, left outer upper zone",
            ("Acute left upper outer zone consolidation", "Mass"),
            None,
        ),
        ("Acute ACL tear left knee", ("Acute anterior cruciate ligament tear left knee",), "A"),
        (
            "Acute complete ACL tear left knee",
            ("Acute complete anterior cruciate ligament tear left knee", "Mass"),
            None,
        ),
        ("5 sign", ("V sign", "Mass"), None),
        ("II lesions", ("2 lesions", "Mass"), None),
        ("Grade 11", ("Grade 1", "Grade 11"), "B"),
        ("A mass effusion is seen.", ("Pleural effusion", "Mass"), None),
        ("Mild diabetic retinopathy is seen.", RETINA, "B"),
        ("The view is PA.", VIEWS, "B"),
    ],
)
def test_words_of_another_form_order_or_number_count_within_bounds(reply, options, letter):
    assert parsed(reply, options).letter == letter


@pytest.mark.parametrize(("depth", "letter"), [(1, "B"), (3, "B"), (4, None)])
def test_answers_are_nested_at_most_three_times(depth, letter):
    reply = "B"
    for _ in range(depth):
        reply = json.dumps({"answer": reply})
    assert parsed(reply).letter == letter


@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        ("Answer: B (C)", (None, "left-open")),
        ("Answer: B (C is wrong)", ("B", "declared")),
        ("Answer: B (A large mass)", ("B", "declared")),
        ("Answer: (A) Mass", (None, "left-open")),
        ("The best option: A Normal, since all is clear.", ("A", "declared")),
        ("I choose a normal.", ("A", "declared")),
        ("The view is odd.\ne.g. B", (None, "no-answer-found")),
        ("Seen from above. B", ("B", "last-sentence")),
        ("Answer: B may be edema", ("B", "declared")),
        ("The image suggests B may be present", (None, "no-answer-found")),
    ],
)
def test_what_stands_beside_a_letter_decides_whether_it_is_meant(reply, reading):
    assert parsed(reply) == reading


@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        ("A or B\n\nB", ("B", "own-line")),
        ("Answer: A. Actually, B too.", (None, "revised")),
        ("Answer: A. Wait, also B.", ("B", "revised")),
        ("B. It is most consistent with edema.", (None, "contradiction")),
        ("At first glance, a mass; edema is seen.", ("C", "option-text")),
        ("At first glance it is a mass. Edema is seen.", ("C", "option-text")),
        ("Although B is correct, A is correct.", ("A", "verdict")),
    ],
)
def test_the_later_or_firmer_statement_decides(reply, reading):
    assert parsed(reply) == reading


@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        ("<think>A</think>B<think>C</think>", ("B", "bare-letter")),
        ("<think>A<think>B</think>C", ("C", "bare-letter")),
        ("A<think>B</think>C", (None, "contradiction")),
        ("analysisIt is round.assistantfinalB", ("B", "bare-letter")),
    ],
)
def test_text_outside_all_thinking_is_read(reply, reading):
    assert parsed(reply) == reading


def test_an_article_before_the_first_text_may_be_its_letter():
    assert parsed("A mass is seen.", ("Mass", "Edema")) == ("A", "leading-letter")

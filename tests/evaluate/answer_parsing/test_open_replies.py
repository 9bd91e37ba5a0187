"""Replies to questions without options: what they mean, or nothing; never another answer."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from open_reply_examples import ASKS, REPLIES

from medrcube.evaluate.answer_parsing.open_forms.open_replies import (
    READERS,
    read_open_reply,
    read_truncated_open_reply,
)
from medrcube.forms import OPEN_FORMS
from medrcube.forms.order import OrderAsk

CASES = [(group, reply, meaning) for group in REPLIES for reply, meaning in REPLIES[group]]
ANSWERED = [case for case in CASES if case[2] is not None]
MANY = 40

anything = st.text(max_size=200) | st.lists(
    st.sampled_from(
        [
            *("23", "mm", "cm", "-", "to", "(", ")", "[", "]", ",", ".", "x", "y", "=", ":", "%"),
            *("yes", "no", "1.", "2.", "Panel A", "Panel B", "Panel C", "Answer:", "\n", "{", "}"),
            *(
                '"answer"',
                "\\boxed{",
                "<think>",
                "</think>",
                "\u00b1",
                "\u00d7",
                "^",
                "10",
                "e",
                "\u00b2",
            ),
        ]
    ),
    max_size=30,
).map(" ".join)
wrappings = st.sampled_from(["{}", "**{}**", "`{}`", "_{}_", "  {}\n", "<b>{}</b>", "# {}"])


@pytest.mark.parametrize(("group", "reply", "meaning"), CASES)
def test_a_reply_is_read_as_it_is_meant(group, reply, meaning):
    answer = read_open_reply(reply, ASKS[group]).answer
    assert answer == (
        pytest.approx(meaning)
        if group in {"number", "percent", "ratio", "volume"} and meaning
        else meaning
    )


@pytest.mark.parametrize(
    ("group", "reply", "reason"),
    [
        ("number", "20-25 mm", "range"),
        ("number", "more than 20 mm", "bound"),
        ("number", "23/20", "fraction"),
        ("number", "23 x 18 mm", "dimensions"),
        ("number", "23 ml", "other-unit"),
        ("number", "230 pixels", "other-unit"),
        ("number", "35 mmHg", "other-unit"),
        ("number", "-40 HU", "other-unit"),
        ("number", "5 kg", "other-unit"),
        ("number", "2 hours", "other-unit"),
        ("number", "1" * 40, "no-answer-found"),
        ("number", "23 mm (23 cm)", "contradiction"),
        ("number", "23 mm, then 32 mm", "several-numbers"),
        ("number", "I'm sorry, I can't measure this image.", "refusal"),
        ("number", "<think>23 mm", "unclosed-reasoning"),
        ("point", "[1, 2, 3, 4]", "a-box"),
        ("box", "(200, 300)", "a-point"),
        ("order", "Panel B > Panel A > Panel C", "comparison-sign"),
        ("order", "Panel A comes after Panel B and before Panel C", "relation"),
        ("order", "Panel C is the last, Panel A first, Panel B second", "relation"),
        ("box", "centre (200, 300), size (100, 80)", "centre-and-size"),
        ("pair", "yes", "one-answer"),
        ("pair", "not true, false", "one-answer"),
        ("pair", "It isn't true, but yes", "one-answer"),
        ("pair", "It is not the case that both are true.", "negated"),
        ("pair", "1. yes, 1. no, 2. no", "contradiction"),
    ],
)
def test_a_reply_without_an_answer_has_its_reason(group, reply, reason):
    assert read_open_reply(reply, ASKS[group]) == (None, reason)


@pytest.mark.parametrize(
    ("group", "reply", "meaning"),
    [
        ("number", "23 m\u0131ll\u0131meters", 23),
        ("number", "2.3 CENT\u0130METERS", 23),
        (
            "phases",
            "arter\u0131al, portal venous, delayed",
            ["arterial", "portal venous", "delayed"],
        ),
        ("number", "230 pixels = 23 mm", 23),
        ("order", "Panel B, then Panel A, last Panel C", ["Panel B", "Panel A", "Panel C"]),
        ("order", "Panel B is followed by Panel A, Panel C", ["Panel B", "Panel A", "Panel C"]),
    ],
)
def test_letters_relations_and_foreign_units_do_not_end_the_reading(group, reply, meaning):
    assert read_open_reply(reply, ASKS[group]).answer == meaning


def test_a_label_may_hold_a_comparison_sign():
    ask = OrderAsk(labels=("EF > 50 %", "EF < 40 %"))
    assert read_open_reply("EF < 40 %, EF > 50 %", ask).answer == ["EF < 40 %", "EF > 50 %"]
    assert read_open_reply("EF < 40 % < EF > 50 %", ask) == (None, "comparison-sign")


@pytest.mark.parametrize("group", ["number", "box", "order", "pair"])
@pytest.mark.parametrize("loop", ["1", "1 x ", "answer: ", "1 - "])
def test_a_model_that_repeats_itself_is_read_in_little_time(group, loop):
    start = time.process_time()
    read_open_reply(loop * (20_000 // len(loop)), ASKS[group])
    assert time.process_time() - start < 10


def test_every_form_has_a_reader_and_many_examples():
    assert READERS.keys() == OPEN_FORMS.keys()
    counts = dict.fromkeys(OPEN_FORMS, 0)
    for group, replies in REPLIES.items():
        counts[ASKS[group].form] += len(replies)
    assert {form: count for form, count in counts.items() if count < MANY} == {}


@given(st.sampled_from(sorted(ASKS)), anything)
def test_no_reply_breaks_the_reader(group, reply):
    reading = read_open_reply(reply, ASKS[group])
    assert reading.rule
    assert read_truncated_open_reply(reply, ASKS[group]).rule


@given(st.sampled_from(sorted(ASKS)), st.text("abcdefgh !?;\u4e2d\u00e9\u0416", max_size=80))
def test_letters_alone_give_no_answer(group, reply):
    assert read_open_reply(reply.replace("b, a", ""), ASKS["number"]).answer is None
    assert group == "order" or read_open_reply(reply, ASKS[group]).answer is None


@given(st.sampled_from(ANSWERED), anything)
def test_thinking_changes_no_answer(case, thought):
    group, reply, _ = case
    if "think" in thought or "think" in reply:
        return
    plain = read_open_reply(reply, ASKS[group])
    assert read_open_reply(f"<think>{thought}</think>\n{reply}", ASKS[group]) == plain


@given(
    st.sampled_from([case for case in ANSWERED if case[1].replace(" ", "").isalnum()]), wrappings
)
def test_markup_changes_no_answer(case, wrapping):
    group, reply, _ = case
    plain = read_open_reply(reply, ASKS[group]).answer
    assert read_open_reply(wrapping.format(reply), ASKS[group]).answer == plain


@given(st.floats(0.01, 9999, allow_nan=False).map(lambda value: round(value, 2)))
def test_a_number_is_the_same_in_every_notation(value):
    notations = [
        f"{value} mm",
        f"{value:.2f}".replace(".", ",") + " mm",
        f"{value / 10:.6f} cm",
        f"{value:,.2f} mm",
        f"{value:e} mm",
        f"Answer: {value}",
        f'{{"answer": {value}}}',
        f"\\boxed{{{value}}}",
    ]
    answers = [read_open_reply(text, ASKS["number"]).answer for text in notations]
    assert answers == [pytest.approx(value, rel=1e-6)] * len(notations)


@given(st.lists(st.integers(0, 1000), min_size=4, max_size=4))
def test_coordinates_are_the_same_in_every_notation(sides):
    x0, y0, x1, y1 = sides
    box = [min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)]
    boxes = [f"[{x0}, {y0}, {x1}, {y1}]", f"({x0}, {y0}), ({x1}, {y1})", f"{x0} {y0} {x1} {y1}"]
    points = [f"({x0}, {y0})", f"x={x0}, y={y0}", f'{{"x": {x0}, "y": {y0}}}', f"{x0}, {y0}"]
    assert [read_open_reply(text, ASKS["box"]).answer for text in boxes] == [box] * 3
    assert [read_open_reply(text, ASKS["point"]).answer for text in points] == [[x0, y0]] * 4


@given(st.floats(1, 500).map(lambda v: round(v, 1)), st.floats(1, 500).map(lambda v: round(v, 1)))
def test_two_different_numbers_give_none(first, second):
    texts = [f"{first} mm and {second} mm", f"{first}-{second} mm", f"{first} x {second} mm"]
    readings = [read_open_reply(text, ASKS["number"]).answer for text in texts]
    assert first == second or readings == [None, None, None]

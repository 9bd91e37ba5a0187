"""Text of others on the page: every character can be seen, none does anything."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate.reporting.markup.escaping import MOST_MARKS, clip, one_line, visible

TAG = re.compile(r"<[^>]*>")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("\x1b[31mred", "U+001B"),
        ("a\u202eb", "U+202E"),
        ("a\u2066b\u2069", "U+2069"),
        ("zero\u200bwidth", "U+200B"),
        ("\ufeffB", "U+FEFF"),
        ("\x00", "U+0000"),
        ("line\u2028end", "U+2028"),
        ("half \ud800 pair", "U+D800"),
        ("tag \U000e0041", "U+E0041"),
        ("blank \u3164", "U+3164"),
    ],
)
def test_an_invisible_character_is_named(text, named):
    markup = str(visible(text))
    assert named in markup
    assert not set(text) & set(markup) - set("abcdefghijklmnopqrstuvwxyzB[31m -")


def test_a_run_of_invisible_characters_is_one_mark():
    markup = str(visible("A" + "\u200b" * 500 + "B"))
    assert markup.count("hidden-char") == 1
    assert "+496" in markup


def test_line_breaks_tabs_and_letters_of_any_script_stay():
    text = "first\n\tsecond 答案是C الجواب é"
    assert str(visible(text)) == text


def test_letters_do_not_carry_towers_of_accents():
    assert str(visible("Z" + "\u0301" * 300)).count("\u0301") == 4


def test_so_many_marks_and_no_more():
    markup = str(visible("a\u200b" * 10_000))
    assert markup.count("hidden-char") == MOST_MARKS
    assert len(markup) < 30_000


@given(st.text())
def test_nothing_becomes_a_tag(text):
    markup = str(visible(text))
    tags = set(TAG.findall(markup))
    assert all(tag == "</span>" or tag.startswith('<span class="hidden-char"') for tag in tags)
    assert "<" not in TAG.sub("", markup)


@given(st.text(alphabet=st.characters(exclude_categories=["C", "Zl", "Zp", "M"])))
def test_what_can_be_seen_is_not_changed(text):
    if not set(text) & set("\u115f\u1160\u2800\u3164\uffa0"):
        assert unescape(str(visible(text))) == text


def test_a_long_text_keeps_its_beginning_and_its_end():
    markup = clip("start " + "x" * 50_000 + " the answer is B", 300)
    assert markup.startswith("start ")
    assert markup.endswith("the answer is B")
    assert "49,722 characters left out" in markup
    assert len(markup) < 400


def test_a_short_text_is_not_cut():
    assert clip("x" * 300, 300) == "x" * 300
    assert clip(None, 10) == ""


def test_one_line_has_no_line_break():
    assert one_line("a\n\n b\r\nc", 80) == "a b c"
    assert one_line("a\u202eb\x1b", 80) == "a\ufffdb\ufffd"
    assert one_line("word " * 100, 20) == "word word word word …"

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.ontologies.llm.reply_parser import MOST_NAMES, names_in


@pytest.mark.parametrize(
    "reply",
    [
        '{"distractors": ["a b", "c"]}',
        '["a b", "c"]',
        '```json\n{"distractors": ["a b", "c"]}\n```',
        'Sure! Here it is:\n["a b", "c"]\nI hope that helps [1].',
        'In [1] and {this}, see: {"options": ["a b", "c"]}',
        '<think>["wrong"] or {"distractors": ["x"]}</think>{"distractors": ["a b", "c"]}',
        '{"reasons": ["x", "y"], "distractors": ["a b", "c"]}',
        '{"distractors": [{"name": "a b", "why": "z"}, {"term": "c"}]}',
        '{"distractors": [" a \\n b ", "c"]}',
    ],
)
def test_a_list_is_found_however_it_is_dressed(reply):
    assert names_in(reply) == ("a b", "c")


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "1. pneumonia\n2. edema",
        "I would choose pneumonia, [edema] and {effusion}.",
        '{"distractors": []}',
        '{"distractors": "pneumonia"}',
        '{"distractors": [1, null, [2]]}',
        '{"distractors": ["a", "b',
        '<think>["a"]',
        "[" * 100_000,
        '{"a":' * 50_000,
        "null",
    ],
)
def test_prose_and_broken_json_hold_no_names(reply):
    assert names_in(reply) is None


def test_what_is_no_name_keeps_its_place_so_that_it_is_counted():
    assert names_in('["a", 7, {"other": "x"}, "b"]') == ("a", "", "", "b")


def test_a_reply_is_heard_up_to_a_bound():
    assert len(names_in(json.dumps([f"n{i}" for i in range(500)]))) == MOST_NAMES


def test_a_hostile_reply_takes_no_time():
    started = time.process_time()
    names_in('[{"' * 300_000)
    assert time.process_time() - started < 10  # a tenth of a second, or hours


@given(st.text())
def test_no_text_breaks_the_reading(reply):
    names_in(reply)


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=MOST_NAMES))
def test_any_list_of_names_comes_back_whole(texts):
    reply = f"well: {json.dumps({'distractors': texts})} done"
    assert names_in(reply) == tuple(" ".join(text.split()) for text in texts)

"""What a release of many items costs: memory for each, and no more work than its contents need."""

from __future__ import annotations

import gc
import json
import tracemalloc
from dataclasses import replace
from weakref import WeakSet

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medrcube.evaluate import score_files
from medrcube.evaluate.answer_parsing import _extract, _reader_of
from medrcube.evaluate.benchmark_item import item_from_json
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.questions import prompts
from medrcube.evaluate.questions.prompts import render_prompt
from medrcube.evaluate.runner.begin_run import write_plan
from medrcube.evaluate.runner.plan import plan_run
from medrcube.evaluate.runner.run_folder import each_json_line, read_asked, write_json_lines

ITEMS = 2000
MOST_BYTES = 1000
"""Of one item; its texts that no other item has included."""

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
OPTIONS = st.lists(TEXTS, min_size=2, max_size=4)


@pytest.fixture
def many(tmp_path):
    folder = tmp_path / "release" / "ALPHA"
    folder.mkdir(parents=True)
    rows = [
        {
            "id": f"q{number}",
            "dataset": "ALPHA",
            "image_path": f"pictures/p{number // 5}.png",
            "question": f"What does the image show, in question {number}?",
            **{f"option_{letter}": f"finding {letter}" for letter in "ABCD"},
            "gt_answer": "finding B",
            "task": "Disease Diagnosis",
            "modality": "CT",
            "parts": "Lungs",
            "original_task": "classification",
        }
        for number in range(ITEMS)
    ]
    (folder / "test.json").write_text(json.dumps(rows), "utf-8")
    return folder.parent


def test_an_item_takes_less_than_a_kilobyte(many):
    load_benchmark(many)  # fills what all releases share
    tracemalloc.start()
    try:
        benchmark = load_benchmark(many)
        gc.collect()
        memory, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert memory / len(benchmark.items) < MOST_BYTES


def test_items_of_one_list_share_their_options_also_in_a_run(many, tmp_path, scripted_model):
    benchmark = load_benchmark(many)
    write_plan(tmp_path / "run", plan_run(tmp_path / "run", benchmark, scripted_model(), limit=50))
    for items in (benchmark.items, [question.item for question in read_asked(tmp_path / "run")]):
        assert len({id(item.options) for item in items}) == 1


def test_lists_are_written_one_row_at_a_time(tmp_path):
    class Row(dict):
        __hash__ = object.__hash__

    alive, most = WeakSet[Row](), 0

    def rows():
        nonlocal most
        for number in range(50):
            row = Row(number=number)
            alive.add(row)
            most = max(most, len(alive))
            yield row

    write_json_lines(tmp_path / "rows.jsonl", rows())
    assert most <= 3
    assert [row["number"] for row in each_json_line(tmp_path / "rows.jsonl")] == list(range(50))


@given(question=TEXTS, texts=OPTIONS)
def test_a_prompt_is_what_its_template_gives(benchmark_item, question, texts):
    options = tuple(zip("ABCD", texts, strict=False))
    item = replace(benchmark_item, question=question, options=options)
    template = prompts._environment().get_template("default.j2")
    assert render_prompt(item) == template.render(question=question, options=options).strip()


@pytest.fixture(scope="module")
def benchmark_item():
    row = {
        "id": "q",
        "dataset": "ALPHA",
        "image": None,
        "question": "What?",
        "key": "A",
        "options": [["A", "x"], ["B", "y"]],
        "task": "Disease Diagnosis",
        "modality": "CT",
        "parts": "Lungs",
        "original_task": None,
        "restricted": False,
    }
    return item_from_json(row)


CELLS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS


@given(st.lists(st.dictionaries(TEXTS, CELLS, min_size=1), max_size=4))
def test_a_list_of_flat_rows_is_indented_as_json_is(rows):
    quick = b"".join(score_files._indented_list(rows)).decode()
    assert quick == json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def test_a_reply_is_read_alike_whatever_was_read_before_it():
    options = (("A", "Normal"), ("B", "Mild edema"), ("C", "Severe edema"), ("D", "No edema"))
    replies = (
        *("B", "Severe edema", "**C.**", "not A, so B", "A or B", "Actually, D.", "no"),
        *("The answer is mild edema.", '{"answer": "D"}', "B: wrong. C: right.", "edema"),
    )
    read_before = []
    for reply in replies:
        _reader_of.cache_clear()
        read_before.append(_extract(reply, options))
    _reader_of.cache_clear()
    assert [_extract(reply, options) for reply in reversed(replies)] == read_before[::-1]

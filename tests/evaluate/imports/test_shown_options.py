"""What a file says that a model was shown is held against the release."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import WorkspaceError
from medrcube.evaluate.imports.import_run import import_run, score_replies
from medrcube.evaluate.imports.replies import ForeignReply
from medrcube.evaluate.imports.shown_options import question_and_options, shown_difference

LETTERS = "ABCD"


@pytest.fixture
def benchmark(load, row):
    return load(*(row(n, image_path=f"pictures/p{n}.png") for n in range(6)))


def swapped(texts):
    return [texts[1], texts[0], *texts[2:]]


def questions_of(benchmark, others, question=None):
    """Question and options of each item; the first ``others`` of them not as in the release."""
    for n, item in enumerate(benchmark.items):
        texts = [text for _, text in item.options]
        strange = n < others
        stem = question if strange and question else item.question
        yield item, stem, swapped(texts) if strange and not question else texts


def table(path, questions):
    rows = [
        {"item": item.name, "question": stem, **dict(zip(LETTERS, texts, strict=True)),
         "prediction": item.key}
        for item, stem, texts in questions
    ]  # fmt: skip
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], dialect="excel-tab")
        writer.writeheader()
        writer.writerows(rows)


def plain(path, questions):
    rows = [
        {"item": item.name, "question": stem, "options": texts, "text": item.key}
        for item, stem, texts in questions
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def samples(path, questions):
    rows = [
        {"doc": {"item": item.name, "question": stem, **dict(zip(LETTERS, texts, strict=True))},
         "resps": [[item.key]]}
        for item, stem, texts in questions
    ]  # fmt: skip
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def log(path, questions):
    rows = [
        {"id": item.name, "epoch": 1, "input": stem, "choices": texts,
         "output": {"choices": [{"message": {"content": item.key}, "stop_reason": "stop"}]}}
        for item, stem, texts in questions
    ]  # fmt: skip
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": rows}))


def prompts(path, values):
    rows = [
        {"id": item.name, "epoch": 1, "input": [{"role": "user", "content": [
            {"type": "image", "image": "p.png"},
            {"type": "text", "text": "\n".join(
                [stem, *(f"{x}. {text}" for x, text in zip(LETTERS, texts, strict=True))])}]}],
         "output": {"choices": [{"message": {"content": item.key}, "stop_reason": "stop"}]}}
        for item, stem, texts in values
    ]  # fmt: skip
    path.write_text(json.dumps({"eval": {"model": "m"}, "samples": rows}))


FORMS = {
    "vlmevalkit": ("r.tsv", table, True),
    "samples": ("r.jsonl", samples, True),
    "inspect": ("r.json", log, True),
    "inspect-prompt": ("r.json", prompts, True),
    "rows": ("r.jsonl", plain, False),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("question", [None, "Is this another question?"])
def test_a_file_of_other_options_or_questions_is_refused(benchmark, tmp_path, form, question):
    name, write, of_harness = FORMS[form]
    write(tmp_path / name, questions_of(benchmark, 2, question))
    what = "question" if question else "options"
    for bring_in in (score_replies, import_run) if of_harness else (score_replies,):
        with pytest.raises(WorkspaceError, match=rf"2 items of 6 .* ALPHA/q000 \({what}\)"):
            bring_in(tmp_path / name, benchmark, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("form", FORMS)
def test_replies_to_what_the_release_asks_are_taken(benchmark, tmp_path, form):
    name, write, _ = FORMS[form]
    write(tmp_path / name, questions_of(benchmark, 0))
    result = score_replies(tmp_path / name, benchmark, tmp_path / "run")
    assert (result.metrics["global"]["accuracy"], result.matched.differing) == (1, ())


@pytest.mark.parametrize("command", ["import-run", "score"])
def test_a_single_item_that_was_asked_otherwise_is_left_out_named_and_counted(
    benchmark, tmp_path, command
):
    path = tmp_path / "r.tsv"
    table(path, questions_of(benchmark, 1))
    file = [str(path)] if command == "import-run" else ["--replies", str(path)]
    where = ["--release", str(benchmark.root), "--out", str(tmp_path / "run")]
    ran = CliRunner().invoke(app, [command, *file, *where])
    assert ran.exit_code == 3, ran.output
    assert "1 item" in ran.output
    assert "a different question or options" in ran.output
    assert "left out: ALPHA/q000" in ran.output
    assert "INCOMPLETE these figures cover only part of the file" in ran.output


@pytest.mark.parametrize(
    ("expected", "own"),
    [
        (" Mass  effect\n", "Mass effect"),
        ("'-1.5 mm", "-1.5 mm"),
        ("1.0", "1"),
        ("caf\u0065\u0301", "caf\u00e9"),
    ],
)
def test_what_tables_do_to_a_text_is_no_difference(benchmark, expected, own):
    item = replace_first(benchmark.items[0], own)
    texts = (expected, *(text for _, text in item.options[1:]))
    assert shown_difference(ForeignReply(item=item.name, text="A", options=texts), item) is None


def test_an_option_none_that_a_table_lost_is_no_difference(benchmark):
    item = replace_first(benchmark.items[0], "None")
    texts = tuple(text for _, text in item.options[1:])
    assert shown_difference(ForeignReply(item=item.name, text="A", options=texts), item) is None
    fewer = ForeignReply(item=item.name, text="A", options=texts[1:])
    assert shown_difference(fewer, item) == "options"


@pytest.mark.parametrize(
    "row",
    [
        {"A": "x", "B": "y", "C": None, "D": float("nan")},
        {"option_A": "x", "option_B": "y", "option_C": ""},
        {"options": ["x", "y"]},
        {"options": {"B": "y", "A": "x"}},
        {"choices": '["x", "y"]'},
        {"options": ["A. x", "B. y"]},
        {"options": "(B) y\n(A) x\n"},
        {"options": "x\ny"},
    ],
)
def test_options_are_read_in_every_form(row):
    assert question_and_options({"question": "Q?", **row}) == ("Q?", ("x", "y"))


def replace_first(item, text):
    return replace(item, options=(("A", text), *item.options[1:]))

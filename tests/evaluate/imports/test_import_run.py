"""Result files of other harnesses become runs with the outcomes that the replies deserve.

Forms are written by hand here as each harness writes them; ``tests/evaluate/exports`` has the
harnesses write them themselves, where they are at hand.
"""

from __future__ import annotations

import csv
import json

import openpyxl
import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import WorkspaceError
from medrcube.evaluate.exports.inspect_log import item_name, sample_id
from medrcube.evaluate.exports.inspect_run import export_inspect
from medrcube.evaluate.imports.detect_format import read_foreign
from medrcube.evaluate.imports.import_run import import_run
from medrcube.evaluate.models.protocol import Reply
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.stored_scores import read_metrics, read_results

SAID = ("A", "The answer is **B**.", "I cannot tell.", "D", "A\tor\n\u2028B?", "B")
"""Replies to six items whose keys are A, B, C, D, A, B."""
OUTCOMES = ["correct", "correct", "unparsed", "correct", "unparsed", "correct"]


@pytest.fixture
def benchmark(load, row):
    return load(*(row(n, image_path=f"pictures/p{n}.png") for n in range(6)))


def rows(replies=SAID):
    return [
        {"index": n, "item": f"ALPHA/q{n:03}", "question": "", "prediction": reply}
        for n, reply in enumerate(replies)
    ]


def write_tsv(path, values):
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, values[0], dialect="excel-tab")
        writer.writeheader()
        writer.writerows(values)


def write_xlsx(path, values):
    book = openpyxl.Workbook()
    book.active.append(list(values[0]))
    for value in values:
        book.active.append(list(value.values()))
    book.save(path)


def write_json(path, values):
    path.write_text(json.dumps(values), encoding="utf-8")


def write_jsonl(path, values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def lmms(replies=SAID):
    return [
        {"doc_id": n, "filtered_resps": [reply], "medrcube": {"item": f"ALPHA/q{n:03}", "hit": 0}}
        for n, reply in enumerate(replies)
    ]


def lm_eval(replies=SAID):
    return [
        {
            "doc_id": n,
            "doc": {"item": f"ALPHA/q{n:03}"},
            "resps": [[reply]],
            "filtered_resps": ["Z"],
        }
        for n, reply in enumerate(replies)
    ]


FORMS = {
    "vlmevalkit-tsv": ("r.tsv", write_tsv, rows, "vlmevalkit"),
    "vlmevalkit-xlsx": ("r.xlsx", write_xlsx, rows, "vlmevalkit"),
    "vlmevalkit-json": ("r.json", write_json, rows, "vlmevalkit"),
    "lmms-eval": ("samples.jsonl", write_jsonl, lmms, "lmms-eval"),
    "lm-eval": ("samples.jsonl", write_jsonl, lm_eval, "lm-eval"),
}


@pytest.mark.parametrize("form", FORMS)
def test_replies_of_each_harness_get_their_outcomes(benchmark, tmp_path, form):
    name, write, make_rows, tool = FORMS[form]
    write(tmp_path / name, make_rows())
    summary = import_run(tmp_path / name, benchmark, tmp_path / "run", model="m")
    assert (summary.tool, summary.model, summary.replies) == (tool, f"{tool}/m", 6)
    results = read_results(tmp_path / "run")
    assert [entry.outcome.value for entry in results] == OUTCOMES
    assert [entry.reply for entry in results] == list(SAID)
    assert summary.metrics["global"]["accuracy"] == pytest.approx(4 / 6)


class Fixed:
    """Says what ``SAID`` says; the third reply is cut off."""

    name = "test/fixed"
    identity = {"adapter": "test/1", "name": "test/fixed"}  # noqa: RUF012

    async def answer(self, request):
        number = int(request.item[-3:])
        reason = "length" if number == 2 else "stop"
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        entry = SAID[number]
        return Reply(text=entry, finish_reason=reason, usage=usage, model="f", latency=0.1)

    async def close(self):
        pass


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_a_log_that_we_wrote_for_inspect_comes_back_the_same(benchmark, tmp_path, suffix):
    conditions = [Condition.FULL, Condition.BLIND]
    run_evaluation(benchmark, Fixed(), tmp_path / "run", conditions=conditions, epochs=2)
    export_inspect(tmp_path / "run", tmp_path / f"log{suffix}")
    summary = import_run(tmp_path / f"log{suffix}", benchmark, tmp_path / "back")
    assert (summary.model, summary.replies, summary.unanswered) == ("inspect/test/fixed", 12, ())

    def replies_of(run):
        return [
            (
                entry.item.name,
                entry.question.presentation.epoch,
                entry.outcome,
                entry.answer,
                entry.reply,
            )
            for entry in read_results(run)
            if entry.question.presentation.condition is Condition.FULL
        ]

    assert replies_of(tmp_path / "back") == replies_of(tmp_path / "run")


def test_blind_replies_are_never_taken_for_answers_about_the_picture(benchmark, tmp_path):
    run_evaluation(benchmark, Fixed(), tmp_path / "run", conditions=[Condition.BLIND])
    export_inspect(tmp_path / "run", tmp_path / "log.eval", Condition.BLIND)
    summary = import_run(tmp_path / "log.eval", benchmark, tmp_path / "back")
    assert summary.replies == 6
    back, own = read_results(tmp_path / "back"), read_results(tmp_path / "run")
    assert {item.question.presentation.condition for item in back} == {Condition.BLIND}
    assert [(item.item.name, item.reply) for item in back] == [
        (entry.item.name, entry.reply) for entry in own
    ]


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_a_log_of_turned_options_comes_back_turn_by_turn(benchmark, tmp_path, suffix):
    run_evaluation(benchmark, Fixed(), tmp_path / "run", conditions=[Condition.CIRCULAR])
    log = tmp_path / f"log{suffix}"
    export_inspect(tmp_path / "run", log, Condition.CIRCULAR)
    summary = import_run(log, benchmark, tmp_path / "back")
    assert summary.replies == sum(len(item.options) for item in benchmark.items)

    def replies_of(run):
        return [
            (
                entry.item.name,
                entry.item.options,
                entry.question.presentation.turn,
                entry.outcome,
                entry.answer,
            )
            for entry in read_results(run)
        ]

    assert replies_of(tmp_path / "back") == replies_of(tmp_path / "run")
    back, own = read_metrics(tmp_path / "back"), read_metrics(tmp_path / "run")
    assert back["global"] == own["global"]


def test_a_log_of_options_in_another_order_is_refused(benchmark, tmp_path):
    run_evaluation(benchmark, Fixed(), tmp_path / "run", conditions=[Condition.CIRCULAR])
    log = tmp_path / "log.json"
    export_inspect(tmp_path / "run", log, Condition.CIRCULAR)
    data = json.loads(log.read_text())
    data["samples"][1]["choices"].reverse()
    log.write_text(json.dumps(data))
    with pytest.raises(WorkspaceError, match=r"ALPHA/q000 was asked with different options"):
        import_run(log, benchmark, tmp_path / "back")
    assert not (tmp_path / "back").exists()


def test_a_request_that_failed_there_is_no_wrong_answer(benchmark, tmp_path):
    replies = ["A", "Failed to obtain answer via API.", *SAID[2:]]
    write_tsv(tmp_path / "r.tsv", rows(replies))
    summary = import_run(tmp_path / "r.tsv", benchmark, tmp_path / "run", model="m")
    assert summary.unanswered == ("ALPHA/q001",)
    outcomes = [entry.outcome.value for entry in read_results(tmp_path / "run")]
    assert outcomes[1] == "failed"


def test_items_without_a_reply_are_named_and_count_as_failed(benchmark, tmp_path):
    write_tsv(tmp_path / "r.tsv", rows(SAID[:4]))
    release, out = str(benchmark.root), str(tmp_path / "run")
    texts = [str(tmp_path / "r.tsv"), "--release", release, "--out", out, "--model", "m"]
    ran = CliRunner().invoke(app, ["import-run", *texts])
    assert ran.exit_code == 3, ran.output
    assert "INCOMPLETE too many questions have no reply" in ran.output
    assert "2 items without a reply, counted as failed: ALPHA/q004, ALPHA/q005" in ran.output


def test_a_file_of_another_release_is_refused_and_nothing_is_written(benchmark, tmp_path):
    entries = [{**entry, "item": entry["item"].replace("ALPHA", "BETA")} for entry in rows()]
    write_tsv(tmp_path / "r.tsv", entries)
    with pytest.raises(WorkspaceError, match=r"6 items that .* does not have: BETA/q000"):
        import_run(tmp_path / "r.tsv", benchmark, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_is_never_written_over(benchmark, tmp_path):
    write_tsv(tmp_path / "r.tsv", rows())
    import_run(tmp_path / "r.tsv", benchmark, tmp_path / "run")
    with pytest.raises(WorkspaceError, match="holds a run"):
        import_run(tmp_path / "r.tsv", benchmark, tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", "", "expected a log of Inspect"),
        ("x.pkl", "", "expected a log of Inspect"),
        ("x.json", "[1]", "expected a list of objects"),
        ("x.json", "{}", "is not a log of Inspect: it has no 'eval'"),
        ("x.json", '{"eval": []}', "is not a log of Inspect: it has another structure"),
        ("x.eval", "no archive", "is not a log of Inspect"),
        ("x.xlsx", "no archive", "is not a spreadsheet"),
        ("x.tsv", "index\tprediction\n1\tA\n", "row 2: has no item and prediction"),
        ("x.tsv", "item\tprediction\n", "holds no reply"),
        ("x.tsv", "item\tprediction\nA/1\tA\nA/1\tB\n", "has two replies to A/1"),
        ("x.jsonl", '{"doc": {"id": 1}}\n', "line 1: has no item"),
        ("x.jsonl", '{"doc": {"item": "A/1"}, "resps": []}\n', "line 1: has no reply"),
        ("x.jsonl", "{\n", "line 1: cannot be read as JSON"),
    ],
)
def test_what_is_no_result_file_is_refused_by_what_is_wrong(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(WorkspaceError, match=message):
        read_foreign(tmp_path / name)


@pytest.mark.parametrize(
    "name",
    [
        "able_model/T20261123-044624/able_model_MedRCube_0123abcd.tsv",
        "able_model/able_model_MedRCube_private_0123abcd.tsv",
        "able_model/able_model_MedRCube_0123abcd_exact_matching_result.tsv",
        "able_model/renamed.tsv",
    ],
)
def test_the_model_of_a_result_of_vlmevalkit_is_the_one_of_its_file(tmp_path, name):
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text("item\tprediction\nA/1\tA\n", encoding="utf-8")
    assert read_foreign(path).model == "able_model"


@pytest.mark.parametrize("name", ["A/1", "A/x:y", "A/..\\%3A/x", "A%25/1"])
def test_the_id_of_a_sample_leads_back_to_its_item(name):
    assert item_name(sample_id(name)) == name

"""``score --replies``: replies in plain rows, and what of a file belongs to no item."""

from __future__ import annotations

import csv
import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.imports.import_run import score_replies
from medrcube.evaluate.imports.item_matching import match_replies
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun
from medrcube.evaluate.reporting.interval_text import accuracy_line
from medrcube.evaluate.statistics.comparison.compare_runs import compare_two
from medrcube.evaluate.statistics.units import units_text
from medrcube.evaluate.stored_scores import read_metrics, read_results

RIGHT = ("A", "B", "C", "D", "A", "B")


@pytest.fixture
def benchmark(load, row):
    return load(*(row(n, image_path=f"pictures/p{n}.png") for n in range(6)))


def rows(texts=RIGHT, **names):
    return [{"id": f"q{n:03}", "text": text, **names} for n, text in enumerate(texts)]


def named(column):
    return [{"item": f"ALPHA/{entry['id']}", column: entry["text"]} for entry in rows()]


def upstream(texts=RIGHT):
    return [
        {"dataset": "ALPHA", "id": f"q{n:03}", "model_response": text, "correct": False}
        for n, text in enumerate(texts)
    ]


def write_jsonl(path, values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")


def write_json(path, values):
    path.write_text(json.dumps(values), encoding="utf-8")


def write_csv(path, values):
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, values[0])
        writer.writeheader()
        writer.writerows(values)


def outcomes(run):
    return [result.outcome.value for result in read_results(run)]


def scored(tmp_path, benchmark, values):
    write_jsonl(tmp_path / "r.jsonl", values)
    return score_replies(tmp_path / "r.jsonl", benchmark, tmp_path / "run")


@pytest.mark.parametrize(
    ("name", "write", "expected"),
    [
        ("r.jsonl", write_jsonl, rows()),
        (
            "r.jsonl",
            write_jsonl,
            [{"item": f"ALPHA/{r['id']}", "reply": r["text"]} for r in rows()],
        ),
        ("r.json", write_json, upstream()),
        ("r.csv", write_csv, rows()),
        ("r.json", write_json, named("prediction")),
    ],
)
def test_right_replies_are_right_in_every_form(benchmark, tmp_path, name, write, expected):
    write(tmp_path / name, expected)
    result = score_replies(tmp_path / name, benchmark, tmp_path / "run", model="m")
    assert result.metrics["global"]["accuracy"] == 1
    assert (result.replies, result.matched.missing, result.matched.ignored) == (6, (), 0)


def test_an_item_without_a_reply_is_failed_and_never_wrong(benchmark, tmp_path):
    result = scored(tmp_path, benchmark, [*rows(RIGHT[:4]), {"id": "q004", "text": None}])
    assert result.matched.missing == ("ALPHA/q004", "ALPHA/q005")
    assert Counter(outcomes(tmp_path / "run")) == {"correct": 4, "failed": 2}
    assert result.metrics["global"]["accuracy_without_failures"] == 1


def test_an_empty_reply_is_behaviour_of_the_model(benchmark, tmp_path):
    scored(tmp_path, benchmark, rows(("", *RIGHT[1:])))
    assert outcomes(tmp_path / "run")[0] == "unparsed"


def test_different_replies_to_one_item_are_none_of_them_taken(benchmark, tmp_path):
    result = scored(tmp_path, benchmark, [*rows(), {"id": "q001", "text": "A"}, *rows()[:1]])
    assert result.matched.conflicting == ("ALPHA/q001",)
    assert result.matched.repeated == ("ALPHA/q000",)
    assert outcomes(tmp_path / "run")[:2] == ["correct", "failed"]


def test_an_id_of_two_sources_needs_its_source(tmp_path, row, write_release):
    root = write_release(tmp_path / "r", [row(0), row(0, dataset="BETA")])
    values = [{"id": "q000", "text": "A"}, {"id": "q000", "dataset": "BETA", "text": "A"}]
    result = scored(tmp_path, load_benchmark(root), values)
    assert result.matched.ambiguous == ("q000",)
    assert outcomes(tmp_path / "run") == ["failed", "correct"]


def test_rows_that_cannot_be_read_are_named_and_end_nothing(benchmark, tmp_path):
    bad = [{"text": "A"}, {"id": "q001"}, {"id": "q2", "text": "A", "reply": "B"}]
    result = scored(tmp_path, benchmark, [*rows(), *bad, {"id": "q1", "text": ["A"]}])
    assert [entry.partition(":")[0] for entry in result.matched.bad] == [
        f"line {n}" for n in range(7, 11)
    ]
    assert result.metrics["global"]["accuracy"] == 1


def test_replies_are_scored_where_this_copy_lacks_the_pictures(tmp_path, row, write_release):
    results = [row(n, image_path=f"pictures/p{n}.png", restricted=True) for n in range(6)]
    root = write_release(tmp_path / "r", results, pictures=False)
    result = scored(tmp_path, load_benchmark(root), rows())
    assert result.metrics["global"]["accuracy"] == 1
    write_report([tmp_path / "run"], tmp_path / "report.html", root)


def test_two_items_on_one_question_keep_their_own_replies(tmp_path, row, write_release):
    same = {"question": "Which?", "image_path": "pictures/p.png"}
    root = write_release(tmp_path / "r", [row(0, **same), row(4, **same)])
    values = [{"id": "q000", "text": "A"}, {"id": "q004", "text": "B"}]
    scored(tmp_path, load_benchmark(root), values)
    assert outcomes(tmp_path / "run") == ["correct", "wrong"]


def test_epochs_of_a_file_are_epochs_of_the_run(benchmark, tmp_path):
    entries = [{**entry, "epoch": epoch} for epoch in (0, 1) for entry in rows()]
    result = scored(tmp_path, benchmark, entries)
    assert (result.replies, result.metrics["global"]["n"]) == (12, 6)
    assert result.metrics["epochs"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["q000", "ALPHA/q001", "q009", "BETA/q000"]),
            st.sampled_from(["A", "B", None]),
        )
    )
)
def test_every_name_of_a_file_is_accounted_for_once(benchmark, pairs):
    replies = tuple(ForeignReply(item=item, text=text) for item, text in pairs)
    outcome = match_replies(ForeignRun(tool="t", model="m", replies=replies), benchmark.items)
    names = {name for name, _, _ in outcome.replies}
    assert names.isdisjoint(outcome.missing)
    assert len(names) + len(outcome.missing) == len(benchmark.items)
    assert set(outcome.conflicting) <= set(outcome.missing)
    named = {item for item, _ in pairs}
    assert set(outcome.unknown) == named & {"q009", "BETA/q000"}


def invoke(*words):
    return CliRunner().invoke(app, ["score", *map(str, words)])


def test_the_command_counts_what_it_left_out_and_ends_with_3(benchmark, tmp_path):
    write_jsonl(tmp_path / "r.jsonl", [*rows(), {"id": "q999", "text": "A"}])
    ran = invoke("--replies", tmp_path / "r.jsonl", "--release", benchmark.root)
    assert ran.exit_code == 3, ran.output
    assert "1 item not in this release, left out: q999" in ran.output
    assert "accuracy of all items 100.0 %" in ran.output


def test_the_accuracy_is_told_with_its_interval_and_units_as_it_is_of_a_run(benchmark, tmp_path):
    write_jsonl(tmp_path / "r.jsonl", rows())
    out_options = ("--out", tmp_path / "run")
    ran = invoke("--replies", tmp_path / "r.jsonl", "--release", benchmark.root, *out_options)
    row = read_metrics(tmp_path / "run")["global"]
    line = accuracy_line(row)
    assert units_text(row["unit_kinds"]) in line
    assert line in " ".join(ran.output.split())
    assert line in " ".join(invoke(tmp_path / "run").output.split())


@pytest.mark.parametrize("broken", ['{"id": "q0', "[1, 2]", "\x00", '"A"'])
def test_a_line_that_is_no_row_is_counted_and_named_and_the_others_are_scored(
    benchmark, tmp_path, broken
):
    path = tmp_path / "r.jsonl"
    lines = [json.dumps(entry) for entry in rows()]
    for place in (0, 3):
        path.write_text("\n".join([*lines[:place], broken, *lines[place:]]), encoding="utf-8")
        ran = invoke("--replies", path, "--release", benchmark.root)
        assert ran.exit_code == 3, ran.output
        assert f"1 row cannot be read: line {place + 1}: " in ran.output
        assert "6 replies to 6 items" in ran.output


def test_a_part_of_a_json_list_that_is_no_object_is_counted(benchmark, tmp_path):
    write_json(tmp_path / "r.json", [*rows(), [1]])
    ran = invoke("--replies", tmp_path / "r.json", "--release", benchmark.root)
    assert ran.exit_code == 3, ran.output
    assert "1 row cannot be read: row 7: " in ran.output


def test_the_command_tells_programs_everything_and_ends_with_0(benchmark, tmp_path):
    write_jsonl(tmp_path / "r.jsonl", rows())
    out = tmp_path / "run"
    ran = invoke("--replies", tmp_path / "r.jsonl", "--release", benchmark.root, "--json")
    summary = json.loads(ran.output)
    assert (ran.exit_code, summary["replies"], summary["unknown"], summary["out"]) == (
        0,
        6,
        [],
        None,
    )
    ran = invoke("--replies", tmp_path / "r.jsonl", "--release", benchmark.root, "--out", out)
    assert ran.exit_code == 0, ran.output
    assert compare_two(out, out)["items"]["common"] == 6


@pytest.mark.parametrize(
    "words",
    [[], ["--release", "r"], ["--replies", "f"], ["run", "--replies", "f", "--release", "r"]],
)
def test_wrong_use_says_what_to_give(words):
    ran = invoke(*words)
    assert ran.exit_code != 0
    assert "--replies FILE" in str(ran.exception)


def test_a_file_of_no_known_kind_is_answered_with_the_kinds_that_are_read(benchmark, tmp_path):
    (tmp_path / "replies").touch()
    ran = invoke("--replies", tmp_path / "replies", "--release", benchmark.root)
    assert ran.exit_code != 0
    assert "expected rows of id and text" in str(ran.exception)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "tsv"])
def test_replies_of_several_models_are_never_one_run(benchmark, tmp_path, suffix):
    results = [*rows(model="good"), *rows(("D",) * 6, model="poor")]
    path = tmp_path / f"r.{suffix}"
    if suffix == "tsv":
        results = [{"item": f"ALPHA/{r['id']}", "prediction": r["text"], **r} for r in results]
        keys = [key for key in results[0] if key != "text"]
        lines = [keys, *([row[key] for key in keys] for row in results)]
        path.write_text("".join("\t".join(line) + "\n" for line in lines))
    else:
        {"jsonl": write_jsonl, "csv": write_csv}[suffix](path, results)
    for model in (None, "other"):
        with pytest.raises(WorkspaceError, match="has replies of 2 models: good, poor"):
            score_replies(path, benchmark, tmp_path / "run", model=model)
    result = score_replies(path, benchmark, tmp_path / "run", model="good")
    assert (result.replies, result.metrics["global"]["accuracy"]) == (6, 1)
    assert result.model.endswith("/good")


def test_a_reply_without_a_model_in_a_file_of_several_is_counted(benchmark, tmp_path):
    outcome = [*rows(model="good"), {"id": "q000", "text": "B", "model": "poor"}, *rows()[:1]]
    write_jsonl(tmp_path / "r.jsonl", outcome)
    result = score_replies(tmp_path / "r.jsonl", benchmark, tmp_path / "run", model="good")
    assert result.matched.bad == ("1 reply without a model, in a file of several models",)


@pytest.mark.parametrize("first", [0, 1, 7])
def test_the_lowest_epoch_of_a_file_is_the_first(benchmark, tmp_path, first):
    entries = [{**entry, "epoch": first + n} for n in (0, 1) for entry in rows()]
    result = scored(tmp_path, benchmark, entries)
    assert (result.replies, result.metrics["global"]["accuracy"]) == (12, 1)
    assert outcomes(tmp_path / "run") == ["correct"] * 12


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_replies_that_were_cut_end_a_file_as_they_end_a_run(benchmark, tmp_path, reason):
    cut = [{**entry, "text": "Let me look at", "finish_reason": reason} for entry in rows()]
    write_jsonl(tmp_path / "r.jsonl", cut)
    run = tmp_path / "run"
    ran = invoke("--replies", tmp_path / "r.jsonl", "--release", benchmark.root, "--out", run)
    again = invoke(run)
    assert (ran.exit_code, again.exit_code) == (3, 3), ran.output
    text = "INCOMPLETE too many questions have no reply or one that was cut off"
    assert text in ran.output
    assert text in again.output


def test_epochs_that_lack_replies_are_incomplete_though_each_item_has_one(benchmark, tmp_path):
    write_jsonl(tmp_path / "r.jsonl", [*rows(epoch=1), *rows(RIGHT[:2], epoch=2)])
    ran = invoke("--replies", tmp_path / "r.jsonl", "--release", benchmark.root, "--json")
    summary = json.loads(ran.output)
    assert (ran.exit_code, summary["ends"]["failed"]) == (3, 4)

"""The log for Inspect: its form by a check of our own, and by Inspect itself where it is at hand.

``MEDRCUBE_INSPECT_PYTHON`` names a Python that has ``inspect_ai``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from datetime import datetime

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app
from medrcube.errors import WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.exports.inspect_run import export_inspect
from medrcube.evaluate.models.protocol import RejectedError, Reply
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.questions.conditions import OF_ONE_EDITION, Condition
from medrcube.evaluate.runner.run import run_evaluation

STOPS = {"stop", "max_tokens", "model_length", "tool_calls", "content_filter", "unknown"}


class Odd:
    """One reply of every kind, by the number of the question."""

    name = "test/odd"
    identity = {"adapter": "test/1", "name": "test/odd", "max_tokens": 9, "temperature": 0.0}  # noqa: RUF012
    replies = (
        ("A", "stop"),
        ("The answer is **A**.", "stop"),
        ("I'm sorry, I can't assist with that.", "content_filter"),
        ("A and B are both possible.", "stop"),
        ("half a pair \ud800 and \x00", "length"),
    )

    async def answer(self, request):
        number = int(request.item[-3:])
        if number == 5:
            raise RejectedError("not this one", code="400")
        text, reason = self.replies[number % 5]
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        return Reply(text=text, finish_reason=reason, usage=usage, model="odd-1", latency=0.25)

    async def close(self):
        pass


@pytest.fixture(scope="module")
def folder(row, write_release, tmp_path_factory):
    """A release ``r`` and its ``run``, made once."""
    root = tmp_path_factory.mktemp("runs")
    rows = [row(n) for n in range(6)] + [row(6, image_path="pictures/gone.png")]
    write_release(root / "r", rows)
    (root / "r/ALPHA/pictures/gone.png").unlink()
    benchmark = load_benchmark(root / "r")
    run_evaluation(benchmark, Odd(), root / "run", conditions=OF_ONE_EDITION, epochs=2)
    return root


@pytest.fixture
def run(folder, tmp_path):
    shutil.copytree(folder / "r", tmp_path / "r")
    return shutil.copytree(folder / "run", tmp_path / "run")


def read(path):
    """The log as Inspect's reader puts it together: header and samples."""
    if path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        assert len(set(names)) == len(names)
        log = json.loads(archive.read("header.json"))
        members = [name for name in names if name.startswith("samples/")]
        log["samples"] = [json.loads(archive.read(name)) for name in members]
        for name, sample in zip(members, log["samples"], strict=True):
            assert name == f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
        summaries = json.loads(archive.read("summaries.json"))
        assert [summary["id"] for summary in summaries] == [entry["id"] for entry in log["samples"]]
        assert {"version", "eval", "plan"} == set(json.loads(archive.read("_journal/start.json")))
    return log


def check(log):
    """What ``inspect_ai.log.EvalLog`` asks of a log, as far as we use it."""
    assert log["version"] == 2
    assert log["status"] in {"started", "success", "cancelled", "error"}
    spec = log["eval"]
    for name in ("created", "task", "dataset", "model", "config"):
        assert name in spec
    assert datetime.fromisoformat(spec["created"]).tzinfo
    assert set(spec["model_generate_config"]) <= {"temperature", "max_tokens", "seed"}
    assert {metric for score in log["results"]["scores"] for metric in score["metrics"]}
    keys = set()
    for sample in log["samples"]:
        keys.add((sample["id"], sample["epoch"]))
        assert sample["epoch"] >= 1
        roles = [message["role"] for message in sample["messages"]]
        assert roles == (["user"] if "error" in sample else ["user", "assistant"])
        kinds = {part["type"] for part in sample["input"][0]["content"]}
        assert kinds <= {"text", "image"}
        for choice in sample["output"]["choices"]:
            assert choice["stop_reason"] in STOPS
        if "error" in sample:
            assert set(sample["error"]) == {"message", "traceback", "traceback_ansi"}
            assert sample["scores"] == {}
        else:
            assert sample["scores"]["medrcube"]["value"] in {"C", "I", "N"}
    assert len(keys) == len(log["samples"])
    return log


@pytest.mark.parametrize("suffix", [".json", ".eval"])
def test_a_log_has_the_form_of_inspect(run, tmp_path, suffix):
    assert export_inspect(run, tmp_path / f"log{suffix}") == 14
    log = check(read(tmp_path / f"log{suffix}"))
    assert log["eval"]["model"] == "test/odd"
    assert log["eval"]["dataset"]["samples"] == 7
    assert log["stats"]["model_usage"]["test/odd"]["total_tokens"] == 10 * 10


def test_both_forms_hold_the_same(run, tmp_path):
    for suffix in (".json", ".eval"):
        export_inspect(run, tmp_path / f"log{suffix}")
    assert read(tmp_path / "log.json") == read(tmp_path / "log.eval")


def test_outcomes_become_values_and_what_was_lost_becomes_an_error(run, tmp_path):
    export_inspect(run, tmp_path / "log.json")
    samples = {s["id"]: s for s in read(tmp_path / "log.json")["samples"] if s["epoch"] == 1}
    values = {
        name: sample["scores"]["medrcube"]["value"] if sample["scores"] else None
        for name, sample in samples.items()
    }
    assert values == {
        "ALPHA:q000": "C",
        "ALPHA:q001": "I",
        "ALPHA:q002": "N",
        "ALPHA:q003": "N",
        "ALPHA:q004": "N",
        "ALPHA:q005": None,
        "ALPHA:q006": None,
    }
    assert samples["ALPHA:q005"]["error"]["message"] == "failed: no-reply"
    assert samples["ALPHA:q006"]["error"]["message"] == "missing-image: no-picture"
    assert "refused" in samples["ALPHA:q002"]["scores"]["medrcube"]["explanation"]


def test_an_incomplete_run_has_the_accuracy_of_its_replies_and_none_of_all(run, tmp_path):
    export_inspect(run, tmp_path / "log.json")
    score = read(tmp_path / "log.json")["results"]["scores"][0]
    assert (score["scored_samples"], score["unscored_samples"]) == (10, 4)
    assert score["metrics"]["accuracy"]["value"] == pytest.approx(2 / 10)
    assert "accuracy_of_all" not in score["metrics"]


def test_a_picture_is_a_path_in_the_release_and_never_its_bytes(run, tmp_path):
    export_inspect(run, tmp_path / "log.json")
    text = (tmp_path / "log.json").read_text("utf-8")
    sample = read(tmp_path / "log.json")["samples"][0]
    assert sample["input"][0]["content"][0] == {"type": "image", "image": "ALPHA/pictures/p0.png"}
    assert "base64" not in text
    assert str(tmp_path) not in text


def test_each_condition_is_a_log_of_its_own(run, tmp_path):
    assert export_inspect(run, tmp_path / "b.json", Condition.BLIND) == 14
    blind = check(read(tmp_path / "b.json"))
    assert blind["eval"]["task"] == "medrcube_blind"
    assert {part["type"] for part in blind["samples"][0]["input"][0]["content"]} == {"text"}
    assert export_inspect(run, tmp_path / "c.eval", Condition.CIRCULAR) == 2 * 4 * 7
    turned = check(read(tmp_path / "c.eval"))["samples"]
    assert turned[1]["id"] == "ALPHA:q000 turn 1"
    assert (turned[0]["target"], turned[1]["target"]) == ("A", "B")


def test_a_run_gives_the_same_bytes_twice(run, tmp_path):
    for name in ("a", "b"):
        export_inspect(run, tmp_path / f"{name}.eval")
    assert (tmp_path / "a.eval").read_bytes() == (tmp_path / "b.eval").read_bytes()


def test_a_name_in_the_archive_leads_nowhere_else(load, row, tmp_path):
    benchmark = load(row(0, id="../../x"), row(1, id="..:..:x"), row(2, id="a\\b%"))
    run_evaluation(benchmark, open_model("baseline/first"), tmp_path / "run")
    export_inspect(tmp_path / "run", tmp_path / "log.eval")
    check(read(tmp_path / "log.eval"))
    with zipfile.ZipFile(tmp_path / "log.eval") as archive:
        for name in archive.namelist():
            assert name.count("/") <= 1
            assert "\\" not in name


@pytest.mark.parametrize(
    ("name", "condition", "message"),
    [("log.txt", None, "ends in .json or .eval"), ("log.json", Condition.BLIND, "did not ask")],
)
def test_what_cannot_be_exported_is_refused(load, row, tmp_path, name, condition, message):
    run_evaluation(load(row(0)), open_model("baseline/first"), tmp_path / "run")
    with pytest.raises(WorkspaceError, match=message):
        export_inspect(tmp_path / "run", tmp_path / name, condition)
    assert not (tmp_path / name).exists()


def test_the_command_writes_a_log_and_names_what_it_does_not_know(run, tmp_path):
    arguments = ["export", str(run), "--to", "inspect", "--out"]
    ran = CliRunner().invoke(app, [*arguments, str(tmp_path / "x.eval")])
    assert (ran.exit_code, "14 samples" in ran.output) == (0, True)
    ran = CliRunner().invoke(app, [*arguments, str(tmp_path / "y.eval"), "--condition", "dark"])
    assert isinstance(ran.exception, WorkspaceError)
    assert "no condition 'dark'; expected one of: full, blind" in str(ran.exception)


READ = """
import json, sys
from inspect_ai.log import (
    read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries,
)
for path in sys.argv[1:]:
    log = read_eval_log(path)
    assert read_eval_log(path, header_only=True).samples is None
    listed = read_eval_log_sample_summaries(path)
    one = read_eval_log_sample(path, listed[1].id, listed[1].epoch)
    print(json.dumps({
        "status": log.status,
        "ids": [sample.id for sample in log.samples],
        "errors": sum(sample.error is not None for sample in log.samples),
        "accuracy": log.results.scores[0].metrics["accuracy"].value,
        "values": [s.scores["medrcube"].value for s in log.samples if s.scores],
        "image": one.input[0].content[0].image,
        "completion": one.output.completion,
        "tokens": log.stats.model_usage["test/odd"].total_tokens,
    }))
"""


@pytest.mark.skipif(
    "MEDRCUBE_INSPECT_PYTHON" not in os.environ,
    reason="MEDRCUBE_INSPECT_PYTHON names no Python with inspect_ai",
)
def test_inspect_reads_it(run, tmp_path):
    paths = [tmp_path / "log.eval", tmp_path / "log.json"]
    for path in paths:
        export_inspect(run, path)
    python = os.environ["MEDRCUBE_INSPECT_PYTHON"]
    process = subprocess.run(
        [python, "-c", READ, *map(str, paths)], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    first, second = (json.loads(line) for line in process.stdout.splitlines())
    assert first == second
    assert (first["status"], first["errors"], first["tokens"]) == ("success", 4, 100)
    assert first["accuracy"] == pytest.approx(0.2)
    assert first["values"] == ["C", "I", "N", "N", "N"] * 2
    assert first["image"] == "ALPHA/pictures/p0.png"
    assert first["completion"] == "The answer is **A**."

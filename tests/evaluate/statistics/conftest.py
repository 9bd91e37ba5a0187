"""Scored runs with known answers, and the command that compares them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

import pytest

from medrcube.cli.app import main
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.runner.attempt_log import FILE
from medrcube.evaluate.runner.run import run_evaluation
from medrcube.evaluate.runner.run_folder import read_asked
from medrcube.evaluate.scoring import score


@pytest.fixture
def scored_run(tmp_path, write_release, row):
    """Make the run of a model that says the key of some questions, and another letter else."""

    def make(name, right, *, n=40, lost=(), release="r", conditions=("full",), **changes):
        root = tmp_path / release
        if not root.exists():
            rows = [row(i, **{"image_path": _picture(i // 2), **changes}) for i in range(n)]
            write_release(root, rows)
        out = tmp_path / name
        _write_run(root, out, name, right, lost, [Condition(condition) for condition in conditions])
        return out

    return make


def _picture(number):
    """A name of its own sum of characters, from which the bytes of the picture are made."""
    return f"pictures/{'p' * (number + 1)}.png"


def _write_run(root, out, name, right, lost, conditions):
    benchmark = load_benchmark(root)
    run_evaluation(benchmark, open_model("baseline/first"), out, conditions=conditions)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["model"]["name"] = name
    (out / "manifest.json").write_text(json.dumps(manifest))
    keys = {}
    for question in read_asked(out):
        number = int(question.item.id[1:])
        wrong = "B" if question.item.key == "A" else "A"
        keys[question.key] = (
            None if number in lost else question.item.key if number in right else wrong
        )
    lines = []
    for line in (out / FILE).read_text().splitlines():
        record = json.loads(line)
        if keys[record["key"]] is not None:
            lines.append(json.dumps({**record, "text": keys[record["key"]]}) + "\n")
    (out / FILE).write_text("".join(lines))
    score(out)


@pytest.fixture
def benchmark_run(tmp_path):
    """Make a run of some items of the release that ``scored_run`` made."""

    def make(name, limit, *, release="r"):
        model = open_model("baseline/first")
        run_evaluation(load_benchmark(tmp_path / release), model, tmp_path / name, limit=limit)
        return tmp_path / name

    return make


@dataclass(frozen=True)
class CommandResult:
    """How a command ended and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def compare_command(monkeypatch, capsys):
    """Run ``medrcube compare`` in this process: ``compare_command(run, other, "--json")``."""
    monkeypatch.setenv("COLUMNS", "100")

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["medrcube", "compare", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        out, err = capsys.readouterr()
        return CommandResult(stopped.value.code or 0, out, err)

    return run

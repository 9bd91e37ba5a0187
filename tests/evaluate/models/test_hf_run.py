"""Whole runs of a local model by the command line: self-checked, killed, resumed, scored."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from medrcube.cli.app import app

COMMAND = "import sys; from medrcube.cli.app import main; sys.argv[0] = 'medrcube'; main()"


@pytest.fixture
def release(tmp_path, write_release, row, picture):
    """Thirty-two items on sixteen pictures of several shapes."""
    rows = [row(n, question=f"What {'really ' * (n % 5)}is {n}?") for n in range(32)]
    root = write_release(tmp_path / "release", rows)
    for number in range(16):
        file = picture(40 + 20 * (number % 4), 40 + 30 * (number % 3), seed=number)
        (root / f"ALPHA/pictures/p{number}.png").write_bytes(file.data)
    return root


def evaluate(*arguments):
    result = CliRunner().invoke(app, ["evaluate", *map(str, arguments), "--json"])
    return result.exit_code, result


def replies(out: Path):
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return {row["id"]: row["reply"] for row in rows}


def attempts(out: Path):
    path = out / "attempts.jsonl"
    return path.read_text().count('"status":"reply"') if path.exists() else 0


@pytest.mark.thorough
def test_a_run_is_batched_self_checked_and_scored(tiny, release, tmp_path):
    out = tmp_path / "run"
    model = f"hf/{tiny('qwen2-vl')}"
    code, result = evaluate(
        release, "--model", model, "--out", out, "--batch-size", 4, "--max-tokens", 4,
        "--scoring", "likelihood", "--selfcheck", "--condition", "full", "--condition", "blind",
    )  # fmt: skip
    assert code == 0, (result.output, result.exception)
    manifest = json.loads((out / "manifest.json").read_text())
    proof = manifest["selfcheck"]
    assert (proof["disagreements"], proof["blind"], proof["together"]) == ([], 4, 4)
    assert manifest["model"]["parameters"]["scoring"] == "likelihood"
    assert set(replies(out).values()) <= set("ABCD")
    records = [json.loads(line) for line in (out / "attempts.jsonl").read_text().splitlines()]
    assert all(set(record["scores"]) == set("ABCD") for record in records)
    assert manifest["sessions"][0]["connections"]["highest"] == 16


def test_a_run_that_fails_the_check_asks_nothing(tiny, release, tmp_path, monkeypatch, hf_engine):
    monkeypatch.setattr(hf_engine, "PADDING", "right")
    out = tmp_path / "run"
    model = f"hf/{tiny('llava')}"
    code, result = evaluate(
        release, "--model", model, "--out", out, "--max-tokens", 4, "--selfcheck"
    )
    assert code != 0
    assert "questions differently" in str(result.exception)
    assert not out.exists()


@pytest.mark.thorough
@pytest.mark.untraced
def test_a_killed_run_goes_on_and_ends_like_an_unbroken_one(tiny, release, tmp_path):
    arguments = [
        "evaluate", str(release), "--model", f"hf/{tiny('qwen2-vl')}",
        "--batch-size", "4", "--max-tokens", "60",
    ]  # fmt: skip
    killed, unbroken = tmp_path / "killed", tmp_path / "unbroken"
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments, "--out", str(killed)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 120
        while attempts(killed) < 5 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.005)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    count = attempts(killed)
    assert 5 <= count < 32
    # Random weights talk until they are cut, which a run ends with 3 for.
    code, result = evaluate(*arguments[1:], "--out", killed)
    assert code == 3, (result.output, result.exception)
    summary = json.loads(result.stdout)
    assert (summary["reused"], summary["answered"]) == (count, 32 - count)
    assert evaluate(*arguments[1:], "--out", unbroken)[0] == 3
    assert replies(killed) == replies(unbroken)
    assert len(replies(killed)) == 32

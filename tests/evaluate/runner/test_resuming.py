"""A run that was killed goes on as if nothing had happened, and quickly."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from medrcube.errors import WorkspaceError
from medrcube.evaluate import dataset as benchmark_module
from medrcube.evaluate import scoring
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.html_report import write_report
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.reporting.scored_runs import load_runs
from medrcube.evaluate.reporting.usage_table import run_usage
from medrcube.evaluate.runner.attempt_log import AttemptLog, open_log, read_attempts
from medrcube.evaluate.runner.image_digests import FILE as LOCK
from medrcube.evaluate.runner.image_digests import read_lock
from medrcube.evaluate.runner.run import run_evaluation

KEY = "sk-canary-0123456789abcdef"
LONG_AGO = 1_600_000_000


@pytest.fixture
def settled(release):
    """A release whose pictures have lain there for years."""
    for picture in (release / "ALPHA/pictures").iterdir():
        os.utime(picture, (LONG_AGO, LONG_AGO))
    return release


@pytest.fixture
def reads(monkeypatch):
    """Pictures that are read to learn their digest."""
    images = []
    digest = benchmark_module.digest_image
    monkeypatch.setattr(
        benchmark_module,
        "digest_image",
        lambda root, image: images.append(image) or digest(root, image),
    )
    return images


def files(run):
    return {path.name: path.read_bytes() for path in run.iterdir()}


def start(release, run, url, **environment):
    command = ["evaluate", str(release), "--model", "openai/stub", "--out", str(run)]
    code = "import sys; from medrcube.cli.app import main; sys.argv[0] = 'medrcube'; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *command, "--base-url", url, "--max-connections", "3"],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def report_files(run, folder, release):
    """Every file of a report of a run, by name."""
    write_report([run], folder / "report.html", release, folder / "tables")
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture
def by_its_question(completion, problem):
    """Replies follow from what is asked alone; how often a try fails does not."""

    def behave(number, body):
        if number % 11 == 5:
            return problem(500, "busy for a moment")
        time.sleep(0.02 + 0.001 * (number % 7))
        text = "".join(part.get("text", "") for part in body["messages"][0]["content"])
        lot = sum(text.encode()) + len(body["messages"][0]["content"])
        answer = completion("ABCD?"[lot % 5])
        answer.body["usage"] = {"prompt_tokens": lot, "completion_tokens": 1}
        return answer

    return behave


@pytest.mark.thorough
@pytest.mark.untraced
def test_kill_9_at_any_moment_loses_only_what_was_under_way(
    write_release, row, tmp_path, server, by_its_question
):
    root = write_release(tmp_path / "r", [row(n) for n in range(60)])
    server.behave = by_its_question
    rng = random.Random(8)
    killed, whole = tmp_path / "killed/run", tmp_path / "whole/run"
    for _ in range(3):
        child = start(root, killed, server.url)
        before = len(server.requests)
        moment = rng.randint(3, 17)
        deadline = time.monotonic() + 30
        while len(server.requests) - before < moment and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(rng.random() * 0.03)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    tried = list(read_attempts(killed / "attempts.jsonl"))
    keys = [record["key"] for record in tried if record["status"] == "reply"]
    assert len(keys) == len(set(keys)) > 0
    assert len(server.requests) - len(tried) <= 3 * 3

    model = open_model("openai/stub", ModelSettings(base_url=server.url))
    conditions = [Condition.FULL, Condition.BLIND]
    summary = run_evaluation(load_benchmark(root), model, killed, conditions=conditions)
    assert (summary.reused, summary.failed) == (len(keys), 0)
    replies = [r["key"] for r in read_attempts(killed / "attempts.jsonl") if r["status"] == "reply"]
    assert len(replies) == len(set(replies)) == 120

    run_evaluation(load_benchmark(root), model, whole, conditions=conditions)
    for name in ("results.jsonl", "outcomes.jsonl", "results.json", "metrics.json", "asked.jsonl"):
        assert files(killed)[name] == files(whole)[name], name
    after_kills = report_files(killed, tmp_path / "report-1", root)
    assert after_kills == report_files(whole, tmp_path / "report-2", root)
    assert {Path(name).suffix for name in after_kills} == {".html", ".csv", ".json", ".parquet"}
    assert (run_usage(killed).sessions, run_usage(whole).sessions) == (4, 1)


@pytest.mark.thorough
def test_a_run_that_is_stopped_by_hand_says_that_it_goes_on(
    write_release, row, tmp_path, server, by_its_question
):
    root = write_release(tmp_path / "r", [row(n) for n in range(200)])
    server.behave = by_its_question
    child = start(root, tmp_path / "run", server.url)
    deadline = time.monotonic() + 60
    while len(server.requests) < 12 and time.monotonic() < deadline:
        time.sleep(0.005)
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert (child.returncode, "run the same command again to resume" in output) == (130, True), (
        output
    )
    assert "Traceback" not in output
    count = sum(r["status"] == "reply" for r in read_attempts(tmp_path / "run/attempts.jsonl"))
    model = open_model("openai/stub", ModelSettings(base_url=server.url))
    summary = run_evaluation(load_benchmark(root), model, tmp_path / "run")
    assert (summary.reused, summary.answered) == (count, 200 - count)


def test_a_process_killed_after_the_last_reply_leaves_a_run_that_can_end(
    benchmark, tmp_path, scripted_model
):
    run = tmp_path / "run"
    run_evaluation(benchmark, scripted_model(), run)
    whole = json.loads((run / "manifest.json").read_text())
    session = {**whole["sessions"][0], "ended": None}
    killed = {**whole, "ended": None, "sessions": [session], "models": []}
    (run / "manifest.json").write_text(json.dumps(killed))
    assert load_runs([run])[0].unfinished
    assert run_evaluation(benchmark, scripted_model(), run).reused == 8
    assert not load_runs([run])[0].unfinished
    assert json.loads((run / "manifest.json").read_text())["models"] == ["s"]


def test_a_session_that_was_killed_counts_until_its_last_try(benchmark, tmp_path, scripted_model):
    run = tmp_path / "run"
    run_evaluation(benchmark, scripted_model(), run)
    manifest = json.loads((run / "manifest.json").read_text())
    sessions = [
        {"started": "2026-01-01T00:00:00+00:00", "ended": None},
        {"started": "2026-01-01T02:00:00+00:00", "ended": "2026-01-01T02:03:00+00:00"},
        {"started": "2026-01-01T04:00:00+00:00", "ended": None},
    ]
    (run / "manifest.json").write_text(json.dumps({**manifest, "sessions": sessions}))
    record = {"key": "k", "try": 1, "status": "reply", "usage": {"prompt_tokens": 3}}
    tries = [
        {**record, "at": "2026-01-01T00:01:00+00:00", "latency": 30.0},
        {**record, "at": "2026-01-01T02:02:00+00:00", "latency": 1.0},
        {"key": "j", "at": "2026-01-01T02:02:00+00:00", "status": "error", "code": "429"},
    ]
    (run / "attempts.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in tries))
    took = run_usage(run)
    assert (took.sessions, took.minutes) == (3, 1.5 + 3.0)
    assert (took.tries, took.failed, took.usage) == (3, {"429": 1}, {"prompt_tokens": 6})
    assert (took.median_latency, took.cost) == (30.0, None)


def test_a_run_that_is_complete_stays_byte_for_byte(settled, tmp_path, scripted_model):
    run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
    before = files(tmp_path / "run")
    run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
    assert files(tmp_path / "run") == before


def test_a_complete_run_is_not_scored_again_unless_its_scores_are_gone(
    benchmark, tmp_path, scripted_model, monkeypatch
):
    run = tmp_path / "run"
    run_evaluation(benchmark, scripted_model(), run)
    scored = []
    score = scoring.score
    monkeypatch.setattr(scoring, "score", lambda out: scored.append(out) or score(out))
    run_evaluation(benchmark, scripted_model(), run)
    assert scored == []
    (run / "results.jsonl").unlink()
    run_evaluation(benchmark, scripted_model(), run)
    assert scored == [run]
    assert (run / "results.jsonl").exists()


def test_pictures_that_look_unchanged_are_not_read_again(settled, tmp_path, scripted_model, reads):
    run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
    assert len(reads) == 4
    reads.clear()
    run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
    assert reads == []
    run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run", recheck=True)
    assert len(reads) == 4


@pytest.mark.few(1)
@pytest.mark.parametrize("what", ["time", "size", "inode"])
def test_a_picture_that_looks_changed_is_read_again(settled, tmp_path, scripted_model, reads, what):
    run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
    reads.clear()
    picture = settled / "ALPHA/pictures/p1.png"
    data = picture.read_bytes()
    if what == "time":
        os.utime(picture, ns=(LONG_AGO * 10**9, LONG_AGO * 10**9 + 1))
    elif what == "inode":
        (settled / "new").write_bytes(data)
        (settled / "new").replace(picture)
        os.utime(picture, (LONG_AGO, LONG_AGO))
    else:
        picture.write_bytes(data + b"x")
        os.utime(picture, (LONG_AGO, LONG_AGO))
        with pytest.raises(WorkspaceError, match="another dataset"):
            run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
        assert reads == ["ALPHA/pictures/p1.png"]
        return
    run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
    assert reads == ["ALPHA/pictures/p1.png"]


def test_the_time_of_a_picture_that_was_just_written_is_not_believed(
    release, tmp_path, scripted_model, reads
):
    soon = time.time() + 3600  # however long the run takes
    for picture in release.rglob("*.png"):
        os.utime(picture, (soon, soon))
    run_evaluation(load_benchmark(release), scripted_model(), tmp_path / "run")
    lock = read_lock(tmp_path / "run" / LOCK)
    assert {digest.mtime_ns for digest in lock.values()} == {None}
    reads.clear()
    run_evaluation(load_benchmark(release), scripted_model(), tmp_path / "run")
    assert len(reads) == 4


@pytest.mark.few(2)
@pytest.mark.parametrize("text", ["", "garbage", '{"image": "x"}\n', "[1]\n", "\xff"])
def test_a_damaged_lock_only_costs_time(settled, tmp_path, scripted_model, reads, text):
    run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
    (tmp_path / "run" / LOCK).write_text(text, "latin-1")
    reads.clear()
    summary = run_evaluation(load_benchmark(settled), scripted_model(), tmp_path / "run")
    assert (len(reads), summary.reused) == (4, 8)


def test_a_process_killed_before_its_first_file_was_whole_blocks_nothing(
    benchmark, tmp_path, scripted_model
):
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.abc.partial").write_text("{")
    assert run_evaluation(benchmark, scripted_model(), tmp_path / "run").answered == 8


def test_a_process_killed_while_it_listed_the_questions_blocks_nothing(
    benchmark, tmp_path, scripted_model
):
    run = tmp_path / "run"
    run_evaluation(benchmark, scripted_model(), run)
    whole = files(run)
    manifest = json.loads(whole["manifest.json"])
    (run / "manifest.json").write_text(json.dumps({**manifest, "listed": None}))
    (run / "asked.jsonl").unlink()
    run_evaluation(benchmark, scripted_model(), run)
    assert files(run)["asked.jsonl"] == whole["asked.jsonl"]


def test_the_manifest_tells_versions_sessions_and_who_answered(benchmark, tmp_path, scripted_model):
    run = tmp_path / "run"
    run_evaluation(benchmark, scripted_model(), run, limit=3)
    run_evaluation(benchmark, scripted_model(), run)
    manifest = json.loads((run / "manifest.json").read_text())
    assert {"python", "medrcube", "openai"} <= set(manifest["versions"])
    assert [s["answered"] for s in manifest["sessions"]] == [3, 5]
    assert manifest["models"] == ["s"]
    assert len(manifest["dataset"]["digest"]) == 64


def test_a_full_disk_stops_the_run_with_its_reason(tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    async def write(log):
        await asyncio.gather(*(log.append({"key": n}) for n in range(5)), return_exceptions=False)

    monkeypatch.setattr(os, "fsync", full)
    path = tmp_path / "attempts.jsonl"
    with (
        pytest.raises(WorkspaceError, match="No space left"),
        open_log(path) as log,
    ):
        asyncio.run(write(log))


def test_what_waited_for_the_disk_is_written_when_the_loop_is_stopped(tmp_path):
    path = tmp_path / "attempts.jsonl"

    async def leave(log: AttemptLog) -> None:
        tasks = [asyncio.create_task(log.append({"key": n})) for n in range(3)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()

    with open_log(path) as log:
        asyncio.run(leave(log))
    assert sorted(record["key"] for record in read_attempts(path)) == [0, 1, 2]


def test_records_share_the_waiting_for_the_disk(tmp_path, monkeypatch):
    syncs, fsync = [], os.fsync

    def slow(descriptor):
        syncs.append(descriptor)
        time.sleep(0.01)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)

    async def write(log):
        await asyncio.gather(*(log.append({"key": n}) for n in range(200)))

    with open_log(tmp_path / "attempts.jsonl") as log:
        asyncio.run(write(log))
    assert len(list(read_attempts(tmp_path / "attempts.jsonl"))) == 200
    assert len(syncs) < 20


@pytest.mark.thorough
def test_the_key_shows_nowhere(write_release, row, tmp_path, server, completion, problem):
    root = write_release(tmp_path / "r", [row(n) for n in range(12)])

    def telltale(number, body):
        time.sleep(0.05)
        if number == 1:
            return problem(500, f"crashed while handling key {KEY}")
        return completion(f"Your key is {KEY}. Answer: A")

    server.behave = telltale
    child = start(
        root, tmp_path / "run", server.url, OPENAI_API_KEY=KEY, OPENAI_LOG="debug", TERM="dumb"
    )
    deadline = time.monotonic() + 30
    while len(server.requests) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    title = Path(f"/proc/{child.pid}/cmdline")
    title_text = title.read_bytes() if title.exists() else b""
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0, output
    headers = {name.lower(): value for name, value in server.headers[0].items()}
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "500: crashed while handling key [key]" in output
    content = b"".join(files(tmp_path / "run").values()) + title_text + output.encode()
    assert KEY.encode() not in content

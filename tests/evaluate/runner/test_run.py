"""A run keeps every reply, loses none to a crash, and goes on where it stopped."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from medrcube.errors import ModelError, ReleaseError, WorkspaceError
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.protocol import RejectedError, TransientError
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.runner.attempt_log import open_log, read_attempts
from medrcube.evaluate.runner.run import run_evaluation


def outcomes(run):
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    return {row["id"]: row["outcome"] for row in rows}


def test_every_item_is_asked_once(benchmark, tmp_path, scripted_model):
    model = scripted_model()
    summary = run_evaluation(benchmark, model, tmp_path / "run")
    assert sorted(r.item for r in model.requests) == sorted(i.name for i in benchmark.items)
    assert (summary.asked, summary.answered, summary.exit_code) == (8, 8, 0)


def test_questions_on_one_picture_stand_together(load, row, tmp_path, scripted_model):
    rows = [row(n, image_path=f"pictures/{n % 2}.png") for n in range(6)]
    model = scripted_model()
    run_evaluation(load(*rows), model, tmp_path / "run", max_connections=1)
    digests = [request.picture.sha256 for request in model.requests]
    assert digests == sorted(digests, key=digests.index)
    assert len(set(digests)) == 2


def test_the_pool_is_bounded_and_full(benchmark, tmp_path, scripted_model):
    model = scripted_model(seconds=0.05)
    run_evaluation(benchmark, model, tmp_path / "run", max_connections=3)
    assert model.most == 3


def test_a_second_run_asks_nothing(benchmark, tmp_path, scripted_model):
    run_evaluation(benchmark, scripted_model(), tmp_path / "run")
    before = (tmp_path / "run/metrics.json").read_bytes()
    again = scripted_model()
    summary = run_evaluation(benchmark, again, tmp_path / "run")
    assert (again.requests, summary.reused, summary.answered) == ([], 8, 0)
    assert (tmp_path / "run/metrics.json").read_bytes() == before


def test_a_limit_draws_a_sample_that_a_larger_limit_keeps(benchmark, tmp_path, scripted_model):
    few, more = scripted_model(), scripted_model()
    run_evaluation(benchmark, few, tmp_path / "run", limit=3)
    summary = run_evaluation(benchmark, more, tmp_path / "run", limit=5)
    assert (len(few.requests), len(more.requests), summary.reused) == (3, 2, 3)


def test_an_item_without_picture_is_never_asked(load, row, release, tmp_path, scripted_model):
    (release / "ALPHA/pictures/p0.png").unlink()
    model = scripted_model()
    summary = run_evaluation(load_benchmark(release), model, tmp_path / "run")
    assert not {"ALPHA/q000", "ALPHA/q001"} & {request.item for request in model.requests}
    assert outcomes(tmp_path / "run")["q000"] == "missing-image"
    assert (summary.missing, summary.too_many_failures, summary.exit_code) == (2, True, 3)


def test_an_item_that_names_no_picture_is_never_asked(load, row, tmp_path, scripted_model):
    model = scripted_model()
    run_evaluation(load(row(0, image_path=None), row(1)), model, tmp_path / "run")
    assert [request.item for request in model.requests] == ["ALPHA/q001"]


def test_a_failure_is_recorded_and_asked_again_next_time(benchmark, tmp_path, fast, scripted_model):
    def refuse_one(request):
        if request.item == "ALPHA/q003":
            raise RejectedError("too large", code="413")
        return "A"

    summary = run_evaluation(benchmark, scripted_model(refuse_one), tmp_path / "run", retry=fast)
    assert (summary.failed, outcomes(tmp_path / "run")["q003"]) == (1, "failed")
    healed = scripted_model()
    run_evaluation(benchmark, healed, tmp_path / "run", retry=fast)
    assert [request.item for request in healed.requests] == ["ALPHA/q003"]
    assert outcomes(tmp_path / "run")["q003"] == "wrong"


def test_a_transient_error_is_repeated_and_bounded(benchmark, tmp_path, fast, scripted_model):
    def down_for_one(request):
        if request.item == "ALPHA/q003":
            raise TransientError("busy", code="500")
        return "A"

    model = scripted_model(down_for_one)
    run_evaluation(benchmark, model, tmp_path / "run", retry=fast)
    assert sum(r.item == "ALPHA/q003" for r in model.requests) == fast.attempts


def test_a_run_stops_when_nobody_answers_any_more(load, row, tmp_path, fast, scripted_model):
    def dies(request):
        if request.item != "ALPHA/q000":
            raise TransientError("connection refused", code="connection")
        return "A"

    model = scripted_model(dies)
    benchmark = load(*(row(n) for n in range(60)))
    with pytest.raises(ModelError, match=r"in a row failed.*connection refused"):
        run_evaluation(benchmark, model, tmp_path / "run", retry=fast, max_connections=2)
    assert len({request.item for request in model.requests}) < 20


def test_refused_questions_do_not_stop_a_run_that_answers(
    load, row, tmp_path, fast, scripted_model
):
    def refuse_most(request):
        if request.item != "ALPHA/q000":
            raise RejectedError("no", code="400")
        return "A"

    benchmark = load(*(row(n) for n in range(30)))
    summary = run_evaluation(
        benchmark, scripted_model(refuse_most), tmp_path / "run", retry=fast, max_connections=1
    )
    assert summary.failed == 29


def test_scattered_failures_do_not_stop_a_run(load, row, tmp_path, fast, scripted_model):
    def every_second(request):
        if int(request.item[-3:]) % 2:
            raise TransientError("busy", code="500")
        return "A"

    benchmark = load(*(row(n) for n in range(40)))
    summary = run_evaluation(
        benchmark, scripted_model(every_second), tmp_path / "run", retry=fast, max_connections=1
    )
    assert (summary.answered, summary.failed, summary.exit_code) == (20, 20, 3)


def test_an_unusable_model_stops_the_run_and_keeps_what_came(benchmark, tmp_path, scripted_model):
    replies = iter("AAA")

    def revoked(_request):
        text = next(replies, None)
        if text is None:
            raise ModelError("key revoked")
        return text

    with pytest.raises(ModelError, match="key revoked"):
        run_evaluation(benchmark, scripted_model(revoked), tmp_path / "run", max_connections=1)
    summary = run_evaluation(benchmark, scripted_model(), tmp_path / "run")
    assert summary.reused == 3


def test_a_file_is_never_taken_for_the_folder_of_a_run(benchmark, tmp_path, scripted_model):
    (tmp_path / "run").write_text("precious")
    with pytest.raises(WorkspaceError, match="is a file; choose a folder"):
        run_evaluation(benchmark, scripted_model(), tmp_path / "run")


@pytest.mark.parametrize("part", ["model", "dataset"])
def test_a_folder_of_another_run_is_left_alone(benchmark, release, tmp_path, part, scripted_model):
    run_evaluation(benchmark, scripted_model(), tmp_path / "run")
    before = {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()}
    model = scripted_model(identity="2" if part == "model" else "1")
    if part == "dataset":
        (release / "ALPHA/pictures/p0.png").unlink()
    with pytest.raises(WorkspaceError, match=f"started with another {part}"):
        run_evaluation(load_benchmark(release), model, tmp_path / "run")
    assert {p.name: p.read_bytes() for p in (tmp_path / "run").iterdir()} == before
    assert model.requests == []


def test_a_folder_that_is_no_run_is_left_alone(benchmark, tmp_path, scripted_model):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(WorkspaceError, match="not a run"):
        run_evaluation(benchmark, scripted_model(), tmp_path)


def test_a_picture_that_changes_meanwhile_stops_the_run(benchmark, tmp_path, scripted_model):
    picture = benchmark.root / "ALPHA/pictures/p3.png"

    def change(_request):
        picture.write_bytes(picture.read_bytes() + b"x")
        return "A"

    model = scripted_model(change)
    with pytest.raises(ReleaseError, match="changed during"):
        run_evaluation(benchmark, model, tmp_path / "run", max_connections=1)
    assert not any(request.item in {"ALPHA/q006", "ALPHA/q007"} for request in model.requests)


def test_a_torn_last_line_is_cut_and_its_question_asked_again(benchmark, tmp_path, scripted_model):
    run = tmp_path / "run"
    run_evaluation(benchmark, scripted_model(), run)
    path = run / "attempts.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    model = scripted_model()
    run_evaluation(benchmark, model, run)
    assert len(model.requests) == 1
    records = list(read_attempts(path))
    assert len(records) == 8
    assert path.read_bytes().endswith(b"}\n")


def test_a_torn_last_line_is_passed_over_by_a_reader(tmp_path):
    path = tmp_path / "attempts.jsonl"
    path.write_bytes(b'{"key": 1}\n{"key": 2')
    assert list(read_attempts(path)) == [{"key": 1}]


def test_a_damaged_line_in_the_middle_is_named(benchmark, tmp_path, scripted_model):
    run = tmp_path / "run"
    run_evaluation(benchmark, scripted_model(), run)
    path = run / "attempts.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"garbage\n", *lines[1:]]))
    with pytest.raises(WorkspaceError, match=r"attempts\.jsonl:2"):
        run_evaluation(benchmark, scripted_model(), run)


def test_two_processes_cannot_write_to_one_run(tmp_path):
    path = tmp_path / "attempts.jsonl"
    with (
        open_log(path),
        pytest.raises(WorkspaceError, match="another process"),
        open_log(path),
    ):
        pass


def test_records_that_arrive_together_are_all_written(tmp_path):
    path = tmp_path / "attempts.jsonl"

    async def write() -> None:
        with open_log(path) as log:
            await asyncio.gather(
                *(log.append({"key": n, "text": "\ud800\u2028"}) for n in range(50))
            )

    asyncio.run(write())
    records = list(read_attempts(path))
    assert [record["key"] for record in records] == list(range(50))
    assert records[0]["text"] == "\ud800\u2028"


CHILD = """
import sys
from pathlib import Path
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.runner.run import run_evaluation
release, run, url = sys.argv[1:]
model = open_model("openai/stub", ModelSettings(base_url=url))
run_evaluation(load_benchmark(Path(release)), model, Path(run), max_connections=2)
"""


def replies_in(run):
    """How many replies of a run are on the disk."""
    path = run / "attempts.jsonl"
    return path.read_text().count('"status":"reply"') if path.exists() else 0


@pytest.mark.thorough
@pytest.mark.untraced
def test_kill_9_loses_only_what_was_under_way(write_release, row, tmp_path, server, completion):
    root = write_release(tmp_path / "r", [row(n) for n in range(30)])
    run = tmp_path / "run"
    gate = threading.Event()

    def hang_after_ten(number, _body):
        if number >= 10:
            gate.wait(120)
        return completion("A")

    server.behave = hang_after_ten
    arguments = [sys.executable, "-c", CHILD, str(root), str(run), server.url]
    child = subprocess.Popen(arguments)
    deadline = time.monotonic() + 100
    while (replies_in(run) < 10 or len(server.requests) < 12) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    gate.set()
    assert replies_in(run) == 10

    count = len(server.requests)
    server.behave = lambda _n, _b: completion("A")
    model = open_model("openai/stub", ModelSettings(base_url=server.url))
    summary = run_evaluation(load_benchmark(root), model, run)
    assert (summary.reused, summary.answered) == (10, 20)
    assert len(server.requests) - count == 20


def test_a_question_that_two_items_share_is_no_reply_of_an_earlier_session(
    load, row, tmp_path, scripted_model
):
    benchmark = load(row(0), row(4, image_path="pictures/p0.png", question=row(0)["question"]))
    model = scripted_model()
    summary = run_evaluation(benchmark, model, tmp_path / "run")
    assert len(model.requests) == 1
    assert (summary.asked, summary.answered, summary.shared, summary.reused) == (2, 1, 1, 0)
    assert set(outcomes(tmp_path / "run").values()) == {"correct"}
    again = run_evaluation(benchmark, scripted_model(), tmp_path / "run")
    assert (again.answered, again.shared, again.reused) == (0, 1, 1)


def test_progress_tells_what_was_reused_and_what_is_done(benchmark, tmp_path, scripted_model):
    run_evaluation(benchmark, scripted_model(), tmp_path / "run", limit=3)
    updates = []
    run_evaluation(benchmark, scripted_model(), tmp_path / "run", on_progress=updates.append)
    assert (updates[0].reused, updates[0].total, updates[0].done_count) == (3, 8, 0)
    assert updates[-1].done_count == 5

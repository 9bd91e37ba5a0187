"""A run in batches may be killed at any moment: it goes on, and pays for nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter

import pytest

from medrcube.errors import WorkspaceError
from medrcube.evaluate.runner.attempt_log import read_attempts
from medrcube.evaluate.runner.batches import tally
from medrcube.evaluate.runner.batches.ledger import FILE, BatchLedger, open_batches
from medrcube.evaluate.runner.batches.tally import BatchTally

CODE = """
import sys
from pathlib import Path
from medrcube.evaluate.dataset import load_benchmark
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.runner.run import Polling, run_evaluation
release, model, url, out = sys.argv[1:]
run_evaluation(
    load_benchmark(Path(release)),
    open_model(model, ModelSettings(base_url=url)),
    Path(out),
    batches=Polling(first=0.02, longest=0.1, settled=0.3),
)
"""
STEPS = {
    "openai": {
        "the upload": ("POST", "files"),
        "the batch was taken": ("POST", "batches"),
        "a look": ("GET", "batches/*"),
        "results": ("GET", "files/*/content"),
        "deletion": ("DELETE", "files/*"),
    },
    "anthropic": {
        "the batch was taken": ("POST", "messages/batches"),
        "a look": ("GET", "messages/batches/*"),
        "results": ("GET", "messages/batches/*/results"),
        "deletion": ("DELETE", "messages/batches/*"),
    },
}


def replies(out):
    records = read_attempts(out / "attempts.jsonl")
    return Counter(record["key"] for record in records if record["status"] == "reply")


@pytest.fixture
def killed(provider, release_of, tmp_path):
    """Run in a process of its own that is killed when the provider has done a step."""

    def at(step, count=12):
        where = STEPS[provider.kind][step]
        arguments = [str(release_of(count)), provider.model, provider.url, str(tmp_path / "run")]
        child = subprocess.Popen([sys.executable, "-c", CODE, *arguments])

        def kill(method, path):
            if (method, path) == where:
                provider.before = lambda _method, _path: None
                os.kill(child.pid, signal.SIGKILL)
                child.wait()

        provider.before = kill
        assert child.wait(timeout=60) == -signal.SIGKILL

    return at


@pytest.mark.thorough
@pytest.mark.untraced
@pytest.mark.parametrize(
    ("provider", "step"),
    [(kind, step) for kind, steps in STEPS.items() for step in steps],
    indirect=["provider"],
)
def test_kill_9_loses_nothing_and_nothing_is_paid_twice(provider, killed, run, tmp_path, step):
    killed(step)
    summary = run()
    assert (summary.failed, summary.exit_code) == (0, 0)
    assert summary.reused + summary.answered == 12
    assert set(provider.paid.values()) == {1}
    assert set(replies(tmp_path / "run").values()) == {1}
    assert not open_batches(tmp_path / "run")
    assert not list((tmp_path / "run").glob("*.partial"))


@pytest.mark.thorough
@pytest.mark.untraced
@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
def test_a_batch_of_somebody_else_is_never_taken_for_ours(provider, killed, run, tmp_path):
    killed("the batch was taken")
    ours = provider.batches[0]
    other = [(f"theirs-{number}", body) for number, (_, body) in enumerate(ours.asks)]
    provider.batches.insert(0, type(ours)(id="batch-99", asks=other, created=ours.created))
    provider.batches.append(type(ours)(id="batch-98", asks=other, created=ours.created))
    run()
    assert "batch-98" not in (tmp_path / "run" / FILE).read_text()
    assert "batch-99" not in (tmp_path / "run" / FILE).read_text()
    assert set(provider.paid.values()) == {1}


def test_a_stop_between_the_replies_and_their_record_keeps_each_reply_once(
    provider, run, tmp_path, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(BatchLedger, "log_kept", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run()
    assert len(open_batches(tmp_path / "run")) == 1
    assert run().exit_code == 0
    assert set(replies(tmp_path / "run").values()) == {1}
    assert set(provider.paid.values()) == {1}


def test_a_stop_amid_the_replies_keeps_the_others_on_the_next_start(
    provider, run, tmp_path, monkeypatch
):
    monkeypatch.setattr(tally, "_TOGETHER", 4)
    whole, calls = BatchTally._record_all, []

    async def once(self, *arguments):
        calls.append(arguments)
        if len(calls) > 1:
            raise KeyboardInterrupt
        await whole(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(BatchTally, "_record_all", once)
        with pytest.raises(KeyboardInterrupt):
            run()
    assert len(replies(tmp_path / "run")) == 1 + 4
    summary = run()
    assert (summary.reused, summary.answered, summary.failed) == (5, 7, 0)
    assert set(replies(tmp_path / "run").values()) == {1}
    assert set(provider.paid.values()) == {1}


def test_ctrl_c_leaves_the_batches_and_the_same_command_fetches_them(provider, run, tmp_path):
    provider.looks = 10**9

    def stop(progress):
        if progress.waiting:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(on_progress=stop)
    assert len(open_batches(tmp_path / "run")) == 1
    provider.looks = 0
    assert run().answered == 11
    assert set(provider.paid.values()) == {1}


def test_what_a_smaller_run_sent_is_fetched_although_it_is_not_asked_for(provider, run, tmp_path):
    provider.looks = 10**9

    def stop(progress):
        if progress.waiting:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(on_progress=stop)
    provider.looks = 0
    run(limit=3)
    assert len(replies(tmp_path / "run")) == 12


def test_a_torn_last_line_of_the_list_of_batches_is_cut(provider, run, tmp_path):
    run()
    with (tmp_path / "run" / FILE).open("ab") as file:
        file.write(b'{"event": "planned", "tok')
    assert run().reused == 12
    assert set(provider.paid.values()) == {1}


def test_a_list_of_batches_that_was_changed_is_named(run, tmp_path):
    run()
    with (tmp_path / "run" / FILE).open("ab") as file:
        file.write(b'{"event": "created", "token": "unknown", "batch": "b"}\n')
    with pytest.raises(WorkspaceError, match=FILE):
        run()

"""A session finds a mistake at once, loses nothing to a rate limit, and stays within its bounds."""

from __future__ import annotations

import json
import re
import threading
import time

import pytest

from medrcube.errors import ModelError
from medrcube.evaluate.models.openai_api import request_body
from medrcube.evaluate.models.protocol import RejectedError, TransientError
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.conditions import Condition
from medrcube.evaluate.runner import request_builder, run_session
from medrcube.evaluate.runner.attempt_log import FILE as ATTEMPTS
from medrcube.evaluate.runner.attempt_log import AttemptLog, read_attempts
from medrcube.evaluate.runner.run import Prices, run_evaluation
from medrcube.evaluate.runner.run_state import Rate
from medrcube.evaluate.runner.scheduling.retry_policy import RetryPolicy
from medrcube.evaluate.runner.scheduling.stall_watchdog import Watchdog
from medrcube.evaluate.stored_scores import read_metrics

USAGE = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
"""Costs one dollar at a price of one dollar for a million tokens."""

PRICES = Prices(tokens_in=1.0, tokens_out=5.0)


@pytest.fixture
def endpoint(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return lambda **settings: open_model(
        "openai/stub", ModelSettings(base_url=server.url, **settings)
    )


def manifest(run):
    return json.loads((run / "manifest.json").read_text())


@pytest.mark.parametrize(
    ("status", "error"),
    [(401, {}), (403, {}), (404, {}), (400, {"code": "model_not_found"})],
)
def test_an_unusable_model_is_told_after_one_question_with_the_servers_words(
    benchmark, server, problem, endpoint, tmp_path, status, error
):
    server.behave = lambda _n, _b: problem(status, "these were the words", **error)
    with pytest.raises(ModelError, match="these were the words") as excinfo:
        run_evaluation(benchmark, endpoint(), tmp_path / "run")
    assert excinfo.value.exit_code == 2
    assert len(server.requests) == 1


def test_nobody_at_the_address_is_told_after_three_tries(benchmark, tmp_path):
    model = open_model("openai/stub", ModelSettings(base_url="http://127.0.0.1:9/v1"))
    patient = RetryPolicy(attempts=50, first_wait=0.01, longest_wait=0.01)
    with pytest.raises(ModelError, match=r"first question got no reply.*connection failed"):
        run_evaluation(benchmark, model, tmp_path / "run", retry=patient)
    assert len(list(read_attempts(tmp_path / "run/attempts.jsonl"))) == run_session.PROBE_TRIES


def test_the_first_question_is_asked_alone_and_its_answer_is_kept(
    benchmark, tmp_path, scripted_model
):
    together = []
    model = scripted_model(lambda _request: together.append(model.now) or "A")
    run_evaluation(benchmark, model, tmp_path / "run", max_connections=8)
    assert len(model.requests) == 8
    assert together[0] == 0
    assert max(together) > 0


def test_a_first_question_that_is_refused_itself_does_not_stop_the_run(
    benchmark, tmp_path, scripted_model
):
    def refuse_first(request):
        if request.item == "ALPHA/q000":
            raise RejectedError("too large", code="413")
        return "A"

    summary = run_evaluation(benchmark, scripted_model(refuse_first), tmp_path / "run")
    assert (summary.answered, summary.failed) == (7, 1)


def test_a_server_that_takes_four_at_a_time_loses_nothing(
    load, row, server, completion, problem, endpoint, tmp_path
):
    lock, serving = threading.Lock(), [0, 0]

    def capped(_number, _body):
        with lock:
            if serving[0] >= 4:
                return problem(429, "too many at a time", headers={"Retry-After": "0.2"})
            serving[0] += 1
            serving[1] = max(serving)
        time.sleep(0.03)
        with lock:
            serving[0] -= 1
        return completion("A")

    server.behave = capped
    benchmark = load(*(row(n) for n in range(120)))
    summary = run_evaluation(benchmark, endpoint(), tmp_path / "run", max_connections=64)
    assert (summary.answered, summary.failed, serving[1]) == (120, 0, 4)
    refused = len(server.requests) - 120
    assert 0 < refused < 120
    connections = manifest(tmp_path / "run")["sessions"][0]["connections"]
    assert connections["changes"][-1]["limit"] < 16
    assert {"start", "refused"} <= {change["why"] for change in connections["changes"]}


def test_the_wait_that_the_server_asks_for_is_kept(
    load, row, server, completion, problem, endpoint, tmp_path
):
    at = []

    def once(number, _body):
        at.append(time.monotonic())
        return (
            problem(429, "wait", headers={"Retry-After": "0.5"}) if not number else completion("A")
        )

    server.behave = once
    impatient = RetryPolicy(first_wait=0.01, longest_wait=0.01)
    run_evaluation(load(row(0)), endpoint(), tmp_path / "run", retry=impatient)
    assert at[1] - at[0] >= 0.5


FAR = {"Retry-After": "Fri, 31 Dec 2099 23:59:59 GMT"}


@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_nobody_sits_out_ends_the_question_at_once_and_is_named(
    benchmark, server, completion, problem, endpoint, tmp_path, status
):
    server.behave = lambda n, _b: (
        problem(status, "busy", headers=FAR) if n == 3 else completion("A")
    )
    notes = []
    summary = run_evaluation(
        benchmark, endpoint(), tmp_path / "run", on_progress=lambda at: notes.append(at.note)
    )
    assert (summary.failed, summary.answered, len(server.requests)) == (1, 7, 8)
    assert any("asks for a wait of" in note and "the limit is 600 s" in note for note in notes)


def test_a_server_that_names_such_a_wait_at_first_stops_the_run(
    benchmark, server, problem, endpoint, tmp_path
):
    server.behave = lambda _n, _b: problem(429, "quota", headers=FAR)
    with pytest.raises(ModelError, match=r"429: quota; the server asks for a wait of"):
        run_evaluation(benchmark, endpoint(), tmp_path / "run")
    assert len(server.requests) == 1


def test_a_model_that_says_nothing_is_asked_once_and_is_unparsed(
    benchmark, server, completion, endpoint, tmp_path
):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    empty = [
        completion(""),
        completion(None, reason="tool_calls", tool_calls=[call]),
        completion(None, reasoning_content="It could be A."),
    ]
    server.behave = lambda n, _b: empty[n % 3]
    summary = run_evaluation(benchmark, endpoint(), tmp_path / "run")
    outcomes = read_metrics(tmp_path / "run")["global"]["outcomes"]
    assert (len(server.requests), summary.failed, outcomes["unparsed"]) == (8, 0, 8)


def test_a_question_that_failed_waits_longer_each_time(load, row, tmp_path, scripted_model):
    at = []

    def down_twice(_request):
        at.append(time.monotonic())
        if len(at) < 3:
            raise TransientError("down", code="500")
        return "A"

    patient = RetryPolicy(first_wait=0.2, longest_wait=10.0)
    run_evaluation(load(row(0)), scripted_model(down_twice), tmp_path / "run", retry=patient)
    assert at[1] - at[0] >= 0.1
    assert at[2] - at[1] >= 0.2


def test_a_rate_limit_and_other_errors_are_counted_apart(load, row, tmp_path, scripted_model, fast):
    errors = iter(["429"] * 10 + ["500"] * 2)

    def stumble(_request):
        code = next(errors, None)
        if code:
            raise TransientError("no", code=code, retry_after=0.001)
        return "A"

    summary = run_evaluation(load(row(0)), scripted_model(stumble), tmp_path / "run", retry=fast)
    assert summary.answered == 1


def test_a_fixed_pace_starts_at_its_bound(load, row, tmp_path, scripted_model):
    benchmark = load(*(row(n) for n in range(80)))
    slow, fast = scripted_model(), scripted_model()
    run_evaluation(benchmark, slow, tmp_path / "a", max_connections=40)
    run_evaluation(benchmark, fast, tmp_path / "b", max_connections=40, fixed_connections=True)
    first = {name: manifest(tmp_path / name)["sessions"][0]["connections"] for name in "ab"}
    assert [first[name]["changes"][0]["limit"] for name in "ab"] == [16, 40]


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_number_of_questions(load, row, tmp_path, scripted_model):
    models = [scripted_model(), scripted_model()]
    for number, model in zip((40, 400), models, strict=True):
        benchmark = load(*(row(n) for n in range(number)))
        run_evaluation(benchmark, model, tmp_path / str(number), max_connections=4)
    assert [model.most for model in models] == [4, 4]
    assert all(model.most_tasks < 4 + 8 for model in models)


def test_pictures_and_records_are_handled_beside_the_event_loop(
    benchmark, endpoint, server, tmp_path, monkeypatch
):
    main, threads = threading.main_thread(), []

    def noted(function):
        def call(*arguments, **named):
            threads.append((function.__name__, threading.current_thread()))
            return function(*arguments, **named)

        return call

    monkeypatch.setattr(request_builder, "read_picture", noted(request_builder.read_picture))
    monkeypatch.setattr(request_body, "sendable_bytes", noted(request_body.sendable_bytes))
    monkeypatch.setattr(AttemptLog, "_write", noted(AttemptLog._write))
    run_evaluation(benchmark, endpoint(), tmp_path / "run")
    assert {name for name, _ in threads} == {"read_picture", "sendable_bytes", "_write"}
    assert all(thread is not main for _, thread in threads)


def test_a_picture_is_read_and_encoded_once_for_questions_back_to_back(
    load, row, endpoint, server, tmp_path, monkeypatch
):
    images_read, encoded = [], []
    reader, encoder = request_builder.read_picture, request_body.sendable_bytes
    monkeypatch.setattr(
        request_builder,
        "read_picture",
        lambda *arguments: images_read.append(arguments) or reader(*arguments),
    )
    monkeypatch.setattr(
        request_body, "sendable_bytes", lambda picture: encoded.append(picture) or encoder(picture)
    )
    benchmark = load(*(row(n, image_path=f"pictures/{n // 10}.png") for n in range(30)))
    run_evaluation(benchmark, endpoint(), tmp_path / "run", max_connections=8)
    assert len(server.requests) == 30
    assert (len(images_read), len(encoded)) == (3, 3)


def test_conditions_share_the_questions_that_they_have_in_common(
    benchmark, tmp_path, scripted_model
):
    model = scripted_model()
    conditions = (Condition.FULL, Condition.CIRCULAR)
    summary = run_evaluation(benchmark, model, tmp_path / "run", conditions=conditions)
    assert (len(model.requests), summary.asked) == (8 * 4, 8 * 5)
    assert len({(r.prompt, r.picture.sha256) for r in model.requests}) == len(model.requests)


def test_a_condition_that_comes_later_asks_only_what_is_new(benchmark, tmp_path, scripted_model):
    run_evaluation(benchmark, scripted_model(), tmp_path / "run")
    model = scripted_model()
    conditions = (Condition.FULL, Condition.CIRCULAR, Condition.BLIND)
    run_evaluation(benchmark, model, tmp_path / "run", conditions=conditions)
    assert len(model.requests) == 8 * 3 + 8


def test_a_largest_cost_stops_the_run_and_keeps_what_was_answered(
    benchmark, tmp_path, scripted_model
):
    model = scripted_model(usage=USAGE)
    run = tmp_path / "run"
    summary = run_evaluation(benchmark, model, run, prices=PRICES, max_cost=3.5)
    assert (len(model.requests), summary.answered, summary.left) == (3, 3, 5)
    assert (summary.cost, summary.exit_code) == (3.0, 3)
    assert "3.5 US dollars" in summary.stopped
    assert manifest(run)["ended"] is None
    assert (run / "metrics.json").exists()


def test_the_cost_of_earlier_sessions_counts(benchmark, tmp_path, scripted_model):
    run = tmp_path / "run"
    run_evaluation(benchmark, scripted_model(usage=USAGE), run, prices=PRICES, max_cost=3.0)
    model = scripted_model(usage=USAGE)
    run_evaluation(benchmark, model, run, prices=PRICES, max_cost=3.0)
    assert model.requests == []
    summary = run_evaluation(benchmark, model, run, prices=PRICES, max_cost=100.0)
    assert (len(model.requests), summary.cost, summary.stopped) == (5, 8.0, None)
    assert manifest(run)["ended"] is not None


def test_tokens_are_paid_by_their_kind():
    usage = {"prompt_tokens": 2_000_000, "completion_tokens": 1_000_000, "total_tokens": 3_000_000}
    assert PRICES.cost(usage) == 7.0


def test_a_reply_that_is_none_is_paid_too(load, row, tmp_path, scripted_model, fast):
    def empty(_request):
        raise TransientError("empty", code="empty-reply", usage=USAGE)

    with pytest.raises(ModelError):
        run_evaluation(load(row(0)), scripted_model(empty), tmp_path / "run", retry=fast)
    summary = run_evaluation(
        load(row(0)), scripted_model(usage=USAGE), tmp_path / "run", prices=PRICES
    )
    assert summary.cost == run_session.PROBE_TRIES + 1


def test_a_largest_cost_without_prices_is_refused_before_anything_is_asked(
    benchmark, tmp_path, scripted_model
):
    model = scripted_model()
    with pytest.raises(ModelError, match="--price-in"):
        run_evaluation(benchmark, model, tmp_path / "run", max_cost=1.0)
    assert model.requests == []
    assert not (tmp_path / "run").exists()


def test_a_largest_cost_needs_a_server_that_counts_tokens(benchmark, tmp_path, scripted_model):
    model = scripted_model()
    with pytest.raises(ModelError, match="does not report the tokens"):
        run_evaluation(benchmark, model, tmp_path / "run", prices=PRICES, max_cost=1.0)
    assert len(model.requests) == 1


def test_a_model_that_hangs_is_cut_off_and_asked_again(benchmark, tmp_path, scripted_model, fast):
    def hang_once(_request):
        model.seconds = 0.002
        return "A"

    model = scripted_model(hang_once, seconds=30.0)

    def heal(progress):
        if progress.retries:
            model.seconds = 0.002

    summary = run_evaluation(
        benchmark, model, tmp_path / "run", retry=fast, timeout=0.5, on_progress=heal
    )
    assert (summary.answered, summary.failed) == (8, 0)
    records = list(read_attempts(tmp_path / "run/attempts.jsonl"))
    assert {r["code"] for r in records if r["status"] == "error"} == {"timeout"}


def test_a_stall_is_told_with_the_oldest_question(benchmark, tmp_path, scripted_model, monkeypatch):
    monkeypatch.setattr(run_session, "_TICK", 0.02)
    notes = set()
    run_evaluation(
        benchmark,
        scripted_model(seconds=0.3),
        tmp_path / "run",
        stalled_after=0.1,
        on_progress=lambda progress: notes.add(progress.note),
    )
    assert any("1 under way, the oldest is ALPHA/q000" in note for note in notes)


def test_the_watchdog_names_the_oldest_and_speaks_once_for_each_silence():
    dog = Watchdog(patience=30.0)
    dog.note_request("k1", "one", 0.0)
    dog.note_request("k2", "two", 5.0)
    assert dog.complaint(29.0) is None
    assert re.search(r"31 s; 2 under way, the oldest is one, sent 31 s ago", dog.complaint(31.0))
    assert dog.complaint(32.0) is None
    dog.ended("k1", 40.0)
    assert dog.complaint(69.0) is None
    assert "oldest is two, sent 66 s ago" in dog.complaint(71.0)
    dog.ended("k2", 72.0)
    assert dog.complaint(1000.0) is None


def test_the_watchdog_does_not_count_the_time_when_nothing_was_asked():
    dog = Watchdog(patience=30.0)
    dog.note_request("k1", "one", 0.0)
    dog.ended("k1", 1.0)
    dog.note_request("k2", "two", 500.0)
    assert dog.complaint(501.0) is None


def test_the_rate_is_that_of_the_last_half_minute():
    rate = Rate()
    assert rate.at(0.0, 0) is None
    assert rate.at(10.0, 100) == 10.0
    for second in range(11, 200):
        outcome = rate.at(float(second), 100 + second)
    assert outcome == pytest.approx(1.0)


def test_an_exception_of_a_model_is_one_line_with_model_item_and_error(
    benchmark, scripted_model, tmp_path
):
    def script(request):
        if request.item.endswith("q003"):
            raise IndexError("list index out of range")
        return "A"

    with pytest.raises(ModelError) as error_info:
        run_evaluation(benchmark, scripted_model(script), tmp_path / "run", max_connections=1)
    words = str(error_info.value)
    assert words.startswith("scripted/1 failed at ALPHA/q003: IndexError: list index out of range;")
    assert "\n" not in words
    assert isinstance(error_info.value.__cause__, IndexError)
    assert any(record["status"] == "reply" for record in read_attempts(tmp_path / "run" / ATTEMPTS))

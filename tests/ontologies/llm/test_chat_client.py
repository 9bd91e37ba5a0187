import gzip
import json
import os
import threading
import time

import pytest

from medrcube.build_settings import LlmSettings
from medrcube.errors import ModelError
from medrcube.ontologies.llm.chat_client import (
    CONNECTIONS,
    MOST_BYTES,
    STOP_AFTER,
    RetryTimes,
    ask_all,
)

SECRET = "sk-test-0123456789"  # noqa: S105 -- opens nothing
FAST = RetryTimes(tries=3, first_wait=0.01, longest_wait=0.3)


@pytest.fixture
def ask(endpoint, monkeypatch):
    """Ask prompts; gives the bill and the kept answers by prompt."""
    monkeypatch.setenv("TEST_KEY", SECRET)

    def run(*prompts, patience=FAST, **settings):
        answers = {}
        llm_settings = LlmSettings(
            **{
                "model": "m",
                "base_url": endpoint.url,
                "api_key_env": "TEST_KEY",
                "timeout": 60.0,
                **settings,
            }
        )
        parameters = {"max_tokens": llm_settings.max_tokens}
        bill = ask_all(prompts or ("p",), llm_settings, parameters, answers.__setitem__, patience)
        return bill, answers

    return run


def always(endpoint, behaviour):
    endpoint.behave = lambda _number, _body: behaviour


def test_a_prompt_is_sent_once_with_model_limit_and_key(endpoint, ask):
    bill, answers = ask("the prompt", max_tokens=77)
    (body,) = endpoint.requests
    assert body == {
        "model": "m",
        "max_tokens": 77,
        "messages": [{"role": "user", "content": "the prompt"}],
    }
    assert endpoint.headers[0]["Authorization"] == f"Bearer {SECRET}"
    assert bill.requests == 1
    answer = answers["the prompt"]
    assert (answer.outcome, answer.model) == ("reply", "stub-1")
    assert answer.usage == {"prompt_tokens": 10, "completion_tokens": 5}


@pytest.mark.parametrize(
    ("outcome", "make"),
    [
        ("refusal", lambda e: e.completion(None, refusal="I can not help with that.")),
        ("filtered", lambda e: e.completion(None, reason="content_filter")),
        ("filtered", lambda e: e.problem(400, "blocked", code="content_filter")),
        ("empty", lambda e: e.completion("  ")),
        ("empty", lambda e: e.completion(None)),
        ("truncated", lambda e: e.completion('{"distractors": ["a', reason="length")),
        ("reply", lambda e: e.completion("I would rather talk.")),
    ],
)
def test_what_asking_again_would_not_mend_is_asked_once(endpoint, ask, outcome, make):
    always(endpoint, make(endpoint))
    bill, answers = ask()
    assert answers["p"].outcome == outcome
    assert bill.requests == 1
    assert not bill.failed


@pytest.mark.parametrize(
    ("outcome", "make"),
    [
        ("server-error", lambda e: e.problem(503, "later")),
        ("rate-limited", lambda e: e.problem(429, "slow down")),
        ("malformed", lambda e: e.behaviour(body="<html>welcome</html>")),
        ("malformed", lambda e: e.behaviour(body={"choices": []})),
        ("malformed", lambda e: e.behaviour(body={"choices": [{"index": 0}]})),
        ("malformed", lambda e: e.behaviour(body={"choices": "abc", "usage": "free"})),
        ("malformed", lambda e: e.behaviour(body={"choices": {"a": 1}, "model": 3})),
        ("malformed", lambda e: e.behaviour(body={"choices": [{"message": "hello"}]})),
        ("malformed", lambda e: e.behaviour(body="[" * 50_000)),
        ("connection", lambda e: e.behaviour(parts=[], headers={"Content-Length": "9"})),
    ],
)
def test_what_may_pass_is_tried_again_and_then_given_up(endpoint, ask, outcome, make):
    always(endpoint, make(endpoint))
    bill, answers = ask()
    assert answers["p"].outcome == outcome
    assert bill.requests == answers["p"].tries == FAST.tries
    assert bill.failed == 1


def test_a_second_try_can_answer(endpoint, ask):
    endpoint.behave = lambda number, _: (
        endpoint.problem(500, "oops") if number == 0 else endpoint.names("a")
    )
    bill, answers = ask()
    assert answers["p"].outcome == "reply"
    assert bill.requests == 2


def test_a_server_that_takes_too_long_is_cut_off(endpoint, ask):
    always(endpoint, endpoint.behaviour(body={}, delay=2.0))
    _, answers = ask(timeout=0.2, patience=RetryTimes(tries=1))
    assert answers["p"].outcome == "timeout"


def test_a_server_that_drips_is_cut_off_by_the_same_clock(endpoint, ask):
    always(endpoint, endpoint.behaviour(parts=[b" "] * 40, delay=0.1))
    _, answers = ask(timeout=0.3, patience=RetryTimes(tries=1))
    assert answers["p"].outcome == "timeout"


def test_the_wait_that_a_server_asks_for_is_kept(endpoint, ask):
    limited = endpoint.problem(429, "slow", headers={"Retry-After": "0.2"})
    endpoint.behave = lambda number, _: limited if number == 0 else endpoint.names("a")
    started = time.monotonic()
    _, answers = ask()
    assert answers["p"].outcome == "reply"
    assert time.monotonic() - started >= 0.2


def test_the_wait_that_a_server_asks_for_is_bounded(endpoint, ask):
    limited = endpoint.problem(429, "slow", headers={"Retry-After": "86400"})
    endpoint.behave = lambda number, _: limited if number == 0 else endpoint.names("a")
    started = time.monotonic()
    ask()
    assert time.monotonic() - started < 600


@pytest.mark.parametrize("status", [200, 500])
def test_a_body_without_end_is_read_up_to_a_bound(endpoint, ask, status):
    chunks = []

    def forever():
        for _ in range(100):
            chunks.append(1)
            yield b"x" * 100_000

    always(endpoint, endpoint.behaviour(status=status, parts=forever()))
    bill, answers = ask()
    assert answers["p"].outcome == "too-large"
    assert bill.requests == 1
    assert len(chunks) * 100_000 < 10 * MOST_BYTES


def test_a_packed_body_is_never_unpacked(endpoint, ask):
    packed = gzip.compress(b" " * 50_000_000)
    always(endpoint, endpoint.behaviour(parts=[packed], headers={"Content-Encoding": "gzip"}))
    _, answers = ask()
    assert answers["p"].outcome == "too-large"
    assert endpoint.headers[0]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        (401, "invalid_api_key", "check the key in TEST_KEY"),
        (402, None, "check the key in TEST_KEY"),
        (403, None, "check the key in TEST_KEY"),
        (429, "insufficient_quota", "check the key in TEST_KEY"),
        (404, "model_not_found", "check base_url and model"),
    ],
)
def test_what_only_the_user_can_mend_stops_at_once(endpoint, ask, status, code, says):
    always(endpoint, endpoint.problem(status, f"no, {SECRET} is bad", code=code))
    with pytest.raises(ModelError, match=says) as excinfo:
        ask()
    assert excinfo.value.exit_code == 2
    assert SECRET not in str(excinfo.value)
    assert len(endpoint.requests) == 1


def test_the_official_endpoint_is_not_asked_without_a_key(monkeypatch):
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(ModelError, match="set the environment variable NO_KEY"):
        ask_all(["p"], LlmSettings(model="m", api_key_env="NO_KEY"), {}, print)


def test_the_key_is_in_nothing_that_comes_back(endpoint, ask):
    echo = json.dumps({"distractors": [SECRET]})
    answers = [
        endpoint.completion(echo),
        endpoint.completion(None, refusal=f"not for {SECRET}"),
        endpoint.problem(400, f"{SECRET} again"),
        endpoint.problem(500, f"{SECRET} again"),
        endpoint.behaviour(body=f"<p>{SECRET}</p>"),
    ]
    endpoint.behave = lambda _, body: answers[int(body["messages"][0]["content"])]
    _, results = ask("0", "1", "2", "3", "4")
    assert len(results) == 5
    assert SECRET not in repr(results)


def test_control_characters_of_a_server_reach_no_terminal(endpoint, ask):
    always(endpoint, endpoint.problem(400, "a\x1b[31mred\r\nline"))
    _, answers = ask()
    assert answers["p"].detail.isprintable()


def test_no_more_requests_are_sent_than_allowed(endpoint, ask):
    bill, answers = ask(*map(str, range(20)), max_requests=7)
    assert bill.requests == len(endpoint.requests) == len(answers) == 7
    assert set(answers) == set(map(str, range(7)))
    assert bill.stopped == "max_requests = 7 is reached"


def test_repeated_requests_count(endpoint, ask):
    always(endpoint, endpoint.problem(503, "later"))
    bill, _ = ask(*map(str, range(20)), max_requests=5)
    assert bill.requests == len(endpoint.requests) == 5


def test_nobody_there_ends_the_asking(endpoint, ask):
    always(endpoint, endpoint.problem(503, "closed"))
    bill, _ = ask(*map(str, range(50)), patience=RetryTimes(tries=1))
    assert bill.requests <= STOP_AFTER + CONNECTIONS
    assert bill.stopped.startswith("no answer 4 times in a row: 503: closed")


def test_a_closed_port_is_a_failure_like_any_other(ask):
    bill, answers = ask(base_url="http://127.0.0.1:9/v1")
    assert answers["p"].outcome == "connection"
    assert bill.failed == 1


def test_a_few_requests_are_under_way_at_one_time(endpoint, ask):
    gate = threading.Barrier(CONNECTIONS, timeout=60)

    def behave(number, _body):
        if number < CONNECTIONS:
            gate.wait()
        return endpoint.names("a")

    endpoint.behave = behave
    ask(*map(str, range(12)))
    assert endpoint.most_in_flight == CONNECTIONS


def test_the_environment_of_the_sdk_changes_nothing(endpoint, ask, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    assert "TEST_KEY" in os.environ
    _, answers = ask()
    assert answers["p"].outcome == "reply"
    assert "sk-of-somebody-else" not in str(endpoint.headers[0])

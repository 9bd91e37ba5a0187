"""Models: an endpoint that misbehaves in every known way, and the baselines."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import sys
import time

import pytest

from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.image_files import ImageFile, read_picture
from medrcube.evaluate.models.protocol import ModelRequest, RejectedError, TransientError
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.prompts import render_prompt
from medrcube.evaluate.runner.run import run_evaluation

KEY = "sk-canary-0123456789abcdef"


@pytest.fixture
def ask(server, benchmark, monkeypatch):
    """Send one question to the stub server and return the reply."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def ask_one(behave=None, **settings):
        if behave is not None:
            server.behave = lambda _n, _b: behave
        item = benchmark.items[0]
        request = ModelRequest(
            item=item.name,
            prompt=render_prompt(item),
            options=item.options,
            picture=read_picture(benchmark.images, item.image),
        )
        model = open_model("openai/stub", ModelSettings(base_url=server.url, **settings))

        async def session():
            try:
                return await model.answer(request)
            finally:
                await model.close()

        return asyncio.run(session())

    return ask_one


def test_a_reply_comes_with_usage_and_build(ask, completion):
    reply = ask(completion("B"))
    assert (reply.text, reply.finish_reason, reply.model) == ("B", "stop", "stub-1@fp_1")
    assert reply.usage["total_tokens"] == 11


def test_the_picture_is_sent_byte_for_byte(ask, server, benchmark):
    ask()
    part = server.requests[0]["messages"][0]["content"][0]["image_url"]["url"]
    head, data = part.split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == benchmark.images.read(benchmark.items[0].image)


def test_the_prompt_names_every_option_and_asks_for_the_letter(ask, server, prompt_of):
    ask()
    text = prompt_of(server.requests[0])
    assert text.startswith("Question: What does picture 0 show?\nOptions:\nA. Normal\nB. Mass\n")
    assert text.endswith("letter of the one best option.")


def test_a_parameter_that_is_none_is_not_sent(ask, server):
    ask(temperature=None, max_tokens=None)
    assert not {"temperature", "max_tokens", "seed"} & set(server.requests[0])


@pytest.mark.parametrize("status", [429, 500, 502, 503, 408])
def test_an_error_that_time_heals_is_transient_and_asked_once(ask, server, problem, status):
    with pytest.raises(TransientError, match="busy") as excinfo:
        ask(problem(status, "busy"))
    assert excinfo.value.code == str(status)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_the_server_asks_for_is_read(ask, problem, headers, seconds):
    with pytest.raises(TransientError) as excinfo:
        ask(problem(429, "slow down", headers=headers))
    assert excinfo.value.retry_after == seconds


def test_a_date_to_wait_for_is_read_as_seconds_from_now(ask, problem):
    date = email.utils.formatdate(time.time() + 3600, usegmt=True)
    with pytest.raises(TransientError) as excinfo:
        ask(problem(429, "slow down", headers={"Retry-After": date}))
    assert excinfo.value.retry_after == pytest.approx(3600, abs=30)


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_an_error_that_nobody_heals_is_fatal_with_the_servers_words(ask, problem, status):
    with pytest.raises(ModelError, match="these were the words"):
        ask(problem(status, "these were the words"))


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"code": "model_not_found"}),
        (429, {"code": "insufficient_quota"}),
        (400, {"param": "temperature", "code": "unsupported_value"}),
    ],
)
def test_an_error_of_the_whole_run_is_fatal(ask, problem, status, error):
    with pytest.raises(ModelError):
        ask(problem(status, "no", **error))


def test_a_bad_question_is_rejected_alone(ask, problem):
    with pytest.raises(RejectedError, match="image too large"):
        ask(problem(400, "image too large"))


def test_a_slow_server_is_given_up(ask, completion):
    slow = completion("A")
    slow.delay = 1.0
    with pytest.raises(TransientError) as excinfo:
        ask(slow, timeout=0.2)
    assert excinfo.value.code == "timeout"


def test_a_cut_connection_is_transient(ask, behaviour):
    with pytest.raises(TransientError) as excinfo:
        ask(behaviour(cut=True))
    assert excinfo.value.code == "connection"


def test_nobody_at_the_address_is_transient():
    model = open_model("openai/stub", ModelSettings(base_url="http://127.0.0.1:9/v1", timeout=5))
    with pytest.raises(TransientError, match="connection failed"):
        asyncio.run(_ask_bare(model))


async def _ask_bare(model):
    picture = ImageFile(data=b"x", media_type="image/png", sha256="0")
    try:
        await model.answer(ModelRequest(item="x", prompt="?", options=(), picture=picture))
    finally:
        await model.close()


@pytest.mark.parametrize(
    "body", ["<html>hello</html>", {"error": {"message": "in a 200"}}, {"choices": []}, {}]
)
def test_a_reply_that_is_no_completion_is_transient(ask, behaviour, body):
    with pytest.raises(TransientError) as excinfo:
        ask(behaviour(body=body))
    assert excinfo.value.code == "malformed"


def test_a_thought_that_was_cut_off_is_a_reply(ask, completion):
    assert ask(completion(None, reason="length")).finish_reason == "length"


def test_a_refusal_field_is_told(ask, completion):
    reply = ask(completion(None, refusal="I will not."))
    assert (reply.text, reply.finish_reason) == ("I will not.", "refusal")


def test_a_prompt_that_is_filtered_is_a_refusal(ask, problem):
    assert ask(problem(400, "filtered", code="content_filter")).finish_reason == "content_filter"


def test_a_rate_limit_loses_no_item(
    benchmark, server, completion, problem, tmp_path, fast, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def capped(_number, _body):
        if server.in_flight > 2:
            return problem(429, "slow down", headers={"Retry-After": "0.01"})
        answer = completion("A")
        answer.delay = 0.01
        return answer

    server.behave = capped
    model = open_model("openai/stub", ModelSettings(base_url=server.url))
    summary = run_evaluation(benchmark, model, tmp_path / "run", retry=fast, max_connections=8)
    assert (summary.answered, summary.failed) == (8, 0)


def test_a_wrong_key_stops_at_once(benchmark, server, problem, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.behave = lambda _n, _b: problem(401, f"Incorrect API key provided: {KEY}")
    model = open_model("openai/stub", ModelSettings(base_url=server.url))
    with pytest.raises(ModelError, match="Incorrect API key") as excinfo:
        run_evaluation(benchmark, model, tmp_path / "run", max_connections=2)
    assert KEY not in str(excinfo.value)
    assert excinfo.value.exit_code != 0
    assert len(server.requests) <= 2


def test_the_key_is_in_no_byte_that_is_written(
    benchmark, server, completion, problem, tmp_path, fast, monkeypatch, caplog
):
    caplog.set_level("DEBUG")
    monkeypatch.setenv("LAB_KEY", KEY)

    def telltale(number, _body):
        if number % 3 == 0:
            return problem(500, f"crashed while handling key {KEY}")
        return completion(f"Your key is {KEY}. Answer: A")

    server.behave = telltale
    settings = ModelSettings(base_url=server.url, api_key_env="LAB_KEY")
    model = open_model("openai/stub", settings)
    run_evaluation(benchmark, model, tmp_path / "run", retry=fast, max_connections=1)
    for path in (tmp_path / "run").iterdir():
        assert KEY not in path.read_text(), path.name
    assert KEY not in repr(model) + json.dumps(model.identity)
    assert KEY not in caplog.text


@pytest.mark.parametrize("url", [f"http://u:{KEY}@h/v1", f"https://h/v1?key={KEY}", "localhost:1"])
def test_an_address_that_carries_a_key_or_is_none_is_refused(url):
    with pytest.raises(ModelError, match="expected") as excinfo:
        open_model("openai/x", ModelSettings(base_url=url))
    assert KEY not in str(excinfo.value)


def test_the_official_endpoint_wants_a_key(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        open_model("openai/anything")


def test_a_missing_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "medrcube.evaluate.models.openai_api.model", raising=False)
    with pytest.raises(MissingExtraError, match=r"medrcube\[evaluate\]"):
        open_model("openai/anything", ModelSettings(base_url="http://127.0.0.1:9"))


@pytest.mark.parametrize("spec", ["nobody", "baseline/", "martian/x", "baseline/best"])
def test_an_unknown_model_is_refused_with_what_is_known(spec):
    with pytest.raises(ModelError, match=r"expected"):
        open_model(spec)


def answers(model, benchmark, out):
    run_evaluation(benchmark, model, out)
    rows = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    return {row["id"]: row["answer"] for row in rows}


def test_baselines_answer_by_their_rule(benchmark, tmp_path):
    first = answers(open_model("baseline/first"), benchmark, tmp_path / "a")
    longest = answers(open_model("baseline/longest"), benchmark, tmp_path / "b")
    assert set(first.values()) == {"A"}
    assert set(longest.values()) == {"D"}


def test_random_is_the_same_for_the_same_seed_and_differs_for_another(load, row, tmp_path):
    benchmark = load(*(row(n) for n in range(40)))
    outcome = answers(open_model("baseline/random"), benchmark, tmp_path / "a")
    two = answers(open_model("baseline/random"), benchmark, tmp_path / "b")
    other = answers(open_model("baseline/random", ModelSettings(seed=1)), benchmark, tmp_path / "c")
    assert outcome == two != other
    assert set(outcome.values()) == set("ABCD")

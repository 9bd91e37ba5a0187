"""The wire form of every provider in the documentation: what is sent, read, counted and refused.

``wire/PROVIDER.json`` holds exchanges written by hand from what is publicly known of the provider's
interface, and the addresses of the pages that describe it. They are no recordings: no provider was
asked, and not every page was opened.
"""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import pytest

from medrcube.errors import ModelError
from medrcube.evaluate.image_files import read_picture
from medrcube.evaluate.models import protocol
from medrcube.evaluate.models.conformance import check_model
from medrcube.evaluate.models.protocol import ModelRequest
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings
from medrcube.evaluate.questions.data_agreements import sends_outside

KEY = "sk-canary-0123456789abcdef"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LITELLM_API_KEY")
WIRE = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((Path(__file__).parent / "wire").glob("*.json"))
}
OPTIONS = (("A", "Normal"), ("B", "Mass"))


def exchanges(kind):
    return [
        pytest.param(wire["model"], exchange, id=f"{provider}: {exchange['name']}")
        for provider, wire in WIRE.items()
        for exchange in wire["exchanges"]
        if kind in exchange
    ]


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in KEYS:
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ask(server, benchmark, behaviour):
    def ask_one(spec, exchange=None, **settings):
        if exchange is not None:
            # A server that repeats the key in its words must not bring it into ours.
            body = json.dumps(exchange["body"]).replace('"message": "', f'"message": "{KEY} ')
            answer = behaviour(
                status=exchange["status"],
                body=json.loads(body),
                headers=exchange.get("headers", {}),
            )
            server.behave = lambda _n, _b: answer
        model = open_model(spec, ModelSettings(base_url=server.url, **settings))
        item = benchmark.items[0]
        picture = read_picture(benchmark.images, item.image)
        request = ModelRequest(item="x", prompt="Which?", options=OPTIONS, picture=picture)

        async def session():
            try:
                return await model.answer(request)
            finally:
                await model.close()

        return asyncio.run(session())

    return ask_one


@pytest.mark.few(16)
@pytest.mark.parametrize(("spec", "exchange"), exchanges("reply"))
def test_a_reply_is_read_and_counted(ask, spec, exchange):
    reply, expected = ask(spec, exchange), exchange["reply"]
    assert (reply.text, reply.finish_reason) == (expected["text"], expected["finish_reason"])
    assert reply.usage.get("prompt_tokens") == expected["sent"]
    assert reply.usage.get("completion_tokens") == expected["written"]


@pytest.mark.few(24)
@pytest.mark.parametrize(("spec", "exchange"), exchanges("error"))
def test_a_refusal_is_sorted_and_said_in_a_line_without_the_key(ask, spec, exchange):
    expected = exchange["error"]
    kind = ModelError if expected["kind"] == "ModelError" else getattr(protocol, expected["kind"])
    with pytest.raises(kind) as excinfo:
        ask(spec, exchange)
    message = str(excinfo.value)
    assert type(excinfo.value) is kind
    assert expected["says"] in message
    assert KEY not in message
    assert message.count("\n") == (kind is ModelError)  # the second line says what to do
    assert getattr(excinfo.value, "retry_after", None) == expected["retry_after"]


@pytest.mark.parametrize(
    "request_form",
    [
        pytest.param(form, id=f"{provider}: {form['model']}")
        for provider, wire in WIRE.items()
        for form in wire["requests"]
    ],
)
def test_a_provider_is_sent_only_fields_that_it_takes(request_form):
    model = open_model(request_form["model"], ModelSettings(base_url=request_form["url"]))
    assert model.identity["parameters"] == request_form["parameters"]


def test_a_temperature_that_the_user_set_is_always_sent():
    settings = ModelSettings(base_url="https://api.openai.com/v1", temperature=0.5)
    assert open_model("openai/gpt-5", settings).identity["parameters"]["temperature"] == 0.5


def test_claude_gets_the_picture_as_it_lies_and_its_key_in_its_own_header(ask, server, benchmark):
    ask("anthropic/claude-sonnet-4-5", WIRE["anthropic"]["exchanges"][0], system="Be brief.")
    body, headers = server.requests[0], server.headers[0]
    picture, text = body["messages"][0]["content"]
    assert base64.b64decode(picture["source"]["data"]) == (
        benchmark.images.read(benchmark.items[0].image)
    )
    assert picture["source"]["media_type"] == "image/png"
    assert (text, body["system"]) == ({"type": "text", "text": "Which?"}, "Be brief.")
    assert headers["x-api-key"] == KEY
    assert headers["anthropic-version"] == "2023-06-01"
    assert "Authorization" not in headers
    assert server.paths == ["/v1/messages"]


def test_claude_that_thinks_gets_no_temperature(ask, server):
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    exchange = WIRE["anthropic"]["exchanges"][0]
    ask("anthropic/claude-sonnet-4-5", exchange, extra_body=thinking)
    assert server.requests[0]["thinking"] == thinking["thinking"]
    assert "temperature" not in server.requests[0]


@pytest.mark.parametrize(
    ("setting", "option"),
    [({"seed": 1}, "--seed"), ({"logprobs": True}, "--logprobs"), ({"max_tokens": None}, "--max")],
)
def test_what_claude_does_not_have_is_refused_before_anything_is_sent(setting, option):
    with pytest.raises(ModelError, match=option):
        open_model("anthropic/claude-sonnet-4-5", ModelSettings(**setting))


def test_each_provider_has_a_key_of_its_own(monkeypatch, ask, server):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-its-own")
    ask("anthropic/claude-sonnet-4-5", WIRE["anthropic"]["exchanges"][0])
    assert server.headers[0]["x-api-key"] == "sk-ant-of-its-own"


def test_claude_without_a_key_says_which_variable_it_wants(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ModelError, match="ANTHROPIC_API_KEY"):
        open_model("anthropic/claude-sonnet-4-5", ModelSettings())


@pytest.mark.parametrize(
    ("spec", "url", "outside"),
    [
        ("litellm/bedrock-claude", "http://localhost:4000/v1", True),
        ("openai/gemma3:27b-cloud", "http://localhost:11434/v1", True),
        ("openai/gemma3:4b", "http://localhost:11434/v1", False),
        ("anthropic/claude-sonnet-4-5", None, True),
    ],
)
def test_a_server_here_that_passes_questions_on_sends_pictures_outside(spec, url, outside):
    assert sends_outside(open_model(spec, ModelSettings(base_url=url))) is outside


def test_the_model_behind_the_messages_interface_keeps_the_contract(server, behaviour):
    server.behave = lambda _n, _b: behaviour(body=WIRE["anthropic"]["exchanges"][0]["body"])
    model = open_model("anthropic/claude-sonnet-4-5", ModelSettings(base_url=server.url))
    assert check_model(model) == []


@pytest.mark.parametrize(
    "body",
    [{}, [], "null", {"content": "B"}, {"content": [3]}, {"content": [{"type": "text"}]}, "{"],
)
def test_a_body_that_is_no_message_is_malformed(ask, body):
    with pytest.raises(protocol.TransientError) as excinfo:
        ask("anthropic/claude-sonnet-4-5", {"status": 200, "body": body})
    assert excinfo.value.code == "malformed"

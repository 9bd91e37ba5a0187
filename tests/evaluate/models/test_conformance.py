"""Every model that ships keeps the contract, and a model that breaks it is told what is wrong."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace

import pytest

from medrcube.errors import ModelError
from medrcube.evaluate.models import conformance
from medrcube.evaluate.models.baselines import open_baseline
from medrcube.evaluate.models.conformance import check_model, sample_requests
from medrcube.evaluate.models.protocol import RejectedError, Reply
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings


@pytest.mark.parametrize("spec", ["baseline/random", "baseline/first", "baseline/longest"])
def test_a_baseline_keeps_the_contract(spec):
    assert check_model(open_model(spec)) == []


def test_an_endpoint_keeps_the_contract(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
    assert check_model(open_model("openai/stub", ModelSettings(base_url=server.url))) == []
    assert len(server.requests) >= 30


def test_questions_differ_in_length_options_and_pictures():
    requests = sample_requests()
    assert {len(request.options) for request in requests} == {2, 3, 4}
    assert len({len(request.prompt) for request in requests}) == len(requests)
    assert sum(request.picture is None for request in requests) == 1
    assert len({request.picture.sha256 for request in requests if request.picture}) == 8


class Broken:
    """A sound model with one thing changed."""

    def __init__(self, **changes):
        self._inner = open_baseline("first")
        self._changes = changes
        self.name = changes.get("name", "broken/1")
        self._count = 0
        self._running = 0

    @property
    def identity(self):
        return self._changes.get("identity", {"adapter": "broken/1", "name": self.name})

    async def answer(self, request):
        self._count += 1
        self._running += 1
        await asyncio.sleep(0.001)
        together, self._running = self._running, self._running - 1
        if act := self._changes.get("act"):
            act(request, self._count, together)
        reply = await self._inner.answer(request)
        return replace(reply, **self._changes.get("reply", lambda *_: {})(self._count, together))

    async def close(self):
        if end := self._changes.get("close"):
            end()


def fail(error):
    def act(_request, _number, _together):
        raise error

    return act


def on_broken_picture(request, _number, _together):
    if request.picture and b"no picture" in request.picture.data:
        raise OSError("cannot identify image file")


def on_open_question(request, _number, _together):
    if not request.options:
        raise IndexError("list index out of range")


def refuse_open_question(request, _number, _together):
    if not request.options:
        raise RejectedError("letters only", code="form")


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"act": on_open_question}, "check/point: a question without options raised IndexError"),
        ({"act": on_open_question}, "check/blind: a question without options raised IndexError"),
        ({"act": fail(KeyError("x"))}, "that the protocol does not allow: KeyError"),
        ({"name": "nobody"}, "expected PROVIDER/NAME"),
        ({"identity": {"adapter": "x", "name": "other/1"}}, "expected the model's name"),
        ({"identity": {"name": "broken/1"}}, "has no 'adapter'"),
        ({"identity": {"adapter": {1, 2}, "name": "broken/1"}}, "cannot be written as JSON"),
        ({"reply": lambda *_: {"text": None}}, "text is NoneType"),
        ({"reply": lambda *_: {"finish_reason": "eos"}}, "finish reason is 'eos'"),
        ({"reply": lambda *_: {"usage": {"tokens": 1.5}}}, "expected counts"),
        ({"reply": lambda *_: {"scores": {"Z": -1.0}}}, r"scores of \['Z'\]"),
        ({"reply": lambda *_: {"scores": {"A": 0.4}}}, "expected log-probabilities"),
        ({"reply": lambda *_: {"model": ""}}, "does not say which model"),
        ({"reply": lambda *_: {"latency": -1.0}}, "expected seconds"),
        ({"reply": lambda number, _: {"text": str(number)}}, "one question got"),
        ({"reply": lambda _, together: {"text": str(together > 1)}}, "among others"),
        ({"act": on_broken_picture}, "a damaged image raised OSError"),
    ],
)
def test_a_broken_promise_is_named(changes, finding):
    findings = check_model(Broken(**changes))
    assert any(re.search(finding, entry) for entry in findings), findings


def test_a_sound_model_of_a_third_party_passes():
    assert check_model(Broken()) == []


def test_a_model_may_refuse_questions_without_options():
    assert check_model(Broken(act=refuse_open_question)) == []


def test_where_a_model_runs_is_declared_by_true_or_false():
    model = Broken()
    model.runs_here = "yes"
    assert check_model(model) == [
        "runs_here is 'yes'; expected True if no image leaves this machine, or False"
    ]


def test_a_model_that_draws_need_not_repeat_itself():
    model = Broken(reply=lambda number, _: {"text": str(number)})
    assert check_model(model, repeats=False) == []


def test_a_secret_in_the_identity_is_found(monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "sk-canary-0123456789abcdef")
    identity = {"adapter": "x", "name": "broken/1", "header": "Bearer sk-canary-0123456789abcdef"}
    findings = check_model(Broken(identity=identity))
    assert findings == ["identity holds the value of the environment variable LAB_API_KEY"]


def test_a_model_that_cannot_be_used_again_is_found():
    closed = []

    def act(*_):
        if closed:
            raise ModelError("is closed")

    findings = check_model(Broken(act=act, close=lambda: closed.append(True)))
    assert any("Use after close" in finding and "is closed" in finding for finding in findings)


def test_a_model_that_hangs_is_found(monkeypatch):
    class Hanging(Broken):
        async def answer(self, _request):
            await asyncio.sleep(3600)

    monkeypatch.setattr(conformance, "PATIENCE", 0.05)
    assert all("no end after" in entry for entry in check_model(Hanging()))


def test_a_model_that_blocks_the_event_loop_is_found(monkeypatch):
    monkeypatch.setattr(conformance, "LATEST", 0.15)
    findings = check_model(Broken(act=lambda *_: time.sleep(0.05)))
    assert any("event loop was blocked" in finding for finding in findings)


def test_the_reply_of_the_contract_has_what_the_check_reads():
    assert {"text", "finish_reason", "usage", "scores", "model", "latency"} <= set(
        Reply.__dataclass_fields__
    )

"""Every adapter sends a conversation as turns, in order, each image with its own turn."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from medrcube.evaluate.models.conformance import check_model, sample_requests
from medrcube.evaluate.models.hf.chat_turns import check_earlier_turns, pictures_of, turns_of
from medrcube.evaluate.models.protocol import Exchange, RejectedError, Reply, Shot
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings

NAMES = ("openai/x", "litellm/x", "anthropic/x")


@pytest.fixture
def conversation():
    """The third question of a conversation, on the image of the first one."""
    first, second, third = sample_requests()[:3]
    history = (
        Exchange(prompt="First?", reply="It is A.", picture=first.picture),
        Exchange(prompt="Second?", reply="C", picture=second.picture),
    )
    return replace(third, picture=None, history=history)


def messages_of(name, request):
    model = open_model(name, ModelSettings(base_url="http://127.0.0.1:9/v1", needs_key=False))
    body = asyncio.run(model.body(request))
    return json.loads(b"".join(body.pieces))["messages"]


def parts(message):
    content = message["content"]
    return content if isinstance(content, str) else [part["type"] for part in content]


@pytest.mark.parametrize("name", NAMES)
def test_the_history_is_turns_before_the_question(name, conversation):
    messages = messages_of(name, conversation)
    assert [message["role"] for message in messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    image = "image" if name.startswith("anthropic") else "image_url"
    assert [parts(message) for message in messages] == [
        [image, "text"],
        "It is A.",
        [image, "text"],
        "C",
        ["text"],
    ]
    assert messages[0]["content"][-1]["text"] == "First?"
    assert messages[-1]["content"][-1]["text"] == conversation.prompt


@pytest.mark.parametrize("name", NAMES)
def test_examples_come_before_the_history(name, conversation):
    shot = Shot(prompt="Example?", reply="D", picture=None)
    messages = messages_of(name, replace(conversation, shots=(shot,)))
    assert [messages[1]["content"], messages[3]["content"]] == ["D", "It is A."]


@pytest.mark.parametrize("name", NAMES)
def test_a_question_without_history_is_sent_as_before(name):
    messages = messages_of(name, sample_requests()[0])
    assert [message["role"] for message in messages] == ["user"]


def test_a_local_model_gets_the_same_turns(conversation):
    turns = turns_of(conversation)
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2 + ["user"]
    assert [part["type"] for part in turns[0]["content"]] == ["image", "text"]
    assert [part["type"] for part in turns[-1]["content"]] == ["text"]
    assert pictures_of(conversation) == [turn.picture for turn in conversation.history]


def test_a_chat_template_that_drops_the_history_is_refused(conversation):
    whole = f"First? It is A. Second? C {conversation.prompt}"
    check_earlier_turns(whole, conversation)
    with pytest.raises(ValueError, match="drops earlier questions and replies"):
        check_earlier_turns(conversation.prompt, conversation)


@pytest.mark.parametrize("name", [*NAMES, "baseline/random"])
def test_adapters_say_that_they_take_a_history(name):
    settings = ModelSettings(base_url="http://127.0.0.1:9/v1", needs_key=False)
    assert open_model(name, settings).takes_history


class Forgetful:
    """Says that it takes a history, and cannot."""

    name = "test/forgetful"
    takes_history = True

    def __init__(self):
        self.identity = {"adapter": "forgetful/1", "name": self.name}

    async def answer(self, request):
        if request.history:
            raise RejectedError("turns must alternate", code="400")
        return Reply(text="A", finish_reason="stop", usage={}, model="m", latency=0.0)

    async def close(self):
        """Nothing to close."""


def test_a_model_that_cannot_hold_a_conversation_breaks_its_promise():
    assert any("turns must alternate" in finding for finding in check_model(Forgetful()))
    honest = Forgetful()
    honest.takes_history = False
    assert check_model(honest) == []

"""Solved examples before a question to a local model: turns of its own chat template."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from medrcube.evaluate.models.protocol import Exchange, RejectedError, Reply, Shot


def ask(model, requests, *, together):
    async def session():
        try:
            if together:
                return await asyncio.gather(*(model.answer(request) for request in requests))
            return [await model.answer(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(session())


@pytest.fixture
def shot_requests(question, picture):
    """Questions with none, one or two examples; some blind, and then their examples too."""
    requests = []
    for number in range(9):
        blind = number % 3 == 2
        shots = tuple(
            Shot(
                prompt=f"Example {number} {place}?",
                reply="B",
                picture=None if blind else picture(40 + 8 * place, 50, seed=place),
            )
            for place in range(number % 3 or blind)
        )
        requests.append(replace(question(number, blind=blind), shots=shots))
    return requests


def test_examples_beside_others_in_a_batch_change_no_answer(family, open_tiny, shot_requests):
    model = open_tiny(family, scoring="likelihood")
    alone = ask(model, shot_requests, together=False)
    mixed = ask(model, shot_requests, together=True)
    assert all(isinstance(reply, Reply) for reply in alone)
    for first, second in zip(alone, mixed, strict=True):
        assert first.scores == pytest.approx(second.scores, abs=1e-4)


def test_an_example_and_its_picture_reach_the_model(family, open_tiny, shot_requests, picture):
    model = open_tiny(family, scoring="likelihood")
    request = shot_requests[1]
    other_reply = replace(request, shots=(replace(request.shots[0], reply="C"),))
    other_picture = replace(
        request, shots=(replace(request.shots[0], picture=picture(40, 50, seed=3)),)
    )
    without = replace(request, shots=())
    replies = ask(model, [request, other_reply, other_picture, without], together=False)
    assert len({tuple(reply.scores.items()) for reply in replies}) == 4
    assert replies[0].usage["prompt_tokens"] > replies[3].usage["prompt_tokens"]


def test_a_template_that_drops_examples_rejects_the_question(tiny, open_tiny, shot_requests):
    model = open_tiny(tiny("llava"))
    request = shot_requests[1]
    tokenizer = model._engine._processor
    whole = tokenizer.chat_template
    for broken in (
        whole.replace("in messages", "in messages[-1:]"),
        whole.replace("in messages", "in messages if message.role == 'user'"),
    ):
        tokenizer.chat_template = broken
        with pytest.raises(RejectedError, match="chat template"):
            ask(model, [request], together=False)
    tokenizer.chat_template = whole
    assert ask(model, [request], together=False)


def test_a_conversation_reaches_the_model(family, open_tiny, question, picture):
    model = open_tiny(family, scoring="likelihood")
    turn = Exchange(prompt="What is it?", reply="It is a lung.", picture=picture(40, 50, seed=1))
    request = replace(question(0), picture=None, history=(turn,))
    said_else = replace(request, history=(replace(turn, reply="It is a heart."),))
    shown_else = replace(request, history=(replace(turn, picture=picture(40, 50, seed=3)),))
    replies = ask(model, [request, said_else, shown_else], together=False)
    scores = [tuple(reply.scores.values()) for reply in replies]
    assert len(set(scores)) == 3
    assert replies[0].usage["prompt_tokens"] > 0

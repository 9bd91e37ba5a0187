"""What goes to an endpoint and what is made of its answer, in every shape that servers have."""

from __future__ import annotations

import asyncio
import base64
import gzip
import io
import json
import math
import random

import pytest
from PIL import Image

from medrcube.errors import MissingExtraError, ModelError
from medrcube.evaluate.image_files import ImageFile, media_type, read_picture
from medrcube.evaluate.models import image_payload
from medrcube.evaluate.models.openai_api.request_body import Body, ChatTurn, chat_body
from medrcube.evaluate.models.protocol import ModelRequest, RejectedError, TransientError
from medrcube.evaluate.models.registry import open_model
from medrcube.evaluate.models.settings import ModelSettings

PICTURE = b"data:image/png;base64,QUJD"

OPTIONS = (("A", "Normal"), ("B", "Mass"), ("C", "Edema"), ("D", "Fracture"))


def picture_of(data: bytes) -> ImageFile:
    return ImageFile(data=data, media_type=str(media_type(data)), sha256="0" * 64)


def encode(image: Image.Image, kind: str) -> bytes:
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


@pytest.fixture
def ask(server, benchmark, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def ask_one(body=None, picture=None, url=None, prompt="Which?", **settings):
        if body is not None:
            server.behave = lambda _n, _b: body
        image = picture or read_picture(benchmark.images, benchmark.items[0].image)
        request = ModelRequest(item="x", prompt=prompt, options=OPTIONS, picture=image)
        model = open_model("openai/stub", ModelSettings(base_url=url or server.url, **settings))

        async def session():
            try:
                return await model.answer(request)
            finally:
                await model.close()

        return asyncio.run(session())

    return ask_one


def sent_picture(server) -> bytes:
    url = server.requests[-1]["messages"][0]["content"][0]["image_url"]["url"]
    return base64.b64decode(url.partition(",")[2])


def message(**fields):
    return {"model": "m", "choices": [{"finish_reason": "stop", "message": fields}]}


@pytest.mark.parametrize(
    "body",
    [
        {"choices": "abc"},
        {"choices": ["abc"]},
        {"choices": [None]},
        {"choices": {"0": {}}},
        {"choices": [{}]},
        {"choices": [{"message": "B"}]},
        {"choices": [{"message": {"content": [{"text": 3}]}}]},
        {"choices": [{"message": {"content": 3}}]},
        [],
        [1, 2],
        None,
        "null",
        "3",
        "{" * 100_000,
        '{"choices": [{"message": {"content": "B"}}]',
        "",
    ],
)
def test_a_body_of_any_other_shape_is_malformed(ask, behaviour, body):
    with pytest.raises(TransientError) as excinfo:
        ask(behaviour(body=body))
    assert excinfo.value.code == "malformed"


@pytest.mark.parametrize(
    "content",
    ["B", [{"type": "text", "text": "B"}], ["B"], [{"text": ""}, {"text": "B"}], {"text": "B"}],
)
def test_text_in_parts_is_put_together(ask, behaviour, content):
    assert ask(behaviour(body=message(content=content))).text == "B"


@pytest.mark.parametrize(
    "usage", [None, "many", [], {"prompt_tokens": "3"}, {"prompt_tokens": True}]
)
def test_a_server_that_counts_no_tokens_is_read_all_the_same(ask, behaviour, usage):
    reply = ask(behaviour(body={**message(content="B"), "usage": usage}))
    assert (reply.text, reply.usage) == ("B", {})


@pytest.mark.parametrize("reason", [None, 3, ""])
def test_a_missing_reason_to_stop_is_an_ordinary_stop(ask, behaviour, reason):
    body = message(content="B")
    body["choices"][0]["finish_reason"] = reason
    assert ask(behaviour(body=body)).finish_reason == "stop"


THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "A or B?"}]}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    "fields",
    [
        {"content": None},
        {"content": ""},
        {"content": "  "},
        {"content": []},
        {},
        {"content": None, "tool_calls": [CALL]},
        {"content": None, "reasoning_content": "A or B?"},
        {"content": "", "reasoning": "A or B?"},
        {"content": [THOUGHT]},
        {"content": [{"type": "tool_use", "name": "f", "input": {}}]},
    ],
)
def test_a_model_that_says_nothing_has_replied(ask, behaviour, fields):
    reply = ask(behaviour(body={**message(**fields), "usage": {"total_tokens": 11}}))
    assert (reply.text.strip(), reply.usage) == ("", {"total_tokens": 11})


@pytest.mark.parametrize(
    "content",
    [
        [THOUGHT, {"type": "text", "text": "B"}],
        [{"type": "thinking", "thinking": "A?", "text": "A"}, {"type": "text", "text": "B"}],
        [{"type": "reasoning", "summary": []}, {"type": "output_text", "text": "B"}],
    ],
)
def test_thoughts_in_parts_are_not_read(ask, behaviour, content):
    assert ask(behaviour(body=message(content=content))).text == "B"


def test_a_refusal_in_a_part_is_a_refusal(ask, behaviour):
    content = [{"type": "refusal", "refusal": "I cannot."}]
    reply = ask(behaviour(body=message(content=content)))
    assert (reply.text, reply.finish_reason) == ("I cannot.", "refusal")


@pytest.mark.parametrize("status", [200, 500])
def test_a_response_that_unpacks_to_more_than_a_reply_is_not_read(ask, behaviour, status):
    packed = gzip.compress(b" " * (50 * 2**20), 1)
    assert len(packed) < 2**21
    with pytest.raises(RejectedError, match="more than 16,777,216 bytes") as excinfo:
        ask(behaviour(body=packed, status=status, headers={"Content-Encoding": "gzip"}))
    assert excinfo.value.code == "too-large"


def test_a_packed_reply_is_unpacked(ask, behaviour):
    packed = gzip.compress(json.dumps(message(content="B")).encode())
    assert ask(behaviour(body=packed, headers={"Content-Encoding": "gzip"})).text == "B"


def test_a_short_key_does_not_eat_the_reply(ask, completion, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert ask(completion("The bladder is EMPTY")).text == "The bladder is EMPTY"


def test_scores_of_letters_come_from_the_first_token(ask, behaviour):
    top = [
        {"token": "B", "logprob": math.log(0.4)},
        {"token": " B", "logprob": math.log(0.2)},
        {"token": "A", "logprob": math.log(0.1)},
        {"token": "An", "logprob": math.log(0.05)},
        {"token": "E", "logprob": math.log(0.04)},
        {"token": "C", "logprob": -math.inf},
        {"token": None, "logprob": -1},
        "odd",
    ]
    body = message(content="B")
    body["choices"][0]["logprobs"] = {
        "content": [
            {"token": "B", "logprob": 0, "top_logprobs": top},
            {"token": "D", "logprob": 0, "top_logprobs": [{"token": "D", "logprob": 0}]},
        ]
    }
    raw = json.dumps(body).replace("-Infinity", "-1e999")
    reply = ask(behaviour(body=raw), logprobs=True)
    assert {letter: round(math.exp(score), 6) for letter, score in reply.scores.items()} == {
        "A": 0.1,
        "B": 0.6,
    }


@pytest.mark.parametrize("logprobs", [None, 3, {}, {"content": None}, {"content": [3]}])
def test_a_server_without_logprobs_gives_no_scores(ask, behaviour, logprobs):
    body = message(content="B")
    body["choices"][0]["logprobs"] = logprobs
    assert ask(behaviour(body=body), logprobs=True).scores == {}


def test_logprobs_are_asked_for_only_on_demand(ask, server):
    ask()
    ask(logprobs=True)
    assert "logprobs" not in server.requests[0]
    assert (server.requests[1]["logprobs"], server.requests[1]["top_logprobs"]) == (True, 20)


def test_further_fields_go_into_the_request_and_into_the_identity(ask, server):
    extra = {"chat_template_kwargs": {"enable_thinking": False}}
    ask(extra_body=extra)
    assert server.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}
    settings = ModelSettings(base_url=server.url, extra_body=extra)
    assert open_model("openai/stub", settings).identity["parameters"]["chat_template_kwargs"]


def test_further_fields_cannot_replace_the_question(server):
    settings = ModelSettings(base_url=server.url, extra_body={"messages": []})
    with pytest.raises(ModelError, match="messages"):
        open_model("openai/stub", settings)


def test_an_address_with_a_version_keeps_it(ask, server, monkeypatch):
    paths = []
    handler = server._http.RequestHandlerClass
    post = handler.do_POST
    monkeypatch.setattr(handler, "do_POST", lambda self: paths.append(self.path) or post(self))
    ask(url=f"{server.url}/deployments/x?api-version=2024-10-21")
    assert paths == ["/v1/deployments/x/chat/completions?api-version=2024-10-21"]


def test_a_body_says_what_it_holds_whatever_the_text():
    prompt = 'Is "\x00" \\u0000 a mark? \U0001f600 答案'
    body = chat_body("m\x00", [ChatTurn(prompt=prompt, picture=PICTURE)], {"seed": 3})
    data = json.loads(b"".join(body.pieces))
    assert data["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
        {"type": "text", "text": prompt},
    ]
    assert (data["model"], data["seed"]) == ("m\x00", 3)
    assert body.size == sum(map(len, body.pieces))


@pytest.mark.parametrize("system", ["\\u0000", '"\\u0000"', 'say "\\u0000', "答案 \\"])
def test_no_system_prompt_is_taken_for_the_place_of_the_picture(system):
    body = chat_body("m", [ChatTurn(prompt="Is it?", picture=PICTURE)], {}, system=system)
    first, question = json.loads(b"".join(body.pieces))["messages"]
    assert first["content"] == system
    assert question["content"][0]["image_url"]["url"] == "data:image/png;base64,QUJD"


def test_a_body_without_a_picture_has_only_the_text():
    data = json.loads(
        b"".join(chat_body("m", [ChatTurn(prompt="Is \x00 it?", picture=None)], {}).pieces)
    )
    assert data["messages"][0]["content"] == [{"type": "text", "text": "Is \x00 it?"}]


def test_a_body_can_be_sent_twice_and_in_small_pieces():
    async def collect(body):
        return [piece async for piece in body]

    body = Body((b"a" * 300_000, b"b"))
    once, again = asyncio.run(collect(body)), asyncio.run(collect(body))
    assert b"".join(once) == b"".join(again) == b"".join(body.pieces)
    assert max(map(len, once)) <= 2**17


def test_a_large_picture_arrives_whole(ask, server):
    noise = random.Random(1).randbytes(3_000_000)
    data = b"\x89PNG\r\n\x1a\n" + noise
    ask(picture=picture_of(data))
    assert sent_picture(server) == data


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_what_an_endpoint_takes_is_sent_byte_for_byte(ask, server, kind):
    data = encode(Image.effect_noise((16, 16), 80), kind)
    ask(picture=picture_of(data))
    assert sent_picture(server) == data


@pytest.mark.parametrize("kind", ["TIFF", "BMP"])
@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_what_no_endpoint_takes_becomes_a_png_of_the_same_pixels(ask, server, kind, mode):
    image = Image.effect_noise((16, 16), 80).convert(mode)
    ask(picture=picture_of(encode(image, kind)))
    sent_image = Image.open(io.BytesIO(sent_picture(server)))
    assert (sent_image.format, sent_image.mode, sent_image.tobytes()) == (
        "PNG",
        mode,
        image.tobytes(),
    )


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
@pytest.mark.parametrize("values", [[0, 1000, 2000, 4095], [30000, 31000, 32000, 34095]])
def test_more_than_eight_bits_are_windowed_so_that_nothing_is_cut_off(ask, server, kind, values):
    image = Image.new("I;16", (4, 1))
    for place, value in enumerate(values):
        image.putpixel((place, 0), value)
    ask(picture=picture_of(encode(image, kind)))
    sent_image = Image.open(io.BytesIO(sent_picture(server)))
    low, high = min(values), max(values)
    greys = [round((value - low) * 255 / (high - low)) for value in values]
    assert (sent_image.mode, list(sent_image.tobytes())) == ("L", greys)


def test_a_flat_picture_of_sixteen_bits_does_not_divide_by_zero():
    kind, data = image_payload.sendable_bytes(
        picture_of(encode(Image.new("I;16", (2, 2), 700), "PNG"))
    )
    assert (kind, Image.open(io.BytesIO(data)).size) == ("image/png", (2, 2))


def test_a_picture_that_cannot_be_decoded_is_refused_alone(ask):
    with pytest.raises(RejectedError) as excinfo:
        ask(picture=picture_of(b"BM" + b"\0" * 40))
    assert excinfo.value.code == "picture"


def test_without_pillow_only_what_must_be_decoded_is_refused(ask, server, monkeypatch):
    tiff = picture_of(encode(Image.new("L", (2, 2)), "TIFF"))
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    ask()
    with pytest.raises(MissingExtraError):
        ask(picture=tiff)


def test_the_rule_for_pictures_is_part_of_the_identity(server):
    model = open_model("openai/stub", ModelSettings(base_url=server.url))
    assert model.identity["pictures"] == image_payload.POLICY


def test_a_key_that_is_spelled_in_escapes_is_masked_too(ask, behaviour, monkeypatch):
    key = "sk-canary-0123456789abcdef"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    spelled = "".join(f"\\u{ord(letter):04x}" for letter in key)
    raw = json.dumps(message(content="MARK")).replace("MARK", spelled)
    assert ask(behaviour(body=raw)).text == "[key]"

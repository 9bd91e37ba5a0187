"""Request body and response of Anthropic's Messages API."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from medrcube.evaluate.models.openai_api.request_body import PLACE, Body, insert_images
from medrcube.evaluate.models.protocol import Json, Reply, TransientError
from medrcube.model_endpoint import printable_line

__all__ = ["MessageTurn", "messages_body", "read_message"]

_ENDS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_PROMPT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTurn:
    """An example with its reply, or the question itself.

    Attributes:
        prompt: full text.
        picture: media type and Base64 of the image; ``None`` without one.
        reply: reply of an example; ``None`` for the question.
    """

    prompt: str
    picture: tuple[str, bytes] | None
    reply: str | None = None


def messages_body(
    model: str,
    turns: Sequence[MessageTurn],
    parameters: Mapping[str, Json],
    system: str | None = None,
) -> Body:
    """Return the request body of one question: each image before its text.

    Args:
        model: name of the model.
        turns: examples with their replies, then the question.
        parameters: all other fields of the body.
        system: system prompt; must not contain NUL characters.
    """
    messages: list[Json] = []
    for turn in turns:
        content: list[Json] = [{"type": "text", "text": turn.prompt}]
        if turn.picture is not None:
            source: dict[str, Json] = {
                "type": "base64",
                "media_type": turn.picture[0],
                "data": PLACE,
            }
            content.insert(0, {"type": "image", "source": source})
        messages.append({"role": "user", "content": content})
        if turn.reply is not None:
            messages.append({"role": "assistant", "content": turn.reply})
    body: dict[str, Json] = {
        "messages": messages,
        "model": model,
        **({} if system is None else {"system": system}),
        **parameters,
    }
    return insert_images(body, [turn.picture[1] for turn in turns if turn.picture is not None])


def read_message(data: str, *, model: str, latency: float) -> Reply:
    """Parse the body of a successful response.

    Reasoning and tool calls are not part of the text. Cached tokens count as sent.

    Args:
        data: the body.
        model: model name, if the endpoint reports none.
        latency: seconds since sending.

    Raises:
        TransientError: it is not a valid message.
    """
    body = _message(data)
    blocks = body["content"]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise _malformed(data)
    reply_model = body.get("model")
    return Reply(
        text="".join(map(str, texts)),
        finish_reason=_ENDS.get(str(body.get("stop_reason")), "stop"),
        usage=_usage(body.get("usage")),
        model=reply_model if isinstance(reply_model, str) and reply_model else model,
        latency=latency,
    )


def _message(data: str) -> Mapping[str, Any]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        body = None
    blocks = body.get("content") if isinstance(body, dict) else None
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise _malformed(data)
    message: Mapping[str, Any] = body
    return message


def _usage(value: object) -> dict[str, int]:
    counts = value if isinstance(value, dict) else {}
    prompt_counts = [counts[name] for name in _PROMPT_COUNTS if type(counts.get(name)) is int]
    completion_tokens = counts.get("output_tokens")
    if not prompt_counts or type(completion_tokens) is not int:
        return {}
    total = sum(prompt_counts)
    return {
        "prompt_tokens": total,
        "completion_tokens": completion_tokens,
        "total_tokens": total + completion_tokens,
    }


def _malformed(data: str) -> TransientError:
    return TransientError(
        f"reply is not a message: {printable_line(data[:2000])}", code="malformed"
    )

"""Parse the response of a chat-completions endpoint; its structure is never trusted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from medrcube.evaluate.models.protocol import Reply, TransientError
from medrcube.model_endpoint import printable_line

__all__ = ["filtered_reply", "read_reply"]

_ENDS = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "prohibited_content": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "refusal": "refusal",
}
_BROKEN_OFF = {"abort", "error", "insufficient_system_resource"}
"""Finish reasons that mean a server failure: vLLM and SGLang, OpenRouter, DeepSeek."""

_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_TEXTS = ("text", "output_text")
_AROUND = " \t\n▁Ġ([*\"'"
"""Characters before a letter within one token: vocabulary encodings of spaces, and brackets."""


def read_reply(data: str, *, model: str, letters: Sequence[str], latency: float) -> Reply:
    """Parse the body of a successful response.

    Args:
        data: the body.
        model: model name, if the endpoint reports none.
        letters: letters of the options, for their scores.
        latency: seconds since sending.

    Raises:
        TransientError: it is not a valid chat completion.
    """
    body = _mapping(_json(data), data)
    choice = _mapping(_first(body.get("choices"), data), data)
    message = _mapping(choice.get("message"), data)
    usage = _usage(body.get("usage"))
    reason = _reason(choice.get("finish_reason"), usage)
    text, refusal = _text(message.get("content"), data), _refusal(message)
    if refusal:
        text, reason = refusal, "refusal"
    return Reply(
        text=text,
        finish_reason=reason,
        usage=usage,
        scores=_scores(choice.get("logprobs"), letters),
        model=_name(body) or model,
        latency=latency,
    )


def filtered_reply(model: str, latency: float) -> Reply:
    """Return the reply for an answer that a content filter of the provider suppressed."""
    return Reply(text="", finish_reason="content_filter", usage={}, model=model, latency=latency)


def _reason(value: object, usage: Mapping[str, int]) -> str:
    """Return the finish reason, as ``Reply`` names it.

    Google appends its own reason (``content_filter: SAFETY``); a tool call counts as a stop.
    """
    word = value.partition(":")[0].strip().casefold() if isinstance(value, str) else ""
    if word in _BROKEN_OFF:
        raise TransientError(f"the server aborted the reply: {word}", code=word, usage=usage)
    return _ENDS.get(word, "stop")


def _json(data: str) -> object:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        raise _malformed(data) from None
    return value


def _mapping(value: object, data: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise _malformed(data)
    return value


def _first(value: object, data: str) -> object:
    if not isinstance(value, list) or not value:
        raise _malformed(data)
    return value[0]


def _text(content: object, data: str) -> str:
    """Return the visible text, which some servers send in parts, without reasoning and tool calls.

    An empty reply is a reply of the model, not a connection error: a retry would return, and charge
    for, the same.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [_spoken(part) if isinstance(part, dict) else part for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise _malformed(data)
    return "".join(map(str, texts))


def _spoken(part: Mapping[str, Any]) -> object:
    """Return the text of a part; empty for other kinds, such as ``thinking``."""
    kind = part.get("type", "text")
    return part.get("text") if kind in _TEXTS or not isinstance(kind, str) else ""


def _refusal(message: Mapping[str, Any]) -> str:
    """Return the text of a refusal, next to the content or as a part of it."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    sources = [message, *(part for part in parts if isinstance(part, dict))]
    words = (source.get("refusal") for source in sources)
    return next((word for word in words if isinstance(word, str) and word), "")


def _usage(value: object) -> dict[str, int]:
    counts = value if isinstance(value, dict) else {}
    usage = {name: counts[name] for name in _COUNTS if type(counts.get(name)) is int}
    if len(usage) == len(_COUNTS):
        # Gemini counts reasoning only in the total, and charges for it as output.
        thought = usage["total_tokens"] - usage["prompt_tokens"] - usage["completion_tokens"]
        usage["completion_tokens"] += max(0, thought)
    return usage


def _name(body: Mapping[str, Any]) -> str:
    """Return model and build as the provider reports them."""
    names = (body.get("model"), body.get("system_fingerprint"))
    return "@".join(name for name in names if isinstance(name, str) and name)


def _scores(logprobs: object, letters: Sequence[str]) -> dict[str, float]:
    """Return the log-probability of each letter as the first token, summed over its spellings."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = tokens[0] if isinstance(tokens, list) and tokens else None
    top = first.get("top_logprobs") if isinstance(first, dict) else None
    by_letter: dict[str, list[float]] = {}
    for alternative in top if isinstance(top, list) else ():
        token, value = (
            (alternative.get("token"), alternative.get("logprob"))
            if isinstance(alternative, dict)
            else (0, 0)
        )
        letter = token.lstrip(_AROUND) if isinstance(token, str) else ""
        if letter in letters and isinstance(value, (int, float)) and math.isfinite(value):
            by_letter.setdefault(letter, []).append(float(value))
    return {letter: _log_sum(by_letter[letter]) for letter in letters if letter in by_letter}


def _log_sum(values: list[float]) -> float:
    most = max(values)
    return most + math.log(math.fsum(math.exp(value - most) for value in values))


def _malformed(data: str) -> TransientError:
    text = printable_line(data[:2000])
    return TransientError(f"reply is not a chat completion: {text}", code="malformed")

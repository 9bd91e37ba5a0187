"""Remove a model's reasoning from its reply; only the rest is an answer."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["VisibleReply", "strip_reasoning"]


class VisibleReply(NamedTuple):
    """A reply without its reasoning.

    Attributes:
        text: the visible text.
        closed: whether the reasoning ended; if not, there is no answer yet.
    """

    text: str
    closed: bool


def strip_reasoning(reply: str) -> VisibleReply:
    """Remove the reasoning, in the formats of the common model families.

    Handles ``<think>``, ``<thinking>``, ``<reasoning>`` and variants, ``[THINK]``, Kimi's
    ``◁think▷``, MedGemma's unused tokens, gpt-oss channels with or without their special tokens,
    and a lone closing tag, which occurs if the chat template has already opened the reasoning.
    """
    if _is_plain(reply):
        return VisibleReply(reply.strip(), closed=True)
    text = _one_turn(reply)
    if _CHANNEL.search(text):
        final = list(_FINAL.finditer(text))
        if not final:
            return VisibleReply("", closed=False)
        text = text[final[-1].end() :]
    elif _BARE_CHANNEL.match(text):
        _, marker, text = text.rpartition("assistantfinal")
        if not marker:
            return VisibleReply("", closed=False)
    return _outside_tags(text)


def _is_plain(reply: str) -> bool:
    """Whether a reply has no tag or token, as most have; the patterns below cost more to try."""
    return _TAG_START.search(reply) is None and _BARE_CHANNEL.match(reply) is None


def _outside_tags(text: str) -> VisibleReply:
    """Return the text outside the reasoning tags."""
    parts: list[str] = []
    position, thinking = 0, False
    for tag in _TAG.finditer(text):
        if tag["close"] is None:
            if not thinking:
                parts.append(text[position : tag.start()])
            thinking = True
        else:
            if not thinking:
                parts.clear()
            position, thinking = tag.end(), False
    if not thinking:
        parts.append(text[position:])
    return VisibleReply("\n".join(parts).strip(), closed=not thinking)


def _one_turn(reply: str) -> str:
    """Return the model's first turn, without template text before it or invented turns after it."""
    begun = _MODEL_TURN.search(reply)
    text = reply[begun.end() :] if begun else reply
    ended = _END_OF_TURN.search(text)
    return text[: ended.start()] if ended else text


_TAG_START = re.compile(r"[<\[\u25c1]")
"""A character that every tag and token below begins with."""

_NAME = (
    r"(?:think|thinking|thought|thoughts|reason|reasoning|analysis|scratchpad|reflection"
    r"|seed:think|begin_of_thought|begin_of_thinking|inner_monologue|internal_thinking)"
)
_TAG = re.compile(
    rf"(?P<close></\|?{_NAME}\|?>|<\|end_of_(?:thought|thinking)\|>|\[/{_NAME}\]|◁/{_NAME}▷"
    r"|<unused95>)"
    rf"|<unused94>|<\|?{_NAME}\|?>|\[{_NAME}\]|◁{_NAME}▷",
    re.IGNORECASE,
)
_MODEL_TURN = re.compile(
    r"<\|im_start\|>assistant|<\|assistant\|>|<\|start_header_id\|>assistant<\|end_header_id\|>"
    r"|<start_of_turn>model|\[/INST\]"
)
_END_OF_TURN = re.compile(
    r"(?<=\S)\s*(?:<\|(?:im_end|endoftext|eot_id|end_of_text|end_of_turn|user|im_start)\|>|</s>|<eos>"
    r"|<end_of_turn>|<\uff5cend\u2581of\u2581sentence\uff5c>)"
)
_CHANNEL = re.compile(r"<\|channel\|>")
# gpt-oss without its special tokens: the channel names run into the text.
_BARE_CHANNEL = re.compile(r"\s*analysis(?=[A-Z])")
_FINAL = re.compile(r"<\|channel\|>\s*final[^<]*<\|message\|>")

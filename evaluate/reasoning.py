"""Part the thinking of a model from what it says: only the latter is an answer."""

from __future__ import annotations

import re
from typing import NamedTuple


class Visible(NamedTuple):
    """What is left of a reply.

    Attributes:
        text: the reply without its thinking.
        closed: whether the thinking came to its end; if not, there is no answer yet.
    """

    text: str
    closed: bool


def strip_reasoning(reply: str) -> Visible:
    """Take the thinking out, in the spellings of the common model families.

    Handles ``<think>``, ``<thinking>``, ``<reasoning>`` and their kin, ``[THINK]``, the ``◁think▷``
    of Kimi, the channels of gpt-oss, and a lone closing tag, which stands where the chat template
    has already opened the thinking.
    """
    text = reply
    if _CHANNEL.search(text):
        final = list(_FINAL.finditer(text))
        if not final:
            return Visible("", closed=False)
        text = text[final[-1].end() :]
    text = _PAIR.sub("\n", text)
    closings = list(_CLOSE.finditer(text))
    if closings:
        text = text[closings[-1].end() :]
    opening = _OPEN.search(text)
    if opening:
        return Visible(text[: opening.start()].strip(), closed=False)
    return Visible(text.strip(), closed=True)


_NAME = (
    r"(?:think|thinking|thought|thoughts|reason|reasoning|analysis|scratchpad|reflection"
    r"|seed:think|begin_of_thought|end_of_thought|begin_of_thinking|end_of_thinking)"
)
_OPEN_TEXT = rf"(?:<(?!/)\|?(?!end_){_NAME}\|?>|\[{_NAME}\]|◁{_NAME}▷)"
_CLOSE_TEXT = rf"(?:</\|?{_NAME}\|?>|<\|end_of_(?:thought|thinking)\|>|\[/{_NAME}\]|◁/{_NAME}▷)"
_OPEN = re.compile(_OPEN_TEXT, re.IGNORECASE)
_CLOSE = re.compile(_CLOSE_TEXT, re.IGNORECASE)
_PAIR = re.compile(rf"{_OPEN_TEXT}.*?{_CLOSE_TEXT}", re.IGNORECASE | re.DOTALL)
_CHANNEL = re.compile(r"<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>\s*final[^<]*<\|message\|>")

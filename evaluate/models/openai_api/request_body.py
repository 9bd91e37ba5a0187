"""Body of a chat-completions request, in pieces so that images are never copied.

Everything around the picture is serialised anew for each question; the picture is Base64 that was
made once and lies between the pieces. Base64 needs no escape in JSON.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.image_payload import sendable_bytes
from medrcube.evaluate.models.protocol import Json

_CHUNK = 2**17
PLACE = "\x00"
"""Stands where a picture goes."""


@dataclass(frozen=True, slots=True)
class Body:
    """Bytes in pieces; can be sent more than once, as a redirect needs it."""

    pieces: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(map(len, self.pieces))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, cut so that no connection holds up the others."""
        for piece in self.pieces:
            for start in range(0, len(piece), _CHUNK):
                yield piece[start : start + _CHUNK]


def data_url(picture: ImageFile) -> bytes:
    """The picture as a data URL, in a form that chat endpoints take; call it in a thread."""
    media_type, data = base64_of(*sendable_bytes(picture))
    return b"data:%s;base64,%s" % (media_type.encode(), data)


def base64_of(media_type: str, data: bytes) -> tuple[str, bytes]:
    """Media type and Base64 of a picture."""
    return media_type, base64.b64encode(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A question with its reply, or the question that is to be answered.

    Attributes:
        prompt: the whole text.
        picture: data URL; ``None`` for a question without a picture.
        reply: ``None`` where it is wanted.
    """

    prompt: str
    picture: bytes | None
    reply: str | None = None


def chat_body(
    model: str,
    turns: Sequence[ChatTurn],
    parameters: Mapping[str, Json],
    *,
    system: str | None = None,
    detail: str | None = None,
) -> Body:
    """The body of one question: in each turn the picture first, then the text.

    Args:
        model: name that the endpoint knows.
        turns: examples with their replies, then the question.
        parameters: everything else of the body.
        system: what stands before the question; without the character NUL.
        detail: how closely the server shall look at pictures; ``None`` leaves it to the server.
    """
    messages: list[Json] = [] if system is None else [{"role": "system", "content": system}]
    for turn in turns:
        messages.append({"role": "user", "content": _content(turn, detail)})
        if turn.reply is not None:
            messages.append({"role": "assistant", "content": turn.reply})
    body: dict[str, Json] = {"messages": messages, "model": model, **parameters}
    return insert_images(body, [turn.picture for turn in turns if turn.picture is not None])


def insert_images(body: Mapping[str, Json], pictures: Sequence[bytes]) -> Body:
    """A body with its pictures, in their order, in the places that hold ``PLACE`` alone."""
    # No text is the mark alone, and a quotation mark within a text is escaped, so nothing can be
    # taken for the mark in its quotation marks.
    between = json.dumps(body).encode().split(json.dumps(PLACE).encode())
    pieces = [between[0]]
    for picture, after in zip(pictures, between[1:], strict=True):
        pieces[-1] += b'"'
        pieces += [picture, b'"' + after]
    return Body(tuple(pieces))


def _content(turn: ChatTurn, detail: str | None) -> list[Json]:
    text: Json = {"type": "text", "text": turn.prompt}
    if turn.picture is None:
        return [text]
    looked: dict[str, Json] = {} if detail is None else {"detail": detail}
    return [{"type": "image_url", "image_url": {"url": PLACE, **looked}}, text]

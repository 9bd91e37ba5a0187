"""Body of a chat-completions request, in pieces so that images are never copied.

The text is serialised for each question; the image is Base64-encoded once and inserted between the
pieces. Base64 needs no escaping in JSON.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.image_payload import sendable_bytes
from medrcube.evaluate.models.protocol import Json

__all__ = ["PLACE", "Body", "ChatTurn", "base64_of", "chat_body", "data_url", "insert_images"]

_CHUNK = 2**17
PLACE = "\x00"
"""Placeholder of an image."""


@dataclass(frozen=True, slots=True)
class Body:
    """Request body in pieces; can be sent more than once, as redirects require."""

    pieces: tuple[bytes, ...]

    @property
    def size(self) -> int:
        """Total size in bytes."""
        return sum(map(len, self.pieces))

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the pieces in chunks, so that no connection blocks the others."""
        for piece in self.pieces:
            for start in range(0, len(piece), _CHUNK):
                yield piece[start : start + _CHUNK]


def data_url(picture: ImageFile) -> bytes:
    """Return the image as a data URL in a format for chat endpoints; call it in a thread."""
    media_type, data = base64_of(*sendable_bytes(picture))
    return b"data:%s;base64,%s" % (media_type.encode(), data)


def base64_of(media_type: str, data: bytes) -> tuple[str, bytes]:
    """Return media type and Base64 of an image."""
    return media_type, base64.b64encode(data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """An example with its reply, or the question itself.

    Attributes:
        prompt: full text.
        picture: data URL of the image; ``None`` without one.
        reply: reply of an example; ``None`` for the question.
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
    """Return the request body of one question: in each turn the image first, then the text.

    Args:
        model: model name at the endpoint.
        turns: examples with their replies, then the question.
        parameters: all other fields of the body.
        system: system prompt; must not contain NUL characters.
        detail: detail level of images; ``None`` leaves it to the server.
    """
    messages: list[Json] = [] if system is None else [{"role": "system", "content": system}]
    for turn in turns:
        messages.append({"role": "user", "content": _content(turn, detail)})
        if turn.reply is not None:
            messages.append({"role": "assistant", "content": turn.reply})
    body: dict[str, Json] = {"messages": messages, "model": model, **parameters}
    return insert_images(body, [turn.picture for turn in turns if turn.picture is not None])


def insert_images(body: Mapping[str, Json], pictures: Sequence[bytes]) -> Body:
    """Insert images into the body, in order, for values equal to ``PLACE``."""
    # No text equals the placeholder, and quotation marks within texts are escaped, so the quoted
    # placeholder is unambiguous.
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

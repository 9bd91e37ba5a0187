"""The body of a chat-completion request, sent in pieces so that a picture is never copied.

Everything around the picture is serialised anew for each question; the picture is Base64 that was
made once and lies between the pieces. Base64 needs no escape in JSON.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

from medrcube.evaluate.images import Picture
from medrcube.evaluate.models.contract import Json
from medrcube.evaluate.models.media import presentable

_CHUNK = 2**17
_MARK = "\x00"


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


def data_url(picture: Picture) -> bytes:
    """The picture as a data URL, in a form that chat endpoints take; call it in a thread."""
    media_type, data = presentable(picture)
    return b"data:%s;base64,%s" % (media_type.encode(), base64.b64encode(data))


def chat_body(
    model: str,
    prompt: str,
    picture: bytes | None,
    parameters: Mapping[str, Json],
    system: str | None = None,
) -> Body:
    """The body of one question: the picture first, then the text.

    Args:
        model: name that the endpoint knows.
        prompt: the whole text.
        picture: data URL; ``None`` for a question without a picture.
        parameters: everything else of the body.
        system: what stands before the question; without the character NUL.
    """
    content: list[Json] = [{"type": "text", "text": prompt}]
    if picture is not None:
        content.insert(0, {"type": "image_url", "image_url": {"url": _MARK}})
    messages: list[Json] = [{"role": "user", "content": content}]
    if system is not None:
        messages.insert(0, {"role": "system", "content": system})
    body: dict[str, Json] = {
        "messages": messages,
        "model": model,
        **parameters,
    }
    # Only the system prompt comes before the mark. It holds no NUL, and a quotation mark in it is
    # escaped, so nothing in it can be taken for the mark in its quotation marks.
    head, mark, tail = json.dumps(body).encode().partition(json.dumps(_MARK).encode())
    if picture is None:
        return Body((head + mark + tail,))
    return Body((head + b'"', picture, b'"' + tail))

"""Requests about generated images, for the conformance check of a model adapter."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import replace

from medrcube.evaluate.image_files import ImageFile
from medrcube.evaluate.models.protocol import ModelRequest
from medrcube.forms import form_of
from medrcube.forms.box import BoxAsk
from medrcube.forms.number import NumberAsk
from medrcube.forms.order import OrderAsk
from medrcube.forms.pair import PairAsk
from medrcube.forms.point import PointAsk
from medrcube.forms.protocol import Ask

__all__ = ["open_requests", "sample_requests"]

_AT_ONCE = 9
_ASKS: tuple[Ask, ...] = (
    NumberAsk(unit="mm"),
    PointAsk(),
    BoxAsk(),
    OrderAsk(labels=("left", "middle", "right")),
    PairAsk(statements=("The picture is dark.", "The picture is bright.")),
)


def sample_requests() -> list[ModelRequest]:
    """Return requests of several lengths with images of several sizes and two to four options."""
    texts = ("Normal", "Mass", "Edema of both lungs", "Fracture")
    return [
        ModelRequest(
            item=f"check/{number}",
            prompt=f"Question: {'please ' * (3 * number)}what does the picture show?\nOptions:\n"
            + "\n".join(f"{letter}. {text}" for letter, text in options)
            + "\nAnswer with the letter of the one best option.",
            options=options,
            picture=None if number == _AT_ONCE - 1 else _picture(32 + 16 * number, 32 + 8 * number),
        )
        for number in range(_AT_ONCE)
        for options in [tuple(zip("ABCD", texts, strict=True))[: 2 + number % 3]]
    ]


def open_requests() -> list[ModelRequest]:
    """Return one request for each answer form without options, and one asked blind."""
    question = "Question: what does the picture show?"
    requests = [
        ModelRequest(
            item=f"check/{ask.form}",
            prompt=f"{question}\n{form_of(ask).instruction(ask)}",
            options=(),
            picture=_picture(40 + 8 * number, 40),
            ask=ask,
        )
        for number, ask in enumerate(_ASKS)
    ]
    return [*requests, replace(requests[0], item="check/blind", picture=None)]


def _picture(width: int, height: int) -> ImageFile:
    """Return a grey PNG with a gradient, so that no two images are equal."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    row = bytes(x * 255 // (width - 1) for x in range(width))
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
        + chunk(b"IDAT", zlib.compress((b"\0" + row) * height))
        + chunk(b"IEND", b"")
    )
    return ImageFile(data=data, media_type="image/png", sha256=hashlib.sha256(data).hexdigest())

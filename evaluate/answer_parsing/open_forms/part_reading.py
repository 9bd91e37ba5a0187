"""Result of a form's parser on a part of a reply."""

from __future__ import annotations

from typing import NamedTuple

from medrcube.forms.protocol import Json

__all__ = ["PartReading"]


class PartReading(NamedTuple):
    """Answer in a part of a reply.

    Attributes:
        answer: the answer as JSON, or ``None``.
        problem: why there is no answer although the part contains something of the form; empty if
            it contains nothing of it.
    """

    answer: Json
    problem: str

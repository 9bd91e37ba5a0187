"""What a form's reader finds in a part of a reply."""

from __future__ import annotations

from typing import NamedTuple

from medrcube.forms.protocol import Json

__all__ = ["PartReading"]


class PartReading(NamedTuple):
    """Answer in a part of a reply.

    Attributes:
        answer: the answer as JSON, or ``None``.
        problem: why there is none although the part holds something of the form; empty where it
            holds nothing.
    """

    answer: Json
    problem: str

"""Parse the answer in a reply by the form of its item."""

from __future__ import annotations

import json
from typing import NamedTuple

from medrcube.evaluate.answer_parsing import extract
from medrcube.evaluate.answer_parsing.open_forms.open_replies import (
    OpenReading,
    read_open_reply,
    read_truncated_open_reply,
)
from medrcube.evaluate.answer_parsing.truncated_replies import extract_truncated
from medrcube.evaluate.benchmark_item import BenchmarkItem

__all__ = ["ReadReply", "read_reply", "read_truncated_reply"]


class ReadReply(NamedTuple):
    """Answer in a reply.

    Attributes:
        answer: a letter, or for an item without options its answer as JSON text; ``None`` if there
            is none.
        rule: the rule that matched, or the reason why there is no answer.
    """

    answer: str | None
    rule: str


def read_reply(reply: str, item: BenchmarkItem) -> ReadReply:
    """Parse the answer in a complete reply."""
    if item.target is None:
        return ReadReply(*extract(reply, item.options))
    return _as_text(read_open_reply(reply, item.target.ask))


def read_truncated_reply(reply: str, item: BenchmarkItem) -> ReadReply:
    """Parse the answer that a truncated reply gave before it ended."""
    if item.target is None:
        return ReadReply(*extract_truncated(reply, item.options))
    return _as_text(read_truncated_open_reply(reply, item.target.ask))


def _as_text(reading: OpenReading) -> ReadReply:
    answer = None if reading.answer is None else json.dumps(reading.answer, ensure_ascii=False)
    return ReadReply(answer, reading.rule)

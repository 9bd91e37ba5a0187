"""Records of the attempt log: a reply, or the error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medrcube.evaluate.models.protocol import AnswerError, Reply

__all__ = ["error_record", "reply_record"]


def error_record(error: AnswerError) -> Mapping[str, Any]:
    """Return the record of an attempt without a reply."""
    problem = {"status": "error", "code": error.code, "error": str(error)}
    return {**problem, "usage": dict(error.usage)} if error.usage else problem


def reply_record(reply: Reply) -> Mapping[str, Any]:
    """Return the record of a reply."""
    record = {
        "status": "reply",
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "usage": dict(reply.usage),
        "model": reply.model,
        "latency": round(reply.latency, 3),
    }
    return {**record, "scores": dict(reply.scores)} if reply.scores else record

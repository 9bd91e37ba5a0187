"""Parse one line of a batch's results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from medrcube.errors import ModelError
from medrcube.evaluate.models.endpoint_errors import Sender, read_problem
from medrcube.evaluate.models.openai_api.reply import filtered_reply
from medrcube.evaluate.models.protocol import AnswerError, RejectedError, Reply, TransientError
from medrcube.model_endpoint import printable_line

__all__ = ["line_of", "question_error", "reply_or_error", "unfinished"]


def line_of(data: bytes, sender: Sender) -> Mapping[str, Any] | None:
    """Parse a line; return its JSON object if it names its question, else ``None``."""
    try:
        line = json.loads(sender.scrub(data.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None
    has_id = isinstance(line, dict) and isinstance(line.get("custom_id"), str)
    return line if has_id else None


def reply_or_error(get_reply: Callable[[], Reply]) -> Reply | AnswerError:
    """Return the reply, or the error that parsing it raised."""
    try:
        return get_reply()
    except AnswerError as error:
        return error


def question_error(
    sender: Sender, status: int, body: object, seconds: float
) -> Reply | AnswerError:
    """Return the result for a question that the provider refused.

    An error that would end a run of single questions fails only this question.
    """
    problem = read_problem(status, body)
    if problem.filtered:
        return filtered_reply(sender.model, seconds)
    error = sender.error(problem)
    if isinstance(error, ModelError):
        return RejectedError(f"{status}: {sender.scrub(problem.message)}", code=str(status))
    return error


def unfinished(code: str, words: object) -> TransientError:
    """Return the error for a question that the provider did not process; it is asked again."""
    detail = words if isinstance(words, str) and words else "the batch ended before this question"
    return TransientError(printable_line(f"{code}: {detail}"), code=code)

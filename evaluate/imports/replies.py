"""Replies of a result file in a common form, whichever harness wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError, failure_text
from medrcube.evaluate.questions.conditions import Condition
from medrcube.release_format.strict_json import BadJsonError, each_line, read_lines

__all__ = [
    "ForeignReply",
    "ForeignRun",
    "first_text",
    "json_lines",
    "json_object",
    "json_rows",
    "model_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignReply:
    """One reply.

    Attributes:
        item: item name, ``DATASET/ID``.
        text: raw reply; ``None`` for a failed request.
        epoch: repetition, from 0.
        finish_reason: why the model stopped: ``stop``, ``length`` or ``content_filter``.
        usage: token counts, where available.
        turn: number of positions by which the options were rotated.
        options: option texts in the order shown; empty if unknown.
        question: question shown, or a prompt that contains it; empty if unknown.
        model: name of the model, if the file states it for each reply.
    """

    item: str
    text: str | None
    epoch: int = 0
    turn: int = 0
    options: tuple[str, ...] = ()
    finish_reason: str = "stop"
    usage: Mapping[str, int] = field(default_factory=dict)
    question: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignRun:
    """All replies of one file.

    Attributes:
        tool: the harness that wrote it.
        model: name of the model; empty if unknown.
        replies: in the order of the file.
        bad: unreadable rows, each with its position and the reason.
        condition: evaluation condition.
        prompt: origin of the prompt, for reports; empty if it is the tool's own.
    """

    tool: str
    model: str
    replies: tuple[ForeignReply, ...]
    bad: tuple[str, ...] = ()
    condition: Condition = Condition.FULL
    prompt: str = ""


def json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield rows of a JSONL file with their line numbers.

    Raises:
        WorkspaceError: it cannot be read, or a line is not an object; names the line.
    """
    try:
        with path.open("rb") as file:
            for number, row in enumerate(read_lines(file), start=1):
                if not isinstance(row, dict):
                    raise WorkspaceError(f"{path} line {number}: expected an object")
                yield number, row
    except (OSError, BadJsonError) as error:
        raise WorkspaceError(
            f"{path}: cannot be read as JSON lines: {failure_text(error)}"
        ) from error


def json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Yield rows of a JSONL file with their line numbers; for a bad line, the reason.

    Raises:
        WorkspaceError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, row in each_line(file):
                if isinstance(row, BadJsonError):
                    yield number, f"cannot be read as JSON: {row}"
                else:
                    yield number, row if isinstance(row, dict) else "is not an object"
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be read: {error.strerror}") from error


def json_object(data: bytes | str, where: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        WorkspaceError: the data are not a JSON object.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WorkspaceError(f"{where}: cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise WorkspaceError(f"{where}: expected an object")
    return value


def model_of(row: Mapping[str, Any]) -> str:
    """Return the model name in a row; empty if absent."""
    value = row.get("model")
    return "" if value is None else str(value).strip()


def first_text(value: Any, where: str) -> str:
    """Return the reply from nested lists, as harnesses wrap it.

    Raises:
        WorkspaceError: there is none.
    """
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str):
        raise WorkspaceError(f"{where}: has no reply; expected a text, found {value!r:.80}")
    return value

"""Replies of a result file in one form, whichever harness wrote it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
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
        item: dataset and id of the item, ``DATASET/ID``.
        text: the reply as the model gave it; ``None`` where the request failed.
        epoch: number of the repetition, from 0.
        finish_reason: why the model stopped: ``stop``, ``length`` or ``content_filter``.
        usage: token counts, where the harness keeps them.
        turn: by how many places the options were rotated.
        options: texts of the options in the order that was shown; empty where that is not told.
        question: the question that was shown, or a prompt that holds it; empty where that is not
            told.
        model: name of the model that gave it, where the file tells that for each reply.
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
        model: name of the model there; empty where the file does not say.
        replies: in the order of the file.
        bad: rows that could not be read, each with its place and the reason.
        condition: what of the questions was shown.
        prompt: who worded it, behind the word "prompt" in reports; empty where the tool did.
    """

    tool: str
    model: str
    replies: tuple[ForeignReply, ...]
    bad: tuple[str, ...] = ()
    condition: Condition = Condition.FULL
    prompt: str = ""


def json_rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows of a JSONL file with the number of their line.

    Raises:
        WorkspaceError: it cannot be read, or a line is no object; names the line.
    """
    try:
        with path.open("rb") as file:
            for number, row in enumerate(read_lines(file), start=1):
                if not isinstance(row, dict):
                    raise WorkspaceError(f"{path} line {number}: expected an object")
                yield number, row
    except (OSError, BadJsonError) as error:
        raise WorkspaceError(f"{path}: cannot be read as JSON lines: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Rows of a JSONL file with the number of their line; of a bad line the reason.

    Raises:
        WorkspaceError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, row in each_line(file):
                if isinstance(row, BadJsonError):
                    yield number, f"cannot be read as JSON: {row}"
                else:
                    yield number, row if isinstance(row, dict) else "is no object"
    except OSError as error:
        raise WorkspaceError(f"{path}: cannot be read: {error.strerror}") from error


def json_object(data: bytes | str, where: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        WorkspaceError: it is none.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WorkspaceError(f"{where}: cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise WorkspaceError(f"{where}: expected an object")
    return value


def model_of(row: Mapping[str, Any]) -> str:
    """Name of the model in a row of replies; empty where it tells none."""
    value = row.get("model")
    return "" if value is None else str(value).strip()


def first_text(value: Any, where: str) -> str:
    """The reply in the lists, one within the other, that harnesses wrap it in.

    Raises:
        WorkspaceError: there is none.
    """
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str):
        raise WorkspaceError(f"{where}: has no reply; expected a text, found {value!r:.80}")
    return value

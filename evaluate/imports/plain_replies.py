"""Read replies from plain rows: an item id and a text.

JSON lines, CSV, TSV, spreadsheets, and JSON lists, which is also the format of the published
evaluator's ``results.json`` (``dataset``, ``id``, ``model_response``). A bad row never stops the
import: it is reported with its position and the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun, json_lines, model_of
from medrcube.evaluate.imports.shown_options import question_and_options
from medrcube.evaluate.imports.table_rows import table_rows

__all__ = ["IDS", "TEXTS", "TOOL", "looks_plain", "read_plain"]

TOOL = "replies"

IDS = ("item", "id", "item_id", "question_id")
"""Names of the item column: ``DATASET/ID``, or the id, with or without a column ``dataset``."""

TEXTS = ("text", "reply", "response", "prediction", "model_response", "output")
"""Names of the reply column; a row has exactly one of them."""

_REASONS = {
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
    "content_filter": "content_filter",
}


class _BadReplyRowError(ValueError):
    """A row cannot be used; the message says why."""


def read_plain(path: Path) -> ForeignRun:
    """Read a file of rows; a null text is a failed request.

    Raises:
        WorkspaceError: the file cannot be read at all.
    """
    replies: list[ForeignReply] = []
    bad: list[str] = []
    for where, row in _rows(path):
        if isinstance(row, str):
            bad.append(f"{where}: {row}")
            continue
        try:
            replies.append(_reply(row))
        except _BadReplyRowError as error:
            bad.append(f"{where}: {error}")
    return ForeignRun(
        tool=TOOL, model=path.stem, replies=tuple(replies), bad=tuple(bad), prompt="not told"
    )


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any] | str]]:
    if path.suffix == ".jsonl":
        for number, row in json_lines(path):
            yield f"line {number}", row
        return
    first = 1 if path.suffix == ".json" else 2  # the first row of a table contains the column names
    for number, row in enumerate(table_rows(path), start=first):
        yield f"row {number}", row


def _reply(row: Mapping[str, Any]) -> ForeignReply:
    texts = [name for name in TEXTS if name in row]
    if len(texts) != 1:
        columns = " and ".join(texts) or "none of them"
        raise _BadReplyRowError(f"has {columns}; expected one of the columns {', '.join(TEXTS)}")
    text = row[texts[0]]
    if not isinstance(text, str | int | float | None):
        raise _BadReplyRowError(f"{texts[0]} is not text")
    question, options = question_and_options(row)
    reason = str(row.get("finish_reason") or "stop").casefold()
    return ForeignReply(
        item=_item(row),
        text=None if text is None else str(text),
        epoch=_epoch(row.get("epoch")),
        finish_reason=_REASONS.get(reason, "stop"),
        model=model_of(row),
        question=question,
        options=options,
    )


def _item(row: Mapping[str, Any]) -> str:
    value = next((row[name] for name in IDS if row.get(name) not in (None, "")), None)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise _BadReplyRowError(f"has no item; expected one of the columns {', '.join(IDS)}")
    name, dataset = str(value).strip(), row.get("dataset")
    if "/" in name or not (isinstance(dataset, str) and dataset):
        return name
    return f"{dataset}/{name}"


def _epoch(value: Any) -> int:
    try:
        number = int(value or 0)
    except (TypeError, ValueError):
        number = -1
    if not 0 <= number < 1000:
        raise _BadReplyRowError(f"epoch is {value!r:.40}; expected a number from 0")
    return number


def looks_plain(path: Path) -> bool:
    """Whether the first readable row of a JSON lines file is a plain row, not a harness sample.

    Raises:
        WorkspaceError: the file cannot be read.
    """
    row = next((row for _, row in json_lines(path) if not isinstance(row, str)), {})
    return any(name in row for name in TEXTS) and "doc" not in row

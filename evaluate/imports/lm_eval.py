"""Read sample files (JSONL) of lmms-eval and lm-evaluation-harness, from tasks that we exported."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medrcube.errors import WorkspaceError
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun, first_text, json_lines
from medrcube.evaluate.imports.shown_options import question_and_options

__all__ = ["LMMS_EVAL", "LM_EVAL", "METRIC", "read_samples"]

LMMS_EVAL, LM_EVAL = "lmms-eval", "lm-eval"

METRIC = "medrcube"
"""Metric of our lmms-eval task; its value in a sample contains the item name."""


def read_samples(path: Path) -> ForeignRun:
    """Read a ``samples`` file.

    Raises:
        WorkspaceError: it cannot be read, or comes from another task.
    """
    tool, replies, bad = LM_EVAL, list[ForeignReply](), list[str]()
    for number, row in json_lines(path):
        where = f"{path} line {number}"
        if isinstance(row, str):
            bad.append(f"line {number}: {row}")
            continue
        ours = row.get(METRIC)
        tool = LMMS_EVAL if isinstance(ours, dict) else LM_EVAL
        item = ours if isinstance(ours, dict) else row.get("doc")
        if not isinstance(item, dict) or not isinstance(item.get("item"), str):
            raise WorkspaceError(
                f"{where}: has no item; expected the samples of a task that  medrcube export  wrote"
            )
        text = first_text(_raw_reply(row), where)
        doc = row.get("doc")
        question, options = question_and_options(doc if isinstance(doc, dict) else {})
        replies.append(
            ForeignReply(item=item["item"], text=text, question=question, options=options)
        )
    # lmms-eval and lm-eval name the folder after the model.
    return ForeignRun(
        tool=tool, model=path.resolve().parent.name, replies=tuple(replies), bad=tuple(bad)
    )


def _raw_reply(row: Mapping[str, Any]) -> Any:
    # The raw reply where present: a filter may already have extracted a letter.
    return row["resps"] if "resps" in row else row.get("filtered_resps")

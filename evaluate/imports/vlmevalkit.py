"""Read result files of VLMEvalKit: our columns, and the reply as ``prediction``.

Spreadsheets, TSV and JSON are read; pickles are not, since loading one can execute code.
"""

from __future__ import annotations

import re
from pathlib import Path

from medrcube.errors import WorkspaceError
from medrcube.evaluate.exports.vlmevalkit import DATA_SET
from medrcube.evaluate.imports.replies import ForeignReply, ForeignRun, model_of
from medrcube.evaluate.imports.shown_options import question_and_options
from medrcube.evaluate.imports.table_rows import table_rows

__all__ = ["FAILED", "ITEM", "SUFFIXES", "TOOL", "read_vlmevalkit"]

TOOL = "vlmevalkit"
ITEM = "item"
"""Column of the item name, which our export adds since ``index`` must be a number."""

FAILED = "Failed to obtain answer"
"""Text that replaces the reply of a failed request (``INFER_FAIL_MSG``)."""

SUFFIXES = (".xlsx", ".tsv")

_FILE = re.compile(rf"(.+)_{DATA_SET.pattern}(?![0-9a-z])")


def read_vlmevalkit(path: Path) -> ForeignRun:
    """Read ``MODEL_DATASET.xlsx``, ``.tsv`` or ``.json``.

    Raises:
        WorkspaceError: it cannot be read, or lacks the columns ``item`` and ``prediction``.
    """
    replies = []
    for number, row in enumerate(table_rows(path), start=2):
        item, text = row.get(ITEM), row.get("prediction")
        if not isinstance(item, str) or "prediction" not in row:
            raise WorkspaceError(
                f"{path} row {number}: has no {ITEM} and prediction; expected a result of a "
                "dataset that  medrcube export --to vlmevalkit  wrote"
            )
        reply = "" if text is None else str(text)
        text = None if FAILED in reply else reply
        question, options = question_and_options(row)
        replies.append(
            ForeignReply(
                item=item, text=text, model=model_of(row), question=question, options=options
            )
        )
    return ForeignRun(tool=TOOL, model=_model(path), replies=tuple(replies))


def _model(path: Path) -> str:
    """Return the model in ``MODEL_DATASET...``, up to our dataset name; else the folder name."""
    match = _FILE.match(path.name)
    return match[1] if match else path.resolve().parent.name

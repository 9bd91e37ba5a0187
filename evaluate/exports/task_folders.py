"""Task folders for lmms-eval and lm-evaluation-harness: YAML, Python functions and Parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from medrcube.evaluate.exports.embedded_code import write_code
from medrcube.evaluate.exports.selection import ExportSelection
from medrcube.evaluate.questions.prompts import render_prompt
from medrcube.files.atomic import replacing
from medrcube.release_format.rows import LETTERS

__all__ = ["DATA", "LMMS_EVAL", "LM_EVAL", "export_task_folder"]

LMMS_EVAL, LM_EVAL = "lmms-eval", "lm-eval"

DATA = "test.parquet"

_TEXTS = ("item", "prompt", "question", *LETTERS, "answer", "task", "modality", "anatomy")
_TEXT = {"dtype": "string", "_type": "Value"}
_FEATURES = {"image": {"_type": "Image"}, **dict.fromkeys(_TEXTS, _TEXT)}
_SCHEMA = pa.schema(
    [
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        *((name, pa.string()) for name in _TEXTS),
    ],
    metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
)
_ROWS = 100


def export_task_folder(selection: ExportSelection, out: Path, harness: str) -> Path:
    """Write a task folder, for use with ``--include_path``.

    Args:
        selection: items to export.
        out: folder, created if missing.
        harness: ``lmms-eval`` or ``lm-eval``.

    Returns:
        The YAML.

    Raises:
        ReleaseError: an image cannot be read.
        WorkspaceError: a file cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    data = out / DATA
    with replacing(data) as temporary, pq.ParquetWriter(temporary, _SCHEMA) as writer:
        rows = _rows(selection)
        while group := list(islice(rows, _ROWS)):
            writer.write_table(pa.Table.from_pylist(group, schema=_SCHEMA))
    stem = harness.replace("-", "_")
    version = selection.benchmark.digest[:8]
    # Both harnesses resolve paths from their working directory, so this path is absolute.
    where = json.dumps(str(data.resolve()))
    write_code(out / "medrcube_answers.py", "answers.py")
    write_code(out / "medrcube_functions.py", f"{stem}.py")
    path = out / "medrcube.yaml"
    write_code(path, f"{stem}.yaml", data=where, version=version)
    return path


def _rows(selection: ExportSelection) -> Iterator[Mapping[str, Any]]:
    for item, picture in selection.with_pictures():
        yield {
            "image": {"bytes": picture.data, "path": Path(str(item.image)).name},
            "item": item.name,
            "prompt": render_prompt(item),
            "question": item.question,
            **dict.fromkeys(LETTERS),
            **dict(item.options),
            "answer": item.key,
            "task": item.task.value,
            "modality": item.modality.value,
            "anatomy": item.parts.value,
        }

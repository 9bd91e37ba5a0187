"""Items as Inspect samples, for the task of this package and for a stand-alone folder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.evaluate.exports.embedded_code import write_code
from medrcube.evaluate.exports.inspect_log import sample_id
from medrcube.evaluate.exports.selection import ExportSelection
from medrcube.evaluate.questions.prompts import render_prompt
from medrcube.files.atomic import write_bytes, write_text

__all__ = ["INSPECT", "PICTURES", "export_inspect_task", "inspect_sample"]

INSPECT = "inspect"
PICTURES = "pictures"


def export_inspect_task(selection: ExportSelection, out: Path) -> Path:
    """Write ``medrcube_task.py``, ``items.jsonl`` and every image once, named by its digest.

    Args:
        selection: items to export.
        out: folder, created if missing.

    Returns:
        The task.

    Raises:
        ReleaseError: an image cannot be read.
        WorkspaceError: a file cannot be written.
    """
    (out / PICTURES).mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(sample, ensure_ascii=False) for sample in _samples(selection, out)]
    write_text(out / "items.jsonl", "\n".join(lines) + "\n")
    write_code(out / "medrcube_answers.py", "answers.py")
    path = out / "medrcube_task.py"
    write_code(path, "inspect_task.py", version=selection.benchmark.digest[:8])
    return path


def inspect_sample(item: BenchmarkItem, image: str) -> dict[str, Any]:
    """Return the Inspect sample of an item.

    ``unit`` in its metadata is the patient, case or image by which standard errors are clustered.

    Args:
        item: the item.
        image: path of its image for Inspect.
    """
    content = [{"type": "image", "image": image}, {"type": "text", "text": render_prompt(item)}]
    return {
        "id": sample_id(item.name),
        "input": [{"role": "user", "content": content}],
        "target": item.key,
        "metadata": {
            "item": item.name,
            "options": dict(item.options),
            "dataset": item.dataset,
            "task": item.task.value,
            "modality": item.modality.value,
            "parts": item.parts.value,
            "unit": f"{item.dataset}/{item.unit or item.image}",
            "restricted": item.restricted,
        },
    }


def _samples(selection: ExportSelection, out: Path) -> Iterator[dict[str, Any]]:
    for item, picture in selection.with_pictures():
        kind = picture.media_type.removeprefix("image/")
        name = f"{PICTURES}/{picture.sha256}.{kind}"
        if not (out / name).exists():
            write_bytes(out / name, picture.data)
        yield inspect_sample(item, name)

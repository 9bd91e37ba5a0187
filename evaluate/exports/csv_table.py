"""Export the items of a release as one CSV file, without images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medrcube.evaluate.benchmark_item import target_text
from medrcube.evaluate.dataset import Benchmark
from medrcube.evaluate.reporting.data_tables import as_csv
from medrcube.files.atomic import write_text
from medrcube.release_format.rows import LETTERS

__all__ = ["export_items"]


def export_items(benchmark: Benchmark, out: Path) -> int:
    """Write ``out``, one row per item, with the published field names.

    ``image`` is the path in the release, ``gt_letter`` the letter of the answer; ``target`` is the
    JSON ``ask`` and ``truth`` of an item without options; ``withdrawn`` is whether the release's
    errata withdraw the item, ``picture`` whether the file is present, ``image_sha256`` its digest.

    Returns:
        Number of rows.

    Raises:
        WorkspaceError: ``out`` cannot be written.
    """
    digests = benchmark.image_digests
    rows: list[dict[str, Any]] = []
    for item in benchmark.items:
        options = dict(item.options)
        digest = None if item.image is None else digests[item.image]
        rows.append(
            {
                "dataset": item.dataset,
                "id": item.id,
                "image": item.image,
                "question": item.question,
                **{f"option_{letter}": options.get(letter) for letter in LETTERS},
                "gt_letter": item.key,
                "gt_answer": item.right_answer,
                "form": item.form,
                "target": target_text(item),
                "task": item.task.value,
                "modality": item.modality.value,
                "parts": item.parts.value,
                "original_task": item.original_task,
                "restricted": item.restricted,
                "visible": item.visible,
                "block": item.block,
                "unit": item.unit,
                "fact": item.fact,
                "withdrawn": item.name in benchmark.errata,
                "picture": "here" if digest else "absent",
                "image_sha256": digest,
            }
        )
    write_text(out, as_csv(rows))
    return len(rows)

"""Export a TSV for VLMEvalKit's multiple-choice class, and a script to run it there."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from medrcube.evaluate.exports.embedded_code import write_code
from medrcube.evaluate.exports.selection import ExportSelection
from medrcube.files.atomic import replacing
from medrcube.release_format.rows import LETTERS

__all__ = ["COLUMNS", "DATA_SET", "export_vlmevalkit"]

COLUMNS = ("index", "item", "image", "question", *LETTERS, "answer", "category", "l2-category",
           "modality", "anatomy", "split")  # fmt: skip
"""Columns; ``index`` must be a number, so ``item`` contains the item name."""

DATA_SET = re.compile(r"MedRCube_(?:private_)?[0-9a-f]{8}")
"""Dataset name: whether it contains restricted images, and the digest of the release."""

_NO_VALUES = frozenset(
    (
        *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
        *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
    )
)
"""Texts that ``pandas.read_csv`` reads as missing (pandas 2.3, ``na_values``)."""


def export_vlmevalkit(selection: ExportSelection, out: Path) -> Path:
    """Write ``NAME.tsv`` and ``run_vlmevalkit.py``.

    An image that several items share is only in the first row; the others contain that row's index,
    as VLMEvalKit allows. The name contains the digest of the release, because VLMEvalKit caches
    images by name indefinitely.

    Args:
        selection: items to export.
        out: folder, created if missing.

    Returns:
        The TSV.

    Raises:
        ReleaseError: an image cannot be read.
        WorkspaceError: a file cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    edition = "private_" if selection.private else ""
    name = f"MedRCube_{edition}{selection.benchmark.digest[:8]}"
    path = out / f"{name}.tsv"
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, dialect="excel-tab", lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(_rows(selection))
    with path.open("rb") as data:
        md5 = hashlib.file_digest(data, "md5").hexdigest()
    write_code(out / "run_vlmevalkit.py", "vlmevalkit.py", name=name, md5=md5)
    return path


def _rows(selection: ExportSelection) -> Iterator[list[str]]:
    first: dict[str, int] = {}
    for index, (item, picture) in enumerate(selection.with_pictures()):
        first_index = first.setdefault(picture.sha256, index)
        image = (
            base64.b64encode(picture.data).decode() if first_index == index else str(first_index)
        )
        options = dict(item.options)
        yield [
            str(index),
            item.name,
            image,
            item.question,
            *(_pandas_safe(options.get(letter, "")) for letter in LETTERS),
            item.key,
            item.dataset,
            item.task.value,
            item.modality.value,
            item.parts.value,
            "test",
        ]


def _pandas_safe(text: str) -> str:
    # VLMEvalKit would drop such an option; with a trailing blank, pandas reads it as text.
    return f"{text} " if text in _NO_VALUES else text

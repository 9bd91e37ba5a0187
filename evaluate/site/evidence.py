"""Evidence for the key and the options of an item, from ``items.parquet`` of a release."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medrcube.evaluate.benchmark_item import BenchmarkItem
from medrcube.release_format.tree import open_file, stat_file

__all__ = ["TABLE", "ItemEvidence", "read_evidence"]

TABLE = "items.parquet"

_FACTS = (
    ("field", "field of the source"),
    ("concept", "value of the source"),
    ("group", "group of concepts"),
    ("scope", "what it is about"),
    ("strategy", "how options were chosen"),
    ("grade", "weakest evidence"),
    ("difficulty", "difficulty"),
    ("visible", "shown by the image"),
    ("state", "review"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemEvidence:
    """Evidence of one item.

    Attributes:
        facts: (name, value) for the item as a whole.
        options: evidence of each option, by its letter.
    """

    facts: tuple[tuple[str, str], ...]
    options: Mapping[str, str]


def read_evidence(root: Path, items: tuple[BenchmarkItem, ...]) -> dict[str, ItemEvidence]:
    """Return evidence by item name; empty if the release has none or pyarrow is missing.

    Raises:
        ReleaseError: a link leads out of the release.
    """
    path = root / TABLE
    if stat_file(root, path) is None:
        return {}
    try:
        import pyarrow as pa  # noqa: PLC0415 - only where it is installed
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        return {}
    with open_file(root, path) as file:
        try:
            rows = {row["id"]: row for row in pq.read_table(file).to_pylist()}
        except (pa.ArrowException, OSError, KeyError):
            return {}
    return {item.name: _evidence(item, rows[item.id]) for item in items if item.id in rows}


def _evidence(item: BenchmarkItem, row: Mapping[str, Any]) -> ItemEvidence:
    facts = [(title, str(row[name])) for name, title in _FACTS if row.get(name)]
    return ItemEvidence(facts=tuple(facts), options=_options(item, row))


def _options(item: BenchmarkItem, row: Mapping[str, Any]) -> dict[str, str]:
    try:
        details = json.loads(row.get("details") or "[]")
        texts = [_option_text(detail) for detail in details]
    except (ValueError, AttributeError, TypeError):
        return {}
    return {letter: text for (letter, _), text in zip(item.options, texts, strict=False) if text}


def _option_text(detail: Mapping[str, Any]) -> str:
    grade = f"evidence {detail['grade']}" if detail.get("grade") else ""
    return ", ".join(str(part) for part in (detail.get("word"), grade) if part)

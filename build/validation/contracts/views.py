"""Flat views of tables for the contracts.

A view never fails: values missing from a broken table stay empty, and the rule that the column must
be filled names the row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from medrcube.facts import Grade
from medrcube.ontologies.label_words import normalise
from medrcube.release_format.rows import LETTERS, ReleaseRow

__all__ = ["item_view", "record_view", "sample_view"]

_KEY = "key"


def sample_view(samples: pd.DataFrame) -> pd.DataFrame:
    """View of ``samples.parquet``."""
    return samples.astype(object)


def item_view(items: pd.DataFrame) -> pd.DataFrame:
    """View of ``items.parquet``, with summaries of its lists of options.

    Added columns are ``distinct_options``, ``marked_keys`` (1 if exactly the key option has the
    strategy ``key``), ``ungraded_options`` and ``texts``; ``options`` becomes their number.
    """
    view = items.drop(columns=["options", "details", "warnings"], errors="ignore").astype(object)
    if "grade" in view.columns:
        view["grade"] = view["grade"].where(view["grade"] != "")
    counts = pd.DataFrame(
        [_counts(row) for row in _records(items)],
        columns=["options", "distinct_options", "marked_keys", "ungraded_options", "texts"],
        index=items.index,
        dtype=object,
    )
    return pd.concat([view, counts], axis=1)


def record_view(rows: Iterable[tuple[ReleaseRow, Mapping[str, Any]]]) -> pd.DataFrame:
    """View of the rows of every ``test.json``, parsed and as written."""
    columns = ("id", "dataset", "image_path", "question", "correct_index", "restricted", "texts")
    table = [
        (
            row.id,
            row.dataset,
            row.image,
            row.question,
            raw.get("correct_index"),
            raw.get("restricted"),
            _joined(text for _, text in row.options),
        )
        for row, raw in rows
    ]
    return pd.DataFrame(table, columns=list(columns), dtype=object)


def _records(items: pd.DataFrame) -> Iterator[Mapping[str, Any]]:
    columns = [name for name in ("options", "details", "key") if name in items.columns]
    for values in zip(*(items[name].astype(object) for name in columns), strict=True):
        yield dict(zip(columns, values, strict=True))


def _counts(row: Mapping[str, Any]) -> tuple[Any, ...]:
    try:
        texts = [str(text) for text in row["options"]]
        details = json.loads(row["details"])
        keys = [place for place, detail in enumerate(details) if detail["strategy"] == _KEY]
        wrong = [detail["grade"] for detail in details if detail["strategy"] != _KEY]
    except (KeyError, TypeError, ValueError):
        return (None,) * 5
    distinct = {normalise(text) for text in texts} - {""}
    as_made = keys == [row.get("key")] and len(details) == len(texts) <= len(LETTERS)
    ungraded = sum(grade not in tuple(Grade) for grade in wrong)
    return len(texts), len(distinct), int(as_made), ungraded, _joined(texts)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(sorted(texts))

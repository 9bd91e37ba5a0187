"""Item and option records, and their table ``items.parquet``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from medrcube.build.record_tables import require_columns, typed_frame

__all__ = ["KEY", "UNREVIEWED", "ChoiceItem", "Option", "items_from_frame", "items_to_frame"]

UNREVIEWED = "unreviewed"
KEY = "key"
"""Strategy of the right option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option and the evidence for it.

    Attributes:
        text: text shown to the reader.
        concept: label in ``ontologies/terms.csv``; empty for a number.
        ids: ids of the concept, such as ``hpo:HP:0002202``.
        versions: edition of the user's index in which each id was looked up; empty strings without
            an index.
        named_by: ontology whose preferred name is shown, with id and version, such as
            ``radlex:RID28493 (4.3)``; empty if the wording is our own.
        word: the dataset's own word for the concept, such as ``Finding Labels: Effusion``; empty if
            it has none.
        strategy: ``key``, ``predefined``, ``knowledge``, ``llm``, ``box`` or ``frame``.
        grade: evidence that it is wrong, A to C; empty for the key.
        passed: numbers of the safety conditions that it passed.
        similarity: to the key, 0 to 1; ``None`` if unknown, and for the key.
        difficulty: ``easy``, ``medium`` or ``hard`` by rank among the safe options; empty for the
            key and for boxes.
    """

    text: str
    concept: str
    ids: tuple[str, ...]
    strategy: str
    grade: str
    passed: tuple[int, ...]
    versions: tuple[str, ...] = ()
    named_by: str = ""
    word: str = ""
    similarity: float | None = None
    difficulty: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceItem:
    """One question on one image.

    Attributes:
        id: hash of what it asks: image, task, question and options in any order.
        sample: id of the image.
        source: id of the source.
        task: value of a ``Task``.
        anatomy: value of an ``Anatomy``.
        modality: value of a ``Modality``.
        question: the stem.
        options: two to four, in display order.
        key: index of the right option.
        strategy: where the wrong options come from.
        state: ``unreviewed`` until clinicians have reviewed it.
        field: card field of the fact; empty for the modality.
        concept: concept that the item asks about.
        group: exclusive group of the options, or empty.
        scope: what the fact is about, name of a ``Scope`` in lower case.
        grade: weakest evidence among the wrong options.
        ordered: whether the options keep a natural order (scales, numbered boxes).
        variant: wording of the template.
        template: version of the template file.
        warnings: item-writing rules of level warning that it breaks.
        seed: seed of the draw.
        difficulty: that of its hardest wrong option, since all must be ruled out; empty for boxes.
        visible: whether a reader of the image could know the answer: ``yes``, ``partly`` or ``no``.
        block: id of the block of items in which it was drawn; empty if none.
    """

    id: str
    sample: str
    source: str
    task: str
    anatomy: str
    modality: str
    question: str
    options: tuple[Option, ...]
    key: int
    strategy: str
    state: str
    field: str
    concept: str
    group: str
    scope: str
    grade: str
    ordered: bool
    variant: str
    template: str
    warnings: tuple[str, ...]
    seed: int
    difficulty: str = ""
    visible: str = "yes"
    block: str = ""


_LISTS = ("options", "warnings")
_NUMBERS = {"key": "int64", "seed": "int64", "ordered": "bool"}
_DETAILS = tuple(column.name for column in fields(Option) if column.name != "text")
COLUMNS = (*(column.name for column in fields(ChoiceItem)), "details")
"""Columns of ``items.parquet``: ``options`` holds the texts, ``details`` everything else as JSON.
"""


def items_to_frame(items: Iterable[ChoiceItem]) -> pd.DataFrame:
    """One row per item, with columns in fixed order and type even if there are no items."""
    frame = pd.DataFrame([_row(item) for item in items], columns=list(COLUMNS))
    texts = {name: "str" for name in COLUMNS if name not in (*_LISTS, *_NUMBERS)}
    return typed_frame(frame, {**texts, **_NUMBERS, **dict.fromkeys(_LISTS, "object")})


def items_from_frame(frame: pd.DataFrame) -> list[ChoiceItem]:
    """Inverse of ``items_to_frame``.

    Raises:
        WorkspaceError: a column is missing.
    """
    table = require_columns(frame, COLUMNS, "items table")
    rows: Iterable[tuple[Any, ...]] = zip(*(table[name].tolist() for name in COLUMNS), strict=True)
    return [_item(dict(zip(COLUMNS, row, strict=True))) for row in rows]


def _row(item: ChoiceItem) -> dict[str, Any]:
    row: dict[str, Any] = {column.name: getattr(item, column.name) for column in fields(ChoiceItem)}
    row["options"] = [option.text for option in item.options]
    row["warnings"] = list(item.warnings)
    row["details"] = json.dumps(
        [{name: getattr(option, name) for name in _DETAILS} for option in item.options]
    )
    return row


def _item(record: Mapping[str, Any]) -> ChoiceItem:
    details = json.loads(record["details"])
    options = tuple(
        Option(text=str(text), **{name: _tupled(value) for name, value in detail.items()})
        for text, detail in zip(record["options"], details, strict=True)
    )
    plain = {name: value for name, value in record.items() if name not in (*_LISTS, "details")}
    plain |= {"key": int(plain["key"]), "seed": int(plain["seed"])}
    plain["ordered"] = bool(plain["ordered"])
    warnings = tuple(str(warning) for warning in record["warnings"])
    return ChoiceItem(**plain, options=options, warnings=warnings)


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

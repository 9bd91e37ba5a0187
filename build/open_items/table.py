"""Open item record, and its table ``open_items.parquet``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from medrcube.build.questions.item_table import UNREVIEWED
from medrcube.build.record_tables import column_types, records_to_frame, require_columns, typed
from medrcube.forms import OPEN_FORMS, OPTION
from medrcube.forms.option import OptionTarget
from medrcube.forms.protocol import Target
from medrcube.release_format.open_rows import read_options

__all__ = ["OpenItem", "open_items_from_frame", "open_items_to_frame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenItem:
    """One question of a task with a rule, on one image.

    Attributes:
        id: hash of what it asks: image, task, question, and target.
        sample: id of the image.
        source: id of the source.
        task: value of a ``Task``.
        anatomy: value of an ``Anatomy``.
        modality: value of a ``Modality``.
        question: the stem.
        form: name of the answer form.
        ask: what a model is told in addition to the question, as JSON.
        truth: what is right, and the bar, as JSON.
        chance: pass rate of the best answer without looking at the image.
        state: ``unreviewed`` until clinicians have reviewed it.
        field: card field of the fact.
        concept: concept that it asks about.
        grade: evidence that the truth is right, and the only one.
        visible: whether a reader of the image could know the answer: ``yes``, ``partly`` or ``no``.
        prior: cell of its blind prior, joined by ``; ``.
        set: id of its set; empty for none.
        role: what distinguishes it from the others of its set.
        contrast: what its image shows if a finding is denied: ``another`` finding, ``unstated``, or
            ``normal``; empty if nothing is denied.
        lot: class over which the draw was balanced; empty for none.
        seen: numbers that the frame of the image reveals, joined by spaces; empty for none.
        variant: wording of the template.
        template: version of the template file.
        seed: seed of the draw.
    """

    id: str
    sample: str
    source: str
    task: str
    anatomy: str
    modality: str
    question: str
    form: str
    ask: str
    truth: str
    chance: float
    state: str = UNREVIEWED
    field: str
    concept: str
    grade: str
    visible: str
    prior: str = ""
    set: str = ""
    role: str = ""
    contrast: str = ""
    lot: str = ""
    seen: str = ""
    variant: str
    template: str
    seed: int

    @property
    def target(self) -> Target | OptionTarget:
        """Return what it asks for, what is right, and the bar."""
        ask, truth = json.loads(self.ask), json.loads(self.truth)
        if self.form == OPTION:
            return read_options(ask, truth)
        target: Target = OPEN_FORMS[self.form].read_target(ask, truth)
        return target


COLUMNS = column_types(OpenItem)
"""Column -> pandas type, in the order of ``open_items.parquet``."""


def open_items_to_frame(items: Iterable[OpenItem]) -> pd.DataFrame:
    """One row per item, with columns in fixed order and type even if there are no items."""
    return records_to_frame(items, COLUMNS)


def open_items_from_frame(frame: pd.DataFrame) -> list[OpenItem]:
    """Inverse of ``open_items_to_frame``.

    Raises:
        WorkspaceError: a column is missing.
    """
    table = require_columns(frame, COLUMNS, "open items table")
    columns = (typed(table[name], kind).tolist() for name, kind in COLUMNS.items())
    rows: Iterable[tuple[Any, ...]] = zip(*columns, strict=True)
    return [OpenItem(**dict(zip(COLUMNS, row, strict=True))) for row in rows]

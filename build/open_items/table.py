"""Open item record, and its table ``open_items.parquet``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from medrcube.build.questions.item_table import UNREVIEWED
from medrcube.build.record_tables import column_types, records_to_frame, require_columns
from medrcube.forms import OPEN_FORMS, OPTION
from medrcube.forms.option import OptionTarget
from medrcube.forms.protocol import Target
from medrcube.release_format.open_rows import read_options

__all__ = ["OpenItem", "open_items_from_frame", "open_items_to_frame"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenItem:
    """One question of a task with a rule, on one image.

    Attributes:
        id: hash of what it asks: image, task, question, and what is asked for and right.
        sample: id of the image.
        source: id of the source.
        task: value of a ``Task``.
        anatomy: value of an ``Anatomy``.
        modality: value of a ``Modality``.
        question: the stem.
        form: name of the answer form.
        ask: what a model is told beside the question, as JSON.
        truth: what is right, and the bar, as JSON.
        chance: share that the best answer without a look at the image passes.
        state: ``unreviewed`` until clinicians have judged it.
        field: card field of the fact.
        concept: what is asked about.
        grade: evidence that the truth is right, and the only one.
        visible: whether a reader of the image could know it: ``yes``, ``partly`` or ``no``.
        prior: cell of its blind prior, joined by ``; ``.
        set: id of the set that it belongs to; empty for none.
        role: what tells it from the others of its set.
        contrast: what its image shows beside what is denied: ``another`` finding, ``unstated``, or
            ``normal``; empty where nothing is denied.
        lot: class over which it was drawn evenly; empty for none.
        seen: numbers that the frame of the image tells, joined by spaces; empty for none.
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
        """What is asked for, what is right, and the bar."""
        ask, truth = json.loads(self.ask), json.loads(self.truth)
        if self.form == OPTION:
            return read_options(ask, truth)
        target: Target = OPEN_FORMS[self.form].read_target(ask, truth)
        return target


COLUMNS = column_types(OpenItem)
"""Column -> pandas type, in the order of ``open_items.parquet``."""


def open_items_to_frame(items: Iterable[OpenItem]) -> pd.DataFrame:
    """One row per item, columns in fixed order and type, also when there are none."""
    return records_to_frame(items, COLUMNS)


def open_items_from_frame(frame: pd.DataFrame) -> list[OpenItem]:
    """Read back what ``open_items_to_frame`` wrote.

    Raises:
        WorkspaceError: a column is missing.
    """
    typed = require_columns(frame, COLUMNS, "open items table").astype(COLUMNS)
    records: list[dict[Any, Any]] = typed.to_dict("records")
    return [OpenItem(**{str(name): value for name, value in row.items()}) for row in records]

"""Open items of a workspace as rows of the queue.

An item of the form ``option`` becomes one with options. Any other gets the two pseudo-options of
``reviewing.open_answers`` (right answer, other answer) and keeps its target.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pandas as pd

from medrcube.build.open_items.table import OpenItem, open_items_from_frame
from medrcube.build.questions.item_table import KEY, ChoiceItem, Option
from medrcube.errors import WorkspaceError
from medrcube.forms import OPTION, form_of
from medrcube.forms.option import OptionTarget
from medrcube.forms.protocol import TargetError
from medrcube.review.reviewing.open_answers import RIGHT

__all__ = ["ANOTHER", "OpenRow", "open_row_of", "open_rows"]

ANOTHER = "another answer"
"""Text of the pseudo-option for an answer that does not pass."""

_MALFORMED = (TypeError, ValueError, KeyError, AttributeError, WorkspaceError, TargetError)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRow(ChoiceItem):
    """An open item in the form of an item with options.

    Attributes:
        open_item: the open item as built.
    """

    open_item: OpenItem

    @property
    def target(self) -> Mapping[str, Any] | None:
        """Form, ``ask`` and ``truth``; ``None`` for the form ``option``."""
        open_item = self.open_item
        if open_item.form == OPTION:
            return None
        return {
            "form": open_item.form,
            "ask": json.loads(open_item.ask),
            "truth": json.loads(open_item.truth),
        }


def open_row_of(item: OpenItem) -> OpenRow:
    """Convert an open item to a row of the queue.

    Raises:
        TargetError: its target violates a rule of its form.
    """
    target = item.target
    if isinstance(target, OptionTarget):
        texts = [text for _, text in target.options]
        key = [letter for letter, _ in target.options].index(target.key)
    else:
        texts, key = [form_of(target).right_reply(target), ANOTHER], RIGHT
    return OpenRow(
        id=item.id,
        sample=item.sample,
        source=item.source,
        task=item.task,
        anatomy=item.anatomy,
        modality=item.modality,
        question=item.question,
        options=tuple(_option(item, text, is_key=place == key) for place, text in enumerate(texts)),
        key=key,
        strategy=item.form,
        state=item.state,
        field=item.field,
        concept=item.concept,
        group="",
        scope="",
        grade=item.grade,
        ordered=False,
        variant=item.variant,
        template=item.template,
        warnings=(),
        seed=item.seed,
        visible=item.visible,
        open_item=item,
    )


def open_rows(frame: pd.DataFrame) -> Iterator[OpenRow | tuple[str, str]]:
    """Yield the rows of a chunk of ``open_items.parquet``, or (id, reason) of unreadable ones."""
    with suppress(*_MALFORMED):
        yield from [open_row_of(item) for item in open_items_from_frame(frame)]
        return
    for number in range(len(frame)):
        try:
            (item,) = open_items_from_frame(frame.iloc[[number]])
            yield open_row_of(item)
        except _MALFORMED as error:
            yield str(frame["id"].iloc[number]) if "id" in frame else f"row {number}", str(error)


def _option(item: OpenItem, text: str, *, is_key: bool) -> Option:
    return Option(
        text=text,
        concept=item.concept if is_key else "",
        ids=(),
        strategy=KEY if is_key else item.form,
        grade="" if is_key else item.grade,
        passed=(),
    )

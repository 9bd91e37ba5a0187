"""Sample table of a workspace; records are created for a few items at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from medrcube.build.questions.item_table import ChoiceItem
from medrcube.build.stages.samples import COLUMNS, Sample, samples_from_frame

__all__ = ["ItemSamples", "SampleTable"]

_VIEW = ["source", "case", "frames", "width", "height"]
"""Columns that are equal for images that differ only in their marks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSamples:
    """The images of an item.

    Attributes:
        sample: sample that the item was built on.
        picture: sample without a mark, or the marked one if no other was made.
        overlay: sample of the same image with its mark, or ``None``.
    """

    sample: Sample
    picture: Sample
    overlay: Sample | None


class SampleTable:
    """Lookup of the images of items, with and without a mark.

    Args:
        frame: data frame from ``samples_to_frame``.

    Raises:
        WorkspaceError: a column is missing.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        samples_from_frame(frame.iloc[:0])  # raises if a column is missing
        self._frame = frame = frame[list(COLUMNS)]
        self._rows = {str(name): row for row, name in enumerate(frame["id"])}
        # A number per view takes less memory than the five values.
        self._views = frame.groupby(_VIEW, sort=False, observed=True).ngroup().to_numpy()
        self._is_clean = clean = (frame["artefact"] == "clean").to_numpy()
        self._clean = {int(self._views[row]): int(row) for row in clean.nonzero()[0]}
        self._marks: dict[tuple[int, str, str], int] = {}
        # An outline shows a location better than numbered boxes, so it comes first.
        marks = frame.loc[~clean, ["artefact", "id", "field", "marked"]]
        marks = marks.assign(later=marks["artefact"] != "outline").sort_values(["later", "id"])
        for row, field, concept in zip(marks.index, marks["field"], marks["marked"], strict=True):
            self._marks.setdefault((int(self._views[row]), field, concept), int(row))

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def samples_of(self, items: Sequence[ChoiceItem]) -> list[ItemSamples]:
        """Return the images of each item; every item must refer to a sample in the table."""
        rows = [self._rows_of(item) for item in items]
        places = sorted({row for row_numbers in rows for row in row_numbers if row is not None})
        records = samples_from_frame(self._frame.iloc[places])
        by_row = dict(zip(places, records, strict=True))
        return [
            ItemSamples(
                sample=by_row[row],
                picture=by_row[picture],
                overlay=None if overlay is None else by_row[overlay],
            )
            for row, picture, overlay in rows
        ]

    def _rows_of(self, item: ChoiceItem) -> tuple[int, int, int | None]:
        row = self._rows[item.sample]
        view = int(self._views[row])
        clean = self._clean.get(view)
        if self._is_clean[row]:
            return row, row, self._marks.get((view, item.field, item.concept))
        if clean is None:
            return row, row, None
        return row, clean, row

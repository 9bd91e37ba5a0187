"""Tables for a terminal: ids and figures stay whole, text is cut, and columns are left out."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table

from medrcube.names import escape_controls

__all__ = ["Layout", "column_widths", "layout_of", "record_table", "rich_table"]

GAP = 2
"""Characters between two columns."""

_LEAST = 6
"""Characters of text below which a column says nothing and is left out."""

_IDS = frozenset({"id", "item", "source"})
"""Titles of columns whose cells are copied into a command."""

_FIGURE = re.compile(r"|\u2013|[-+\u2212<]?\d.{0,23}", re.DOTALL)
"""Cells that mislead when they are cut: a number, an interval, ``0.81 of 12``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Cells of a table as text, and the room of each column.

    Attributes:
        columns: titles.
        rows: cells as text.
        natural: width of each column, uncut.
        widths: width of each column as shown; 0 leaves it out.
        right: positions of columns that are aligned to the right.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    natural: tuple[int, ...]
    widths: tuple[int, ...]
    right: frozenset[int]

    @property
    def width(self) -> int:
        """Characters of a line that cuts nothing."""
        return _line(self.natural)

    @property
    def cut(self) -> list[str]:
        """Titles of the columns that are cut or left out."""
        pairs = zip(self.columns, self.widths, self.natural, strict=True)
        return [title for title, width, natural in pairs if width < natural]


def layout_of(columns: Sequence[str], rows: Sequence[Sequence[object]], room: int | None) -> Layout:
    """Lay a table out in ``room`` characters, or at its natural width where that is ``None``."""
    cells = [
        tuple(f"{cell:,}" if isinstance(cell, int) else escape_controls(str(cell)) for cell in row)
        for row in rows
    ]
    places = range(len(columns))
    natural = [
        max(cell_len(line) for text in column for line in text.splitlines() or [""])
        for column in zip(columns, *cells, strict=True)
    ]
    numeric = {n for n in places if rows and all(isinstance(row[n], int | float) for row in rows)}
    figures = {n for n in places if all(_FIGURE.fullmatch(row[n]) for row in cells)}
    ids = {n for n, title in enumerate(columns) if not n or title in _IDS}
    whole = frozenset(numeric | figures | ids)
    widths = natural
    if room is not None:
        least = [min(width, max(_LEAST, cell_len(columns[n]))) for n, width in enumerate(natural)]
        widths = column_widths(natural, least, whole, room)
    return Layout(
        columns=tuple(columns),
        rows=tuple(cells),
        natural=tuple(natural),
        widths=tuple(widths),
        right=frozenset(numeric),
    )


def column_widths(
    natural: Sequence[int], least: Sequence[int], whole: Collection[int], room: int
) -> list[int]:
    """The width of each column; 0 leaves it out.

    The widest column of text gives way first, down to its least width; where that is not enough,
    columns are left out from the last on. The first column is always shown.

    Args:
        natural: width that each column needs.
        least: width below which a column of text says nothing.
        whole: positions of columns that may not be cut.
        room: characters of a line.
    """
    floor = [width if n in whole else least[n] for n, width in enumerate(natural)]
    widths = list(natural)
    for last in range(len(widths) - 1, 0, -1):
        if _line(floor) <= room:
            break
        floor[last] = widths[last] = 0
    while _line(widths) > room:
        text = [n for n, width in enumerate(widths) if width > floor[n]]
        if not text:
            break
        widths[max(text, key=lambda n: widths[n])] -= 1
    return widths


def rich_table(layout: Layout) -> Table:
    """The table that rich prints, one line a row."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for n, title in enumerate(layout.columns):
        if layout.widths[n]:
            table.add_column(
                title,
                justify="right" if n in layout.right else "left",
                overflow="ellipsis",
                no_wrap=True,
                width=layout.widths[n],
            )
    for row in layout.rows:
        pairs = zip(row, layout.widths, strict=True)
        table.add_row(*(text for text, width in pairs if width))
    return table


def record_table(layout: Layout) -> Table:
    """Every row as a block, one line for each column; long text is folded between words."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in layout.rows:
        for title, text in zip(layout.columns, row, strict=True):
            table.add_row(title, text)
        table.add_row("", "")
    return table


def _line(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + GAP * max(0, len(shown) - 1)

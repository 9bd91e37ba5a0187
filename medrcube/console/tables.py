"""Terminal tables: ids and figures stay whole, text is truncated, surplus columns are dropped."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from medrcube.names import escape_controls

__all__ = [
    "LinesOfTable",
    "TableLayout",
    "column_widths",
    "layout_of",
    "record_table",
    "rich_table",
]

GAP = 2
"""Characters between two columns."""

_LEAST = 6
"""Width in characters below which a truncated text column is no longer readable."""

_IDS = frozenset({"id", "item", "source"})
"""Titles of columns whose cells are pasted into commands."""

_FIGURE = re.compile(r"|\u2013|[-+\u2212<]?\d.{0,23}", re.DOTALL)
"""Pattern of cells that would mislead if truncated: numbers, intervals, ``0.81 of 12``."""

_NUMBER = re.compile(r"[-+\u2212]?\d[\d,]*(\.\d+)?( ?%)?")
"""Pattern of a single number, which is aligned to the right."""

_MISSING = frozenset({"", "\u2013"})
"""Cells of a numeric column without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """A table as text, with the width of each column.

    Attributes:
        columns: column titles.
        rows: cells as text.
        natural: untruncated width of each column.
        widths: displayed width of each column; 0 drops it.
        right: indices of right-aligned columns.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    natural: tuple[int, ...]
    widths: tuple[int, ...]
    right: frozenset[int]

    @property
    def width(self) -> int:
        """Line width at which nothing is truncated."""
        return _line(self.natural)

    @property
    def cut(self) -> list[str]:
        """Titles of the truncated or dropped columns."""
        pairs = zip(self.columns, self.widths, self.natural, strict=True)
        return [title for title, width, natural in pairs if width < natural]


def layout_of(
    columns: Sequence[str], rows: Sequence[Sequence[object]], room: int | None
) -> TableLayout:
    """Lay out a table in ``room`` characters, or at its natural width if ``room`` is ``None``."""
    cells = [
        tuple(f"{cell:,}" if isinstance(cell, int) else escape_controls(str(cell)) for cell in row)
        for row in rows
    ]
    places = range(len(columns))
    natural = [
        max(cell_len(line) for text in column for line in text.splitlines() or [""])
        for column in zip(columns, *cells, strict=True)
    ]
    figures = {n for n in places if all(_FIGURE.fullmatch(row[n]) for row in cells)}
    ids = {n for n, title in enumerate(columns) if not n or title in _IDS}
    whole = frozenset(figures | ids)
    widths = natural
    if room is not None:
        least = [min(width, max(_LEAST, cell_len(columns[n]))) for n, width in enumerate(natural)]
        widths = column_widths(natural, least, whole, room)
    return TableLayout(
        columns=tuple(columns),
        rows=tuple(cells),
        natural=tuple(natural),
        widths=tuple(widths),
        right=frozenset(n for n in places if _is_numeric([row[n] for row in cells])),
    )


def _is_numeric(column: Sequence[str]) -> bool:
    values = [text for text in column if text not in _MISSING]
    return bool(values) and all(_NUMBER.fullmatch(text) for text in values)


def column_widths(
    natural: Sequence[int], least: Sequence[int], whole: Collection[int], room: int
) -> list[int]:
    """Return the displayed width of each column; 0 drops it.

    The widest text column shrinks first, down to its minimum width; if that is not enough, columns
    are dropped from the last one backwards. The first column is always shown.

    Args:
        natural: width that each column needs.
        least: minimum width of a text column.
        whole: indices of columns that may not be truncated.
        room: line width in characters.
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


def rich_table(layout: TableLayout) -> Table:
    """Return the table for rich to print, one line per row."""
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


def record_table(layout: TableLayout) -> Table:
    """Render each row as a block with one line per column; long text wraps at word boundaries."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in layout.rows:
        for title, text in zip(layout.columns, row, strict=True):
            table.add_row(title, text)
        table.add_row("", "")
    return table


@dataclass(frozen=True, slots=True)
class LinesOfTable:
    """The lines of a table without blanks at their ends, for rich to print."""

    table: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        """Yield the segments of each line, then its end."""
        for line in Segment.split_lines(console.render(self.table, options)):
            yield from _without_last_blanks(line)
            yield Segment.line()


def _without_last_blanks(line: Sequence[Segment]) -> list[Segment]:
    for place in range(len(line) - 1, -1, -1):
        if text := line[place].text.rstrip(" "):
            return [*line[:place], Segment(text, line[place].style, line[place].control)]
    return []


def _line(widths: Sequence[int]) -> int:
    columns = [width for width in widths if width]
    return sum(columns) + GAP * max(0, len(columns) - 1)

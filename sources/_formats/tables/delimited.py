"""Records of delimited text, with truncated and unclosed ones marked.

A download that breaks off ends in the middle of a record: with fewer cells than the others and no
line break behind, or within quotes. A quote that is never closed anywhere else would swallow all
that follows: its line is one damaged record, and the next line begins another.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

__all__ = ["Record", "delimiter_of", "records_of"]

_DELIMITERS = ",;\t|"
_HEADER = 1 << 16
"""Characters at the start of a table that hold its header."""
_END = "\x04"
"""Stands behind the last line: a record that swallows it has an open quote."""


@dataclass(frozen=True, slots=True)
class Record:
    """Cells of one record.

    Attributes:
        line: where it begins, from 1.
        cells: as they stand, without quotes.
        fault: why the last of the cells is not whole and those behind it are lost, or nothing.
        last: whether the text ends with it.
        ended: whether a line break stands behind it.
    """

    line: int
    cells: Sequence[str]
    fault: str = ""
    last: bool = False
    ended: bool = True


def delimiter_of(text: str, columns: Collection[str] = ()) -> str:
    """The character that parts the names of a header: one of ``, ; | `` and the tab.

    Of several the one counts that shows most of the expected columns, then most names; quoted
    names may hold any of them. Rows are not asked, since free text holds commas too.

    Args:
        text: a table, or its first line.
        columns: names that are expected in the header.
    """

    def likeness(delimiter: str) -> tuple[int, int]:
        lines = io.StringIO(text[:_HEADER], newline="")
        try:
            header = next(csv.reader(lines, delimiter=delimiter), ())
        except csv.Error:  # a cell that is too long: no header
            header = ()
        names = {name.strip() for name in header}
        return len(names.intersection(columns)), len(names)

    return max(_DELIMITERS, key=likeness)


def records_of(text: str, delimiter: str) -> Iterator[Record]:
    """Every record, the header first; a blank line is one without cells."""
    lines = list(io.StringIO(text, newline=""))
    before: Record | None = None
    width = 0
    for record in _whole(lines, delimiter):
        if before is not None:
            if any(cell.strip() for cell in before.cells):
                width = min(width or len(before.cells), len(before.cells))
            yield before
        before = record
    if before is None:
        return
    ended = lines[-1].endswith(("\n", "\r"))
    fault = before.fault
    if not fault and not ended and len(before.cells) < width:
        fault = f"the table ends in the middle of this row ({len(before.cells)} of {width} cells)"
    yield Record(before.line, before.cells, fault, last=True, ended=ended)


def _whole(lines: Sequence[str], delimiter: str) -> Iterator[Record]:
    start = 0
    while start < len(lines):
        reader = csv.reader(chain(islice(lines, start, None), (_END,)), delimiter=delimiter)
        begun = start
        try:
            for cells in reader:
                if cells and cells[-1].endswith(_END):
                    break
                yield Record(begun + 1, cells)
                begun = start + reader.line_num
        except csv.Error:  # a cell longer than any
            pass
        if begun >= len(lines):
            return
        own = next(csv.reader([lines[begun]], delimiter=delimiter), [])
        yield Record(begun + 1, own, "a quote is opened in this row and never closed")
        start = begun + 1
        if not _goes_on(lines[start : start + 1], delimiter, len(own)):
            return


def _goes_on(lines: Sequence[str], delimiter: str, least: int) -> bool:
    """Whether another record follows an open quote, and not the rest of its cell."""
    return any(len(next(csv.reader([line], delimiter=delimiter), ())) >= least for line in lines)

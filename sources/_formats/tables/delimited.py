"""Records of delimited text; truncated and unclosed ones are flagged.

A truncated download ends within a record: with fewer cells than the others and no line break, or
within quotes. An unclosed quote elsewhere would swallow the rest of the file, so its line becomes
one damaged record and the next line starts a new one.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

__all__ = ["Record", "delimiter_of", "records_of"]

_DELIMITERS = ",;\t|"
_HEADER = 1 << 16
"""Number of characters at the start of a table that are searched for its header."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_END = "\x04"
"""Sentinel after the last line: a record that contains it has an open quote."""


@dataclass(frozen=True, slots=True)
class Record:
    """Cells of one record.

    Attributes:
        line: number of its first line, from 1.
        cells: raw cells, without quotes.
        fault: why the last cell is incomplete and later ones are lost, or empty.
        last: whether it is the last record.
        ended: whether it ends with a line break.
    """

    line: int
    cells: Sequence[str]
    fault: str = ""
    last: bool = False
    ended: bool = True


def delimiter_of(text: str, columns: Collection[str] = ()) -> str:
    """Detect the delimiter of a header: ``,``, ``;``, ``|`` or tab.

    The candidate that yields most of the expected columns wins, then the one with most names;
    quoted names may contain any of them. Rows are not used, because free text has commas too.

    Args:
        text: a table, or its first line.
        columns: expected names in the header.
    """

    def likeness(delimiter: str) -> tuple[int, int]:
        lines = io.StringIO(text[:_HEADER], newline="")
        try:
            header = next(csv.reader(lines, delimiter=delimiter), ())
        except csv.Error:  # a too long cell: not a header
            header = ()
        names = {name.strip() for name in header}
        return len(names.intersection(columns)), len(names)

    return max(_DELIMITERS, key=likeness)


def records_of(text: str, delimiter: str) -> Iterator[Record]:
    """Yield all records, header first; a blank line is a record without cells."""
    lines = _LINE.findall(text)  # StringIO would hold four bytes for each character
    del text
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
        except csv.Error:  # cell longer than the limit
            pass
        if begun >= len(lines):
            return
        own = next(csv.reader([lines[begun]], delimiter=delimiter), [])
        yield Record(begun + 1, own, "a quote is opened in this row and never closed")
        start = begun + 1
        if not _goes_on(lines[start : start + 1], delimiter, len(own)):
            return


def _goes_on(lines: Sequence[str], delimiter: str, least: int) -> bool:
    """Whether a new record follows an open quote, rather than the rest of its cell."""
    return any(len(next(csv.reader([line], delimiter=delimiter), ())) >= least for line in lines)

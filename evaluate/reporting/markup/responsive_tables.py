"""Make HTML tables responsive and sortable.

A screen 390 pixels wide has room for four numeric columns. In wider tables, and in tables of prose,
every cell gets the name of its column, so that the style sheet can lay out a row as a block of
named values without a script and without overflow. Header cells get their column number, for
sorting.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

__all__ = ["FEWEST_ROWS", "MOST_COLUMNS", "PROSE", "make_responsive"]

MOST_COLUMNS = 4
"""Tables with more columns become blocks on a narrow screen."""

PROSE = "prose"
"""Class of prose tables, which become blocks with any number of columns."""

FEWEST_ROWS = 3
"""Minimum number of rows of a sortable table."""

_TABLE = re.compile(r"<table(?P<tag>[^>]*)>(?P<head>.*?</thead>)(?P<body>.*?)</table>", re.DOTALL)
_ROW = re.compile(r"(<tr[^>]*>)(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r"<(?P<kind>t[hd])(?P<tag>[^>]*)>(?P<inner>.*?)</(?P=kind)>", re.DOTALL)
_SPAN = re.compile(r'\b(row|col)span="(\d+)"')
_CLASS = re.compile(r'class="([^"]*)"')
_MARKUP = re.compile(r"<[^>]*>")
_APART = frozenset({"heat", "prov"})
"""Classes of tables that are neither responsive nor sortable."""


@dataclass(frozen=True, slots=True)
class _TableColumn:
    head: tuple[int, int] | None
    """Row and index of its header cell; ``None`` for a column without a name."""
    label: str


def make_responsive(page: str) -> str:
    """Add column labels and numbers to a page, for narrow screens and sorting.

    Args:
        page: HTML of this package's templates, in which untrusted text is escaped.
    """
    return _TABLE.sub(_table, page)


def _table(match: re.Match[str]) -> str:
    tag, head, body = match["tag"], match["head"], match["body"]
    class_match = _CLASS.search(tag)
    names = class_match[1].split() if class_match else []
    if _APART.intersection(names):
        return match[0]
    columns = _columns(head)
    if len(columns) > MOST_COLUMNS or PROSE in names:
        names.append("stacks")
        body = _ROW.sub(lambda row: row[1] + _with_labels(row[2], columns) + "</tr>", body)
    if len(_ROW.findall(body)) >= FEWEST_ROWS and "sortable" not in names:
        names.append("sortable")
    places = {column.head: place for place, column in enumerate(columns) if column.head}
    head = _with_column_numbers(head, places)
    rest = _CLASS.sub("", tag).rstrip()
    return f'<table class="{" ".join(names)}"{rest}>{head}{body}</table>'


def _columns(head: str) -> list[_TableColumn]:
    """Return the columns with the header cell directly above their cells."""
    rows = [list(_CELL.finditer(inner)) for _, inner in _ROW.findall(head)]
    grid: dict[tuple[int, int], tuple[int, int]] = {}
    for number, cells in enumerate(rows):
        column = 0
        for place, cell in enumerate(cells):
            while (number, column) in grid:
                column += 1
            span = dict(_SPAN.findall(cell["tag"]))
            for down in range(int(span.get("row", 1))):
                for right in range(int(span.get("col", 1))):
                    grid[number + down, column + right] = (number, place)
    last = len(rows) - 1
    width = 1 + max((column for row, column in grid if row == last), default=-1)
    heads = [grid[last, column] for column in range(width)]
    texts = [_text(rows[row][place]["inner"]) for row, place in heads]
    counts = Counter(texts)
    columns = []
    for column, (own, text) in enumerate(zip(heads, texts, strict=True)):
        above = grid.get((0, column), own)
        group = _text(rows[above[0]][above[1]]["inner"]) if above != own else ""
        label = f"{group}: {text}" if group and counts[text] > 1 else text
        has_heading = rows[own[0]][own[1]]["kind"] == "th" and text
        columns.append(_TableColumn(own if has_heading else None, label))
    return columns


def _text(inner: str) -> str:
    return " ".join(_MARKUP.sub(" ", inner).split()).replace('"', "&quot;")


def _with_labels(cells: str, columns: list[_TableColumn]) -> str:
    place = 0

    def label(cell: re.Match[str]) -> str:
        nonlocal place
        span = int(dict(_SPAN.findall(cell["tag"])).get("col", 1))
        name = columns[place].label if span == 1 and place < len(columns) else ""
        place += span
        if cell["kind"] == "th" or not name or "wide" in cell["tag"]:
            return cell[0]
        return f'<td{cell["tag"]} data-label="{name}">{cell["inner"]}</td>'

    return _CELL.sub(label, cells)


def _with_column_numbers(head: str, places: dict[tuple[int, int], int]) -> str:
    number = -1

    def row(match: re.Match[str]) -> str:
        nonlocal number
        number += 1
        place = -1

        def cell(head_cell: re.Match[str]) -> str:
            nonlocal place
            place += 1
            column = places.get((number, place))
            if column is None:
                return head_cell[0]
            return f'<th{head_cell["tag"]} data-column="{column}">{head_cell["inner"]}</th>'

        return match[1] + _CELL.sub(cell, match[2]) + "</tr>"

    return _ROW.sub(row, head)

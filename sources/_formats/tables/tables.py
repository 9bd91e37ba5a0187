"""Tables of datasets: CSV by column name, and ``Key: value`` files.

Values stay the strings that stand in the file: a label *is* ``NO``, ``N0`` or ``1e3``. Only what
programs change when they save a table again is undone: ``4.0`` is ``4`` and ``nan`` is blank. Each
row knows its line so that a label can cite its evidence, which shows the cell as it stands.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from medrcube.errors import RowError, SourceError, TableError
from medrcube.facts import BAD_ROW, Label, LabelState, Skip, Words
from medrcube.names import escape_controls, has_raw_bytes
from medrcube.sources._formats.tables.contents import read_text, read_text_of_case
from medrcube.sources._formats.tables.delimited import Record, delimiter_of, records_of
from medrcube.sources._formats.tables.notices import add_notice
from medrcube.sources._formats.tables.redaction import redact_cell
from medrcube.sources._framework.card_parts.fields import strip_float_suffix
from medrcube.sources._framework.raw_tree.raw_tree import RawTree

__all__ = [
    "TableRow",
    "find_optional_table",
    "find_table",
    "iter_csv",
    "name_cells",
    "natural_key",
    "read_csv",
    "read_key_values",
    "read_rows",
    "require_columns",
]

Meaning = TypeVar("Meaning")


class TableRow(Mapping[str, str]):
    """One row of a table: values by column name, stripped, and the place where it stands."""

    __slots__ = ("_lines", "_lost", "_values", "ended", "fault", "line", "table")

    def __init__(
        self,
        values: Mapping[str, str],
        table: str,
        line: int,
        lines: Mapping[str, int] | None = None,
        *,
        lost: Collection[str] = (),
        fault: str = "",
        ended: bool = True,
    ) -> None:
        """Take the cells of a row.

        Args:
            values: cells by column name, as they stand in the file.
            table: name of the file.
            line: where the row begins, from 1.
            lines: line of each value, where they stand on lines of their own.
            lost: columns of which nothing is sure, since the row is not whole.
            fault: why it is not.
            ended: whether a line break stands behind it; else its last cell may be cut.
        """
        self._values = values
        self._lines = lines or {}
        self._lost = lost
        self.fault = fault
        self.ended = ended
        self.table = table
        self.line = line

    def __getitem__(self, column: str) -> str:
        """The cell of a column.

        Raises:
            RowError: it holds a byte that is not text, or the row breaks off there: what stood
                there is unknown.
        """
        if column in self._lost:
            raise RowError(f"{self.place} {column}: {self.fault}; get the table again")
        cell = self._values[column]
        if has_raw_bytes(cell):
            raise RowError(
                f"{self.quote(column)}: holds a byte that is not text in the encoding of the "
                "table; get the table again, or save it as UTF-8"
            )
        return _as_published(cell)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, column: object) -> bool:
        """Whether the table has a column, whatever stands in its cell."""
        return column in self._values

    @property
    def place(self) -> str:
        """Where the row stands, such as ``train.csv:123``."""
        return f"{self.table}:{self.line}"

    def cite(self, column: str) -> str:
        """Evidence for a label, such as ``train.csv:123 Edema=-1``."""
        line = self._lines.get(column, self.line)
        return f"{self.table}:{line} {column}={escape_controls(self._values[column])}"

    def quote(self, column: str, allowed: Iterable[str] = ()) -> str:
        """Place and cell as a reason may show them: a cell that may be personal by its shape.

        Args:
            column: its name.
            allowed: values that may stand there.
        """
        line = self._lines.get(column, self.line)
        cell = redact_cell(escape_controls(self._values[column]), allowed)
        return f"{self.table}:{line} {column}={cell}"

    def name(self, column: str) -> str:
        """What a column names: an image, a patient, a series.

        Raises:
            RowError: the cell is blank.
        """
        if not self[column]:
            raise RowError(f"{self.quote(column)}: is blank; expected a name")
        return self[column]

    def label(
        self,
        column: str,
        *,
        field: str,
        value: str | None = None,
        state: LabelState = LabelState.PRESENT,
    ) -> Label:
        """The statement of a column; ``value`` replaces the cell where that holds several."""
        cell = self[column] if value is None else value
        return Label(field=field, value=cell, state=state, evidence=self.cite(column))

    def integer(self, column: str) -> int:
        """The whole number in a column; ``4.0`` is one.

        Raises:
            RowError: something else stands there.
        """
        try:
            return int(self[column])
        except ValueError:
            raise RowError(f"{self.quote(column)}: expected a whole number") from None

    def number(self, column: str) -> float:
        """The number in a column, with a decimal point.

        Raises:
            RowError: something else stands there.
        """
        try:
            number = float(self[column])
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise RowError(f"{self.quote(column)}: expected a number")
        return number

    def state(self, column: str, states: Mapping[str, LabelState]) -> LabelState:
        """What the source says of the label that a column stands for.

        Args:
            column: one column a label, as in tables of findings.
            states: every value that may stand there.

        Raises:
            RowError: another value stands there; a state is never guessed.
        """
        return self.meaning(column, states)

    def meaning(self, column: str, meanings: Mapping[str, Meaning]) -> Meaning:
        """What a column says, in one of the words that it may hold.

        Args:
            column: its name.
            meanings: every value that may stand there, and what it means.

        Raises:
            RowError: another value stands there.
        """
        try:
            return meanings[self[column]]
        except KeyError:
            expected = ", ".join(map(repr, meanings))
            raise RowError(f"{self.quote(column, meanings)}: expected one of {expected}") from None

    def facts(self, **columns: str) -> tuple[tuple[str, str], ...]:
        """Values worth keeping, as (name, value), of those columns that exist and are filled."""
        return tuple((name, self[column]) for name, column in columns.items() if self.get(column))

    def words(self, **columns: str) -> tuple[Words, ...]:
        """Free text, as name=column, of those columns that exist and are filled."""
        return tuple(
            Words(name=name, text=self[column], evidence=f"{self.table}:{self.line} {column}")
            for name, column in columns.items()
            if self.get(column)
        )


def read_csv(
    path: Path,
    *,
    columns: Iterable[str],
    encoding: str = "utf-8-sig",
    comment: str = "",
) -> list[TableRow]:
    """Read a delimited table, quoted line breaks included; its header tells the delimiter.

    Args:
        path: the table, plain, gzip (``.csv.gz``) or alone in a ``.zip``: its first bytes tell.
        columns: column names that must exist; others are kept too. Names and values are
            stripped of blanks; of two columns with one name the first is kept.
        encoding: text encoding; the default accepts UTF-8 with and without BOM.
        comment: lines before the header that begin with this are skipped.

    Raises:
        TableError: the table is missing or damaged, lacks a column or has no row.
    """
    return list(iter_csv(path, columns=columns, encoding=encoding, comment=comment))


def iter_csv(
    path: Path,
    *,
    columns: Iterable[str],
    encoding: str = "utf-8-sig",
    comment: str = "",
) -> Iterator[TableRow]:
    """The rows of ``read_csv`` one at a time, for tables of hundreds of thousands of rows.

    Raises:
        TableError: as ``read_csv``, with the first row that is asked for.
    """
    text = read_text(path, encoding, errors="surrogateescape")
    skipped = 0
    while comment and text.startswith(comment):
        text = text.partition("\n")[2]
        skipped += 1
    columns = tuple(columns)
    records = records_of(text, delimiter_of(text, columns))
    header = [name.strip() for name in next(records, Record(1, ())).cells]
    require_columns(path, header, columns)
    empty = True
    for record in records:
        if not any(cell.strip() for cell in record.cells):
            continue
        empty, line = False, record.line + skipped
        if record.fault:
            add_notice(_cut(path, line, record))
        yield TableRow(
            name_cells(header, record.cells),
            path.name,
            line,
            lost=frozenset(header[len(record.cells) - 1 :]) if record.fault else frozenset(),
            fault=record.fault,
            ended=record.ended,
        )
    if empty:
        raise TableError(path, "holds a header and no row; get the file again")


def read_rows(path: Path, encoding: str = "utf-8-sig") -> list[tuple[str, ...]]:
    """All cells of a delimited table, for those whose names stand in no first line.

    Raises:
        TableError: the table is missing or damaged.
    """
    text = read_text(path, encoding)
    return [tuple(record.cells) for record in records_of(text, delimiter_of(text))]


def find_table(root: RawTree, part: str) -> Path:
    """The table that is a part of a copy; of several the first.

    Raises:
        SourceError: there is none.
    """
    table = find_optional_table(root, part)
    if table is None:
        raise SourceError(f"{root}: holds no table of the part {part!r}; the card expects it there")
    return table


def find_optional_table(root: RawTree, part: str) -> Path | None:
    """A table as ``find_table`` finds it, which a copy may lack."""
    return next(iter(root.part(part)), None)


def read_key_values(path: Path, *, keys: Iterable[str], encoding: str = "utf-8-sig") -> TableRow:
    """Read a file of ``Key: value`` lines without sections.

    Raises:
        RowError: the file, which is one of many, is missing, cannot be decoded, lacks a key, or
            gives one two values.
    """
    place = f"{path.parent.name}/{path.name}"
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    keys = tuple(keys)
    for number, line in enumerate(read_text_of_case(path, encoding).splitlines(), 1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            continue
        if values.setdefault(name, value) != value:
            raise RowError(
                f"{place}:{number} {redact_cell(name, keys)}={redact_cell(value)}: line "
                f"{lines[name]} says {redact_cell(values[name])!r}; expected one value for each key"
            )
        lines.setdefault(name, number)
    missing = [key for key in keys if key not in values]
    if missing:
        raise RowError(
            f"{place}: {' and '.join(map(repr, missing))} is missing (keys: "
            f"{', '.join(redact_cell(name, keys) for name in values)}); get the file again"
        )
    return TableRow(values, place, 1, lines)


def name_cells(header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Cells of one row by column name, stripped; cells that are missing at the end are empty.

    Of two columns with one name the first is kept.
    """
    values: dict[str, str] = {}
    for name, cell in zip(header, cells, strict=False):
        values.setdefault(name, cell.strip())
    for name in header[len(cells) :]:
        values.setdefault(name, "")
    return values


def require_columns(path: Path, header: Sequence[str], columns: Iterable[str]) -> None:
    """Check that a table has the columns that its reader needs.

    Raises:
        TableError: one is missing; names the nearest that exists.
    """
    columns = tuple(columns)
    for column in columns:
        if column not in header:
            near = difflib.get_close_matches(column, header, n=1)
            hint = f"; nearest is {near[0]!r}" if near and _is_header(header, columns) else ""
            raise TableError(
                path,
                f"column {column!r} is missing{hint} (columns: {_told_header(header, columns)}); "
                "is this another edition of the table?",
            )


def natural_key(path: Path) -> tuple[object, ...]:
    """Sort key that puts ``2.mat`` before ``10.mat`` and is the same on every platform."""
    parts = re.split(r"(\d+)", path.as_posix())
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def _told_header(header: Sequence[str], columns: Sequence[str]) -> str:
    """Names of columns; or, where none is as expected, shapes: it may be a row of a person."""
    named = _is_header(header, columns)
    return ", ".join(
        escape_controls(name) if named else redact_cell(name, columns) for name in header
    )


def _is_header(header: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether a name is as expected, or near it without a digit: ``film00`` is a cell."""
    words = [name for name in header if name in columns or not re.search(r"\d", name)]
    return any(difflib.get_close_matches(column, words, n=1, cutoff=0.8) for column in columns)


def _cut(path: Path, line: int, record: Record) -> Skip:
    what = "the table seems cut off" if record.last else "the row is set aside"
    reason = f"{path.name}:{line}: {record.fault}: {what}; get the file again"
    return Skip(key=f"{path.name}:{line} cut", reason=reason, code=BAD_ROW)


def _as_published(cell: str) -> str:
    """A cell before a program saved the table again: ``nan`` stands for blank, ``4.0`` for 4."""
    if len(cell) == 3 and cell.lower() == "nan":
        return ""
    return strip_float_suffix(cell) if cell.endswith("0") else cell

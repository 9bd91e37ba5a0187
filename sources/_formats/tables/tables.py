"""Tables of datasets: CSV by column name, and ``Key: value`` files.

Values remain the strings in the file: a label *is* ``NO``, ``N0`` or ``1e3``. Only changes made by
programs that re-save a table are undone: ``4.0`` becomes ``4``, and ``nan`` becomes blank. Each row
has its line number, so that a label can cite its evidence, which shows the raw cell.
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
    """One row of a table: stripped values by column name, and its location."""

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
        """Create a row.

        Args:
            values: raw cells by column name.
            table: name of the file.
            line: first line of the row, from 1.
            lines: line of each value, if each is on its own line.
            lost: columns whose values are unknown because the row is incomplete.
            fault: why it is incomplete.
            ended: whether it ends with a line break; else its last cell may be truncated.
        """
        self._values = values
        self._lines = lines or {}
        self._lost = lost
        self.fault = fault
        self.ended = ended
        self.table = table
        self.line = line

    def __getitem__(self, column: str) -> str:
        """Return the cell of a column.

        Raises:
            RowError: the value is unknown: it has a byte that is not text, or the row is truncated
                there.
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
        """Whether the table has a column, whatever its cell contains."""
        return column in self._values

    @property
    def place(self) -> str:
        """Return the location of the row, such as ``train.csv:123``."""
        return f"{self.table}:{self.line}"

    def cite(self, column: str) -> str:
        """Return the evidence for a label, such as ``train.csv:123 Edema=-1``."""
        line = self._lines.get(column, self.line)
        return f"{self.table}:{line} {column}={escape_controls(self._values[column])}"

    def quote(self, column: str, allowed: Iterable[str] = ()) -> str:
        """Return location and cell for a message; a possibly personal cell is shown by its shape.

        Args:
            column: name of the column.
            allowed: allowed values.
        """
        line = self._lines.get(column, self.line)
        cell = redact_cell(escape_controls(self._values[column]), allowed)
        return f"{self.table}:{line} {column}={cell}"

    def name(self, column: str) -> str:
        """Return a name (of an image, patient or series) from a column.

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
        """Return a label from a column; ``value`` replaces a cell that contains several values."""
        cell = self[column] if value is None else value
        return Label(field=field, value=cell, state=state, evidence=self.cite(column))

    def integer(self, column: str) -> int:
        """Return the whole number in a column; ``4.0`` is accepted.

        Raises:
            RowError: the cell contains anything else.
        """
        try:
            return int(self[column])
        except ValueError:
            raise RowError(f"{self.quote(column)}: expected a whole number") from None

    def number(self, column: str) -> float:
        """Return the number in a column, with decimal point.

        Raises:
            RowError: the cell contains anything else.
        """
        try:
            number = float(self[column])
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise RowError(f"{self.quote(column)}: expected a number")
        return number

    def state(self, column: str, states: Mapping[str, LabelState]) -> LabelState:
        """Return the state of the label that a column represents.

        Args:
            column: column of one label, as in tables of findings.
            states: allowed value -> state.

        Raises:
            RowError: the cell has another value; a state is never guessed.
        """
        return self.meaning(column, states)

    def meaning(self, column: str, meanings: Mapping[str, Meaning]) -> Meaning:
        """Return the meaning of the value in a column.

        Args:
            column: name of the column.
            meanings: allowed value -> meaning.

        Raises:
            RowError: the cell has another value.
        """
        try:
            return meanings[self[column]]
        except KeyError:
            expected = ", ".join(map(repr, meanings))
            raise RowError(f"{self.quote(column, meanings)}: expected one of {expected}") from None

    def facts(self, **columns: str) -> tuple[tuple[str, str], ...]:
        """Return (name, value) of the given columns that exist and are not blank."""
        return tuple((name, self[column]) for name, column in columns.items() if self.get(column))

    def words(self, **columns: str) -> tuple[Words, ...]:
        """Return the free text of the given columns (name=column) that exist and are not blank."""
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
    """Read a delimited table, including quoted line breaks; the delimiter is detected.

    Args:
        path: the table: plain, gzip (``.csv.gz``) or the only file in a ``.zip``, detected by its
            first bytes.
        columns: column names that must exist; others are kept too. Names and values are stripped;
            of two columns with the same name the first is kept.
        encoding: text encoding; the default accepts UTF-8 with and without BOM.
        comment: prefix of lines before the header that are skipped.

    Raises:
        TableError: the table is missing or damaged, lacks a column, or has no rows.
    """
    return list(iter_csv(path, columns=columns, encoding=encoding, comment=comment))


def iter_csv(
    path: Path,
    *,
    columns: Iterable[str],
    encoding: str = "utf-8-sig",
    comment: str = "",
) -> Iterator[TableRow]:
    """Iterate over the rows of ``read_csv``, for tables of hundreds of thousands of rows.

    Raises:
        TableError: as ``read_csv``, when the first row is requested.
    """
    text = read_text(path, encoding, errors="surrogateescape")
    skipped = 0
    while comment and text.startswith(comment):
        text = text.partition("\n")[2]
        skipped += 1
    columns = tuple(columns)
    records = records_of(text, delimiter_of(text, columns))
    del text  # its lines are enough
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
        raise TableError(path, "has a header but no rows; get the file again")


def read_rows(path: Path, encoding: str = "utf-8-sig") -> list[tuple[str, ...]]:
    """Read all cells of a delimited table without a header line.

    Raises:
        TableError: the table is missing or damaged.
    """
    text = read_text(path, encoding)
    return [tuple(record.cells) for record in records_of(text, delimiter_of(text))]


def find_table(root: RawTree, part: str) -> Path:
    """Return the first table of a part of a copy.

    Raises:
        SourceError: there is none.
    """
    table = find_optional_table(root, part)
    if table is None:
        raise SourceError(f"{root}: holds no table of the part {part!r}; the card expects it there")
    return table


def find_optional_table(root: RawTree, part: str) -> Path | None:
    """Return the table as ``find_table``, or ``None`` if the copy lacks it."""
    return next(iter(root.part(part)), None)


def read_key_values(path: Path, *, keys: Iterable[str], encoding: str = "utf-8-sig") -> TableRow:
    """Read a file of ``Key: value`` lines without sections.

    Raises:
        RowError: the file, which is one of many, is missing, cannot be decoded, lacks a key, or
            has two values for one.
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
            f"{place}: {' and '.join(map(repr, missing))} "
            f"{'is' if len(missing) == 1 else 'are'} missing; the file has "
            f"{', '.join(redact_cell(name, keys) for name in values) or 'no keys'}; "
            "get the file again"
        )
    return TableRow(values, place, 1, lines)


def name_cells(header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Return the stripped cells of one row by column name; missing trailing cells are empty.

    Of two columns with the same name the first is kept.
    """
    values: dict[str, str] = {}
    for name, cell in zip(header, cells, strict=False):
        values.setdefault(name, cell.strip())
    for name in header[len(cells) :]:
        values.setdefault(name, "")
    return values


def require_columns(path: Path, header: Sequence[str], columns: Iterable[str]) -> None:
    """Check that a table has the required columns.

    Raises:
        TableError: a column is missing; names the nearest existing one.
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
    """Return a platform-independent sort key that puts ``2.mat`` before ``10.mat``."""
    parts = re.split(r"(\d+)", path.as_posix())
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def _told_header(header: Sequence[str], columns: Sequence[str]) -> str:
    """Return the column names, or only their shapes if none is expected: it may be patient data."""
    is_header = _is_header(header, columns)
    return ", ".join(
        escape_controls(name) if is_header else redact_cell(name, columns) for name in header
    )


def _is_header(header: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether a name is expected, or similar and without a digit (``film00`` is a cell)."""
    words = [name for name in header if name in columns or not re.search(r"\d", name)]
    return any(difflib.get_close_matches(column, words, n=1, cutoff=0.8) for column in columns)


def _cut(path: Path, line: int, record: Record) -> Skip:
    what = "the table seems cut off" if record.last else "the row is set aside"
    reason = f"{path.name}:{line}: {record.fault}: {what}; get the file again"
    return Skip(key=f"{path.name}:{line} cut", reason=reason, code=BAD_ROW)


def _as_published(cell: str) -> str:
    """Undo the changes of re-saving a table: ``nan`` becomes blank, ``4.0`` becomes 4."""
    if len(cell) == 3 and cell.lower() == "nan":
        return ""
    return strip_float_suffix(cell) if cell.endswith("0") else cell

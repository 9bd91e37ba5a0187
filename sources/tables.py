"""Tables as datasets ship them: CSV by column name, and ``Key: value`` files.

Values stay the strings that stand in the file: a label *is* ``NO``, ``N0`` or ``1e3``. Each row
knows its line so that a label can cite its evidence.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from medrcube.errors import SourceError


class Row(Mapping[str, str]):
    """One row of a table: values by column name, stripped, and the place where it stands."""

    __slots__ = ("_values", "line", "table")

    def __init__(self, values: Mapping[str, str], table: str, line: int) -> None:
        self._values = values
        self.table = table
        self.line = line

    def __getitem__(self, column: str) -> str:
        return self._values[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def cite(self, column: str) -> str:
        """Evidence for a label, such as ``train.csv:123 Edema=-1``."""
        return f"{self.table}:{self.line} {column}={self[column]}"


def read_csv(
    path: Path,
    *,
    columns: Iterable[str],
    encoding: str = "utf-8-sig",
    delimiter: str = ",",
    comment: str = "",
) -> list[Row]:
    """Read a delimited table, quoted line breaks included.

    Args:
        path: the table.
        columns: column names that must exist; others are kept too. Names and values are
            stripped of blanks; of two columns with one name the first is kept.
        encoding: text encoding; the default accepts UTF-8 with and without BOM.
        delimiter: one character.
        comment: lines before the header that begin with this are skipped.

    Raises:
        SourceError: the table is missing, cannot be decoded, or lacks a column.
    """
    text = _decode(path, encoding)
    skipped = 0
    while comment and text.startswith(comment):
        text = text.partition("\n")[2]
        skipped += 1
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False)
    header = [name.strip() for name in next(reader, [])]
    _require(path, header, columns)
    rows: list[Row] = []
    line = reader.line_num
    for cells in reader:
        first_line, line = line + 1 + skipped, reader.line_num
        if any(cell.strip() for cell in cells):
            values: dict[str, str] = {}
            for name, cell in zip(header, cells, strict=False):
                values.setdefault(name, cell.strip())
            for name in header[len(cells) :]:
                values.setdefault(name, "")
            rows.append(Row(values, path.name, first_line))
    return rows


def read_key_values(path: Path, *, keys: Iterable[str], encoding: str = "utf-8-sig") -> Row:
    """Read a file of ``Key: value`` lines without sections.

    Raises:
        SourceError: the file is missing, cannot be decoded, or lacks a key.
    """
    values: dict[str, str] = {}
    for line in _decode(path, encoding).splitlines():
        name, colon, value = line.partition(":")
        if colon:
            values.setdefault(name.strip(), value.strip())
    _require(path, list(values), keys)
    return Row(values, f"{path.parent.name}/{path.name}", 1)


def natural(path: Path) -> tuple[object, ...]:
    """Sort key that puts ``2.mat`` before ``10.mat`` and is the same on every platform."""
    parts = re.split(r"(\d+)", path.as_posix())
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def _decode(path: Path, encoding: str) -> str:
    try:
        with path.open(encoding=encoding, newline="") as file:
            return file.read()
    except FileNotFoundError:
        raise SourceError(f"{path}: the table is missing; the card expects it there") from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: is not {encoding} text ({error.reason})") from None


def _require(path: Path, header: list[str], columns: Iterable[str]) -> None:
    for column in columns:
        if column not in header:
            near = difflib.get_close_matches(column, header, n=1)
            hint = f"; nearest is {near[0]!r}" if near else ""
            raise SourceError(
                f"{path}: column {column!r} is missing{hint} (columns: {', '.join(header)}); "
                "is this another edition of the table?"
            )

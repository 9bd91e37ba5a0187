"""Tables as datasets ship them: CSV by column name, and ``Key: value`` files.

Values stay the strings that stand in the file: a label *is* ``NO``, ``N0`` or ``1e3``. Only what
programs change when they save a table again is undone: ``4.0`` is ``4`` and ``nan`` is blank. Each
row knows its line so that a label can cite its evidence, which shows the cell as it stands.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import math
import re
import zipfile
import zlib
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_BE, BOM_UTF32_LE
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from medrcube.errors import RowError, SourceError
from medrcube.names import harmless, is_odd
from medrcube.records import Label, MaskFile, Region, State, Words
from medrcube.sources.fields import unsaved
from medrcube.sources.raw_tree import RawTree

_DELIMITERS = ",;\t|"
_MARKS = {
    BOM_UTF32_LE: "UTF-32",  # before UTF-16, whose mark it begins with
    BOM_UTF32_BE: "UTF-32",
    BOM_UTF16_LE: "UTF-16",
    BOM_UTF16_BE: "UTF-16",
}
_HEADER = 1 << 16
"""Characters at the start of a table that hold its header."""

Meaning = TypeVar("Meaning")


class Row(Mapping[str, str]):
    """One row of a table: values by column name, stripped, and the place where it stands."""

    __slots__ = ("_lines", "_values", "line", "table")

    def __init__(
        self,
        values: Mapping[str, str],
        table: str,
        line: int,
        lines: Mapping[str, int] | None = None,
    ) -> None:
        """Take the cells of a row.

        Args:
            values: cells by column name, as they stand in the file.
            table: name of the file.
            line: where the row begins, from 1.
            lines: line of each value, where they stand on lines of their own.
        """
        self._values = values
        self._lines = lines or {}
        self.table = table
        self.line = line

    def __getitem__(self, column: str) -> str:
        """The cell of a column.

        Raises:
            RowError: it holds a byte that is no text: what stood there is unknown.
        """
        cell = self._values[column]
        if is_odd(cell):
            raise RowError(
                f"{self.cite(column)}: holds a byte that is not text in the encoding of the table; "
                "get the table again, or save it as UTF-8"
            )
        return _as_published(cell)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    @property
    def place(self) -> str:
        """Where the row stands, such as ``train.csv:123``."""
        return f"{self.table}:{self.line}"

    def cite(self, column: str) -> str:
        """Evidence for a label, such as ``train.csv:123 Edema=-1``."""
        line = self._lines.get(column, self.line)
        return f"{self.table}:{line} {column}={harmless(self._values[column])}"

    def name(self, column: str) -> str:
        """What a column names: a picture, a patient, a series.

        Raises:
            RowError: the cell is blank.
        """
        if not self[column]:
            raise RowError(f"{self.cite(column)}: is blank; expected a name")
        return self[column]

    def label(
        self,
        column: str,
        *,
        field: str,
        value: str | None = None,
        state: State = State.PRESENT,
    ) -> Label:
        """The statement of a column; ``value`` replaces the cell where that holds several."""
        stated = self[column] if value is None else value
        return Label(field=field, value=stated, state=state, evidence=self.cite(column))

    def integer(self, column: str) -> int:
        """The whole number in a column; ``4.0`` is one.

        Raises:
            RowError: something else stands there.
        """
        try:
            return int(self[column])
        except ValueError:
            raise RowError(f"{self.cite(column)}: expected a whole number") from None

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
            raise RowError(f"{self.cite(column)}: expected a number")
        return number

    def state(self, column: str, states: Mapping[str, State]) -> State:
        """What the source says of the label that a column stands for.

        Args:
            column: one column a label, as in tables of findings.
            states: every value that may stand there.

        Raises:
            RowError: another value stands there; a state is never guessed.
        """
        return self.meaning(column, states)

    def meaning(self, column: str, known: Mapping[str, Meaning]) -> Meaning:
        """What a column says, in one of the words that it may hold.

        Args:
            column: its name.
            known: every value that may stand there, and what it means.

        Raises:
            RowError: another value stands there.
        """
        try:
            return known[self[column]]
        except KeyError:
            expected = ", ".join(map(repr, known))
            raise RowError(f"{self.cite(column)}: expected one of {expected}") from None

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
) -> list[Row]:
    """Read a delimited table, quoted line breaks included; its header tells the delimiter.

    Args:
        path: the table, plain, gzip (``.csv.gz``) or alone in a ``.zip``: its first bytes tell.
        columns: column names that must exist; others are kept too. Names and values are
            stripped of blanks; of two columns with one name the first is kept.
        encoding: text encoding; the default accepts UTF-8 with and without BOM.
        comment: lines before the header that begin with this are skipped.

    Raises:
        SourceError: the table is missing, cannot be decoded, or lacks a column.
    """
    return list(iter_csv(path, columns=columns, encoding=encoding, comment=comment))


def iter_csv(
    path: Path,
    *,
    columns: Iterable[str],
    encoding: str = "utf-8-sig",
    comment: str = "",
) -> Iterator[Row]:
    """The rows of ``read_csv`` one at a time, for tables of hundreds of thousands of rows.

    Raises:
        SourceError: as ``read_csv``, with the first row that is asked for.
    """
    text = read_text(path, encoding, errors="surrogateescape")
    skipped = 0
    while comment and text.startswith(comment):
        text = text.partition("\n")[2]
        skipped += 1
    columns = tuple(columns)
    delimiter = delimiter_of(text, columns)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=False)
    header = [name.strip() for name in next(reader, [])]
    require_columns(path, header, columns)
    line = reader.line_num
    for cells in reader:
        first_line, line = line + 1 + skipped, reader.line_num
        if any(cell.strip() for cell in cells):
            yield Row(name_cells(header, cells), path.name, first_line)


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
        names = {name.strip() for name in next(csv.reader(lines, delimiter=delimiter), ())}
        return len(names.intersection(columns)), len(names)

    return max(_DELIMITERS, key=likeness)


def read_rows(path: Path, encoding: str = "utf-8-sig") -> list[tuple[str, ...]]:
    """All cells of a delimited table, for those whose names stand in no first line.

    Raises:
        SourceError: the table is missing or cannot be decoded.
    """
    text = read_text(path, encoding)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text))
    return [tuple(cells) for cells in reader]


def read_text(path: Path, encoding: str = "utf-8-sig", errors: str = "strict") -> str:
    """Text of a file, plain or packed; a byte order mark of UTF-8 counts in no encoding.

    Args:
        path: the file.
        encoding: of its text.
        errors: what becomes of a byte that is none, as in ``bytes.decode``.

    Raises:
        SourceError: the file is missing or damaged, or holds no such text.
    """
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        elif data.startswith(b"PK\x03\x04"):
            data = _only_member(path)
    except FileNotFoundError:
        raise SourceError(f"{path}: the table is missing; the card expects it there") from None
    except (EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error) as error:
        kind = "zip" if path.suffix == ".zip" else "gzip"
        raise SourceError(f"{path}: is damaged {kind} ({error}); get the file again") from None
    for mark, found in _MARKS.items():
        if data.startswith(mark):
            raise SourceError(
                f"{path}: begins with the byte order mark of {found}; expected {encoding} text; "
                f"convert it:  iconv -f {found} -t UTF-8 {path.name} > converted"
            )
    try:
        return data.removeprefix(BOM_UTF8).decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: is not {encoding} text ({error.reason})") from None


def find_table(root: RawTree, part: str) -> Path:
    """The table that is a part of a copy; of several the first.

    Raises:
        SourceError: there is none.
    """
    found = seek_table(root, part)
    if found is None:
        raise SourceError(f"{root}: holds no table of the part {part!r}; the card expects it there")
    return found


def seek_table(root: RawTree, part: str) -> Path | None:
    """A table as ``find_table`` finds it, which a copy may lack."""
    return next(iter(root.part(part)), None)


def read_key_values(path: Path, *, keys: Iterable[str], encoding: str = "utf-8-sig") -> Row:
    """Read a file of ``Key: value`` lines without sections.

    Raises:
        RowError: the file, which is one of many, is missing, cannot be decoded, lacks a key, or
            gives one two values.
    """
    place = f"{path.parent.name}/{path.name}"
    values: dict[str, str] = {}
    lines: dict[str, int] = {}
    try:
        text = read_text(path, encoding)
    except SourceError as error:
        raise RowError(str(error).replace(str(path), place)) from None
    for number, line in enumerate(text.splitlines(), 1):
        name, colon, value = (part.strip() for part in line.partition(":"))
        if not colon:
            continue
        if values.setdefault(name, value) != value:
            raise RowError(
                f"{place}:{number} {name}={value}: line {lines[name]} says {values[name]!r}; "
                "expected one value for each key"
            )
        lines.setdefault(name, number)
    missing = [key for key in keys if key not in values]
    if missing:
        raise RowError(
            f"{place}: {' and '.join(map(repr, missing))} is missing (keys: {', '.join(values)}); "
            "get the file again"
        )
    return Row(values, place, 1, lines)


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
        SourceError: one is missing; names the nearest that exists.
    """
    for column in columns:
        if column not in header:
            near = difflib.get_close_matches(column, header, n=1)
            hint = f"; nearest is {near[0]!r}" if near else ""
            raise SourceError(
                f"{path}: column {column!r} is missing{hint} "
                f"(columns: {harmless(', '.join(header))}); "
                "is this another edition of the table?"
            )


def parts_of(file: Path) -> tuple[Path, ...]:
    """Files that hold the pixels of a header file: the ``.raw`` beside an ``.mhd``."""
    return (file.with_suffix(".raw"),) if file.suffix == ".mhd" else ()


def label_map(
    file: Path, values: Iterable[int], *, field: str, image: int = 0
) -> tuple[Region, ...]:
    """One region for every value of a mask file in which each pixel names its structure."""
    return tuple(
        Region(
            field=field,
            value=str(value),
            shape=MaskFile(paths=(file,), values=(value,), parts=parts_of(file)),
            evidence=f"{file.name}={value}",
            image=image,
        )
        for value in values
    )


def may_redistribute(licence: str) -> bool:
    """Whether the licence of one image allows passing on a picture made from it.

    True for Creative Commons BY with or without NC and SA, for CC0 and for Apache. False for
    ND, since a rendered picture is a derived work, and for everything unclear.
    """
    words = re.findall(r"[A-Z0-9]+", licence.upper())
    free = words[:2] == ["CC", "BY"] or words[:1] in (["CC0"], ["APACHE"])
    return free and "ND" not in words


def natural(path: Path) -> tuple[object, ...]:
    """Sort key that puts ``2.mat`` before ``10.mat`` and is the same on every platform."""
    parts = re.split(r"(\d+)", path.as_posix())
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in parts)


def _as_published(cell: str) -> str:
    """A cell before a program saved the table again: ``nan`` stands for blank, ``4.0`` for 4."""
    if len(cell) == 3 and cell.lower() == "nan":
        return ""
    return unsaved(cell) if cell.endswith("0") else cell


def _only_member(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if not name.startswith("__MACOSX/")]
        if len(names) != 1:
            raise SourceError(f"{path}: holds {len(names)} files; expected one table alone")
        return archive.read(names[0])

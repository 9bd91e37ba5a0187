"""Damaged fixture copies: test what a scan reports about them, and that no single row ends a scan.

A fixture is intact: no image is absent, no row is shifted, no table lacks its header, no cell is
unusable. The report on a damaged copy, and the message that rejects one, are searched for
identifiers too; see ``source_check``.
"""

from __future__ import annotations

import csv
import gzip
import io
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from medrcube.build.stages.scan import holds_pixels, scan
from medrcube.errors import MedrcubeError
from medrcube.sources._formats.tables.delimited import delimiter_of, records_of
from medrcube.sources._framework.contract import Source
from medrcube.sources._synthetic.images import CANARY

__all__ = ["damage_reports", "scans_ended_by_a_row"]

_WORD = CANARY.partition("^")[0].title()
_TABLES = frozenset({".csv", ".tsv", ".txt"})
_ROW_TABLES = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_STRAYS = (f"{_WORD}_19310704", f"MRN7731942, {_WORD}", CANARY)
_STRAY_SUFFIXES = (".txt", ".zip", f".{_WORD}")
_GZIP = b"\x1f\x8b"
_UNUSABLE = ("???", "")
_Rows = list[list[str]]
_KEY = b"k" * 32
_FEWEST = 2
"""Fewest rows of a table that is damaged; a table that loses its only row may be rejected as empty.
"""


def damage_reports(source: Source, raw: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the report on each damaged copy: how it is damaged, and all texts of its scan.

    Args:
        source: source of the fixture.
        raw: the fixture.
        folder: where the copies are made, one after the other.
    """
    for name, damage in _DAMAGES.items():
        copy = folder / "damaged"
        shutil.copytree(raw, copy)
        damage(copy)
        try:
            result = scan(source, copy, _KEY)
            listed = (result.absent, result.absent_files, result.problems, result.remarks)
            yield name, f"{result.layout.describe()} {listed!r}"
        except MedrcubeError as error:
            yield name, str(error)
        finally:
            shutil.rmtree(copy)


def scans_ended_by_a_row(source: Source, raw: Path, layout: str) -> Iterator[tuple[str, str]]:
    """Yield each damage to a single table row that ends the scan, and the error message.

    In each delimited table one row is removed, and one cell of each column is made unusable. The
    fixture is restored afterwards.

    Args:
        source: source of the fixture.
        raw: the fixture.
        layout: its layout.
    """
    for path in sorted(raw.rglob("*")):
        if not path.name.lower().endswith(_ROW_TABLES):
            continue
        for batch in _row_damages(_table_of(path.read_bytes()).rows):
            if not _message(source, raw, layout, path, batch):
                continue
            for damage in batch:
                if message := _message(source, raw, layout, path, [damage]):
                    yield f"{path.name} {damage.what}", message


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowDamage:
    what: str
    change: Callable[[_Rows], _Rows]


def _message(
    source: Source, raw: Path, layout: str, table: Path, damages: Sequence[_RowDamage]
) -> str:
    """Return the message that ends the scan of a fixture with damaged rows; else empty."""
    content = table.read_bytes()
    for damage in damages:
        _rewrite(table, damage.change)
    try:
        for _ in source.scan(raw, layout):
            pass
    except MedrcubeError as error:
        return str(error)
    finally:
        table.write_bytes(content)
    return ""


def _row_damages(rows: _Rows) -> Iterator[list[_RowDamage]]:
    """Yield batches of damage to different rows: one scan tests a whole batch unless it fails."""
    lines = sorted(range(1, len(rows)), key=lambda line: -sum(map(bool, rows[line])))
    if len(lines) < _FEWEST:
        return
    yield [_RowDamage(what="without one of its rows", change=_without(lines[0]))]
    for value in _UNUSABLE:
        cells = [
            _RowDamage(
                what=f"with {value!r} in a cell of its column {column!r}",
                change=_put(lines[place % len(lines)], place, value),
            )
            for place, column in enumerate(rows[0])
        ]
        for start in range(0, len(cells), len(lines)):
            yield cells[start : start + len(lines)]


def _without(line: int) -> Callable[[_Rows], _Rows]:
    return lambda rows: [*rows[:line], *rows[line + 1 :]]


def _put(line: int, place: int, value: str) -> Callable[[_Rows], _Rows]:
    def change(rows: _Rows) -> _Rows:
        row = [*rows[line][:place], value, *rows[line][place + 1 :]]
        return [*rows[:line], row, *rows[line + 1 :]]

    return change


def _without_pictures(copy: Path) -> None:
    """Remove every second image, so that the layout still matches."""
    files = sorted(path for path in copy.rglob("*") if path.is_file() and holds_pixels(path.name))
    for path in files[1::2]:
        path.unlink()


def _with_strays(copy: Path) -> None:
    """Put files named after a patient into every folder, of other kinds and of one in use there."""
    for folder in (copy, *sorted(path for path in copy.rglob("*") if path.is_dir())):
        files = sorted(path for path in folder.iterdir() if path.is_file())
        kinds = [path.suffix for path in files if path.suffix not in _TABLES]
        for suffix in kinds[:1]:  # may become a case, whose name is shown
            (folder / f"{CANARY}{suffix}").touch()
        for name in _STRAYS:
            for suffix in _STRAY_SUFFIXES:
                (folder / f"{name}{suffix}").touch()
            if not (folder / name).exists():  # a file without suffix, as those in use there
                (folder / name).mkdir()
                (folder / name / "1.png").touch()


def _on_tables(change: Callable[[_Rows], _Rows]) -> Callable[[Path], None]:
    def damage(copy: Path) -> None:
        for path in sorted(copy.rglob("*")):
            if _TABLES & set(path.suffixes):
                _rewrite(path, change)

    return damage


def _rewrite(path: Path, change: Callable[[_Rows], _Rows]) -> None:
    content = path.read_bytes()
    table = _table_of(content)
    if not table.rows:
        return
    text = io.StringIO()
    writer = csv.writer(text, delimiter=table.delimiter, lineterminator="\n")
    writer.writerows([*table.comments, *change(table.rows)])
    changed = text.getvalue().encode()
    path.write_bytes(gzip.compress(changed) if content.startswith(_GZIP) else changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DelimitedTable:
    """A delimited table: comment lines, then ``rows``, the first of which is the header."""

    comments: _Rows
    rows: _Rows
    delimiter: str


def _table_of(content: bytes) -> _DelimitedTable:
    """Parse a delimited table; one without rows if it is no text or has a single column."""
    try:
        plain = gzip.decompress(content) if content.startswith(_GZIP) else content
        text = plain.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _DelimitedTable(comments=[], rows=[], delimiter="")
    delimiter = delimiter_of(text)
    rows = [list(record.cells) for record in records_of(text, delimiter)]
    if max(map(len, rows), default=0) < 2:
        rows = []
    comments = list(takewhile(_is_comment, rows))
    return _DelimitedTable(comments=comments, rows=rows[len(comments) :], delimiter=delimiter)


def _is_comment(row: Sequence[str]) -> bool:
    return bool(row) and row[0].startswith("#") and not any(row[1:])


def _shift_cells(by: int) -> Callable[[_Rows], _Rows]:
    """Rotate the cells of every row to the right by some columns."""

    def change(rows: _Rows) -> _Rows:
        return [rows[0], *(_rotate(row, by) for row in rows[1:])]

    return change


def _rotate(row: Sequence[str], by: int) -> list[str]:
    return [row[(place - by) % len(row)] for place in range(len(row))] if row else []


_DAMAGES: dict[str, Callable[[Path], None]] = {
    "a copy that lacks images": _without_pictures,
    "files named after a patient in every folder": _with_strays,
    "cells shifted to the right": _on_tables(_shift_cells(1)),
    "cells shifted to the left": _on_tables(_shift_cells(-1)),
    "tables without their headers": _on_tables(lambda rows: rows[1:]),
}
